/** Variables and `~` in the values of a server file, as other MCP clients and shells expand them. */

export interface ExpandContext {
  /** Folder that `~` stands for. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** `${NAME}`, `${env:NAME}` and `${NAME:-default}`. */
const VARIABLE = /\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}/g;

/**
 * `text` with variables of the bridge's environment put in. One that is not set and has no default stays as it is and
 * is told to `onMissing`: it may be meant for the server, or for a shell that the entry starts.
 */
export function expandVariables(text: string, context: ExpandContext, onMissing: (name: string) => void): string {
  // Behind the last brace nothing can be a variable; looking there from each `${` on is quadratic in the length.
  const end = text.lastIndexOf('}') + 1;
  const expanded = text.slice(0, end).replace(VARIABLE, (whole: string, name: string, fallback: string | undefined) => {
    const value = context.env[name];
    // As in a shell, `:-` also stands in for an empty value.
    if (value !== undefined && (value !== '' || fallback === undefined)) {
      return value;
    }
    if (fallback === undefined) {
      onMissing(name);
    }
    return fallback ?? whole;
  });
  return expanded + text.slice(end);
}

/** `~` and `~/…` at the start of a path; other users' homes (`~name`) are left alone. */
export function expandHome(path: string, context: ExpandContext): string {
  return /^~(?=$|[\\/])/.test(path) ? context.home + path.slice(1) : path;
}
