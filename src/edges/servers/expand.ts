/**
 * Variables and `~` in the values of a server file, expanded as other MCP clients and shells do; and references to files,
 * commands and stored secrets (`${file:…}`, `${cmd:…}`, `${secret:…}`), which are found here but resolved only when the server starts (secret-values.ts).
 */
import type { ServerOwner } from '../../core/base/server-definition.ts';
import { CLIENT_VARIABLE } from '../clients/entry.ts';

export interface ExpandContext {
  /** The folder for `~`. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called for each variable that was expanded. */
  readonly onUsed?: (name: string, value: string) => void;
}

/** `${NAME}`, `${env:NAME}` and `${NAME:-default}`, and `{env:NAME}` of OpenCode. */
const VARIABLE = /\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}|(?<!\$)\{env:([A-Za-z_]\w*)\}/g;
/** `${file:PATH}`, `${cmd:COMMAND}` and `${secret:NAME}`. They cannot contain `${`: searching past the next one would take quadratic time. */
export const REFERENCE = /\$\{(file|cmd|secret):((?:(?!\$\{)[^}])*)\}/g;
/** Marks text that looks like a reference but is not one. No value contains it, because neither files nor the environment can. */
const LITERAL = '\0';

/**
 * Expands variables of the bridge's environment in `text`. A variable that is not set and has no default is reported to
 * `onMissing` and left unchanged, because it may be for the server or for a shell that the entry starts. The value of a variable
 * is never read as a reference, so setting a variable is not enough to run a command. `plainText` removes the marks for this.
 */
export function expandVariables(text: string, context: ExpandContext, onMissing: (name: string) => void): string {
  // There is no variable after the last brace, and searching there from each `${` would take quadratic time.
  const end = text.lastIndexOf('}') + 1;
  const expanded = text
    .slice(0, end)
    .replace(VARIABLE, (whole: string, own: string, fallback?: string, foreign = '') => {
      const name = own ?? foreign;
      const value = context.env[name] ?? (name === 'userHome' ? context.home : undefined);
      // As in a shell, the default after `:-` also replaces an empty value.
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

/** A variable as Gemini CLI writes it, as all of a value or of a token. A password may contain such a text. */
const SHELL_VARIABLE = /^((?:[A-Za-z]+ )?)\$([A-Z_][A-Z0-9_]+)$/;
const FOREIGN_FILE = /^((?:[A-Za-z]+ )?)\{file:([^{}]+)\}$/;
const FOREIGN_VARIABLE = /(?<!\$)\{env:([A-Za-z_]\w*)\}/g;
/** `${vault:…}`: the prefix of another program. */
const FOREIGN_REFERENCE = /\$\{(?!env:|file:|cmd:|secret:)[A-Za-z]\w{0,50}:(?!-)[^}]{0,200}\}/;

/** A value of `env` or `headers`, in which references in the notation of other clients are written in ours. */
export function inOurNotation(value: string): string {
  return value.replace(SHELL_VARIABLE, '$1$${$2}').replace(FOREIGN_FILE, '$1$${file:$2}');
}

/** A placeholder that cannot be filled in. */
export interface Unfilled {
  readonly placeholder: string;
  /** The variable that is not set, if it names one. */
  readonly variable: string | undefined;
}

/**
 * The first placeholder that another client would fill in and the bridge cannot: a server must not get it literally. `${NAME}` is
 * none of them, because the server or a shell may mean it. In a program or an argument, `$NAME` and `${a:b}` may be for a shell.
 */
export function findUnfilled(
  entry: Holder & { readonly cwd?: string | undefined },
  env: ExpandContext['env'],
): Unfilled | undefined {
  const places: [string, string][] = [
    ...placesOf(entry),
    ...(entry.cwd === undefined ? [] : [['cwd', entry.cwd] as [string, string]]),
  ];
  for (const [place, text] of places) {
    const isData = /^(?:env|headers|url|oauth|keys|signing)\b/.test(place);
    const found = CLIENT_VARIABLE.exec(text)?.[0] ?? (isData ? FOREIGN_REFERENCE.exec(text)?.[0] : undefined);
    if (found !== undefined && env[found.slice(2, -1)] === undefined) {
      return { placeholder: found, variable: undefined };
    }
    const names = [...text.matchAll(FOREIGN_VARIABLE)].map(([placeholder, name = '']) => ({
      placeholder,
      variable: name,
    }));
    const [, before = '', shell] = (isData && SHELL_VARIABLE.exec(text)) || [];
    const all = shell === undefined ? names : [...names, { placeholder: text.slice(before.length), variable: shell }];
    const missing = all.find(({ variable }) => env[variable] === undefined);
    if (missing !== undefined) {
      return missing;
    }
  }
  return undefined;
}

/** Expanded text without the marks. */
export function plainText(expanded: string): string {
  return expanded.replaceAll(LITERAL, '');
}

/** Expands `~` and `~/…` at the start of a path, but not other users' homes (`~name`). */
export function expandHome(path: string, context: Pick<ExpandContext, 'home'>): string {
  return /^~(?=$|[\\/])/.test(path) ? context.home + path.slice(1) : path;
}

/** The parts of an entry that may contain references. */
export interface Holder {
  readonly name: string;
  readonly file: string;
  readonly command?: string | undefined;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly oauth?: object | undefined;
  readonly keys?: Readonly<Record<string, string>> | undefined;
  readonly signing?: Readonly<Record<string, string>> | undefined;
  readonly secrets?: readonly string[] | undefined;
  readonly owner?: ServerOwner | undefined;
}

/** The kinds of references in an entry: `file`, `cmd`, `secret`. */
export function referenceKinds(entry: Holder): ReadonlySet<string> {
  return new Set(placesOf(entry).flatMap(([, text]) => [...text.matchAll(REFERENCE)].map(([, kind = '']) => kind)));
}

/** Every text of an entry that may contain references, with its path in the entry. */
export function placesOf(entry: Holder): [place: string, text: string][] {
  const { command, args = [], env = {}, url, headers = {}, oauth = {}, keys = {}, signing = {} } = entry;
  const single = Object.entries({ command, url }).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return [
    ...single,
    ...args.map((text, index): [string, string] => [`args[${index}]`, text]),
    ...Object.entries(env).map(([name, text]): [string, string] => [`env.${name}`, text]),
    ...Object.entries(headers).map(([name, text]): [string, string] => [`headers.${name}`, text]),
    ...Object.entries(keys).map(([name, text]): [string, string] => [`keys.${name}`, text]),
    ...Object.entries(signing).map(([name, text]): [string, string] => [`signing.${name}`, text]),
    ...Object.entries(oauth).flatMap(([name, text]: [string, unknown]): [string, string][] =>
      typeof text === 'string' ? [[`oauth.${name}`, text]] : [],
    ),
  ];
}
