/**
 * Variables and `~` in the values of a server file, as other MCP clients and shells expand them. References to files and
 * commands stay as they are: they are put in when the server starts (secret-values.ts).
 */

export interface ExpandContext {
  /** Folder that `~` stands for. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Gets each variable whose value was put in. */
  readonly onUsed?: (name: string, value: string) => void;
}

/** `${NAME}`, `${env:NAME}` and `${NAME:-default}`. */
const VARIABLE = /\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}/g;
/** `${file:PATH}` and `${cmd:COMMAND}`. None holds `${`: looking for the end of each beyond the next is quadratic in the length. */
export const REFERENCE = /\$\{(file|cmd):((?:(?!\$\{)[^}])*)\}/g;
/** Marks what looks like a reference and is not one. No value can hold it: neither files nor the environment can. */
const LITERAL = '\0';

/**
 * `text` with variables of the bridge's environment put in. One that is not set and has no default stays as it is and
 * is told to `onMissing`: it may be meant for the server, or for a shell that the entry starts. What a variable holds is
 * never read as a reference: who sets a variable does not get to run a command. `plainText` takes the marks off again.
 */
export function expandVariables(text: string, context: ExpandContext, onMissing: (name: string) => void): string {
  // Behind the last brace nothing can be a variable; looking there from each `${` on is quadratic in the length.
  const end = text.lastIndexOf('}') + 1;
  const expanded = text.slice(0, end).replace(VARIABLE, (whole: string, name: string, fallback: string | undefined) => {
    const value = context.env[name];
    // As in a shell, `:-` also stands in for an empty value.
    if (value !== undefined && (value !== '' || fallback === undefined)) {
      context.onUsed?.(name, value);
      return value.replaceAll(REFERENCE, (reference) => `$${LITERAL}${reference.slice(1)}`);
    }
    if (fallback === undefined) {
      onMissing(name);
    }
    return fallback ?? whole;
  });
  return expanded + text.slice(end);
}

/** What was expanded, as it is meant. */
export function plainText(expanded: string): string {
  return expanded.replaceAll(LITERAL, '');
}

/** `~` and `~/…` at the start of a path; other users' homes (`~name`) are left alone. */
export function expandHome(path: string, context: Pick<ExpandContext, 'home'>): string {
  return /^~(?=$|[\\/])/.test(path) ? context.home + path.slice(1) : path;
}
