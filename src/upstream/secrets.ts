/**
 * What of a server's entry is secret enough to be masked in what the server says. Messages of the bridge are masked
 * generously (mask.ts); results are data that code computes with, so here a value counts only when it was declared to be a
 * secret, or is named like one and looks like one. The rules are those of docs/security.md, "Secrets".
 */

/** What secrets are looked for in. */
export interface SecretHolder {
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly args?: readonly string[] | undefined;
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly oauth?: { readonly clientSecret?: string | undefined } | undefined;
  /** Values that are secret whatever they are named: those of `${file:…}` and `${cmd:…}`. */
  readonly secrets?: readonly string[] | undefined;
  /** Variables whose values stand somewhere in it. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
}

/** Shorter values occur by chance in honest data. Chosen. */
const MIN_CHARS = 8;
/** A line of a longer secret, such as a key in PEM format. */
const MIN_LINE_CHARS = 16;

/** The end of a name tells: `API_KEY` holds a secret, `KEY_FILE`, `TOKEN_URL` and `AUTH_TYPE` tell where or how. */
const SECRET_NAME =
  /(?:key|token|secret|pass(?:w(?:or)?d|phrase|code)?|pwd|auth(?:orization)?|credentials?|creds?|cookie|jwt|bearer|\bpat|[_-]pat|webhook(?:[_-]?ur[il])?)s?[_-]?\d*$/i;
/** `NAME=value`, `Name: Bearer value`, `"name": "value"`, `?name=value&`, `Password=value;`: in arguments, addresses and JSON. */
const PAIR = /["']?(?<![\w.-])([\w.-]+)["']?\s*[=:](?!\/\/)\s*["']?(?:(?:bearer|basic|token)\s+)?([^"'\s&,;]+)/gi;
const SCHEME = /^(?:bearer|basic|token)\s+/i;
/** `user:password@` of an address. */
const USER_AND_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/([^\s/:@]*:([^\s/@]+)@)/i;

const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i;
const WEBHOOK_NAME = /webhook/i;
/** A secret may begin with a slash; a path has a file's extension, or begins where paths do. */
const PATH =
  /^(?:~|\.{1,2}|[a-z]:)?[\\/](?:(?:home|users|etc|root|run|var|opt|usr|tmp|mnt|private|windows)[\\/]|.*\.\w{1,5}$)/i;
/** `password` and `POSTGRES` are words that data is full of. */
const WORD = /^(?:[A-Z]?[a-z]{1,15}|[A-Z]{1,15})$/;

/** The values that are masked in what a server says, each once. */
export function secretsOf(holder: SecretHolder): string[] {
  const secrets = new Set<string>();
  for (const value of [...(holder.secrets ?? []), holder.oauth?.clientSecret ?? '']) {
    addParts(secrets, value);
  }
  const { env = {}, args = [], headers = {}, variables = {} } = holder;
  const named = [...[env, headers, variables].flatMap((record) => Object.entries(record)), ...optionsOf(args)];
  for (const [name, value] of named) {
    addNamed(secrets, name, value);
  }
  const texts = [...named.map(([, value]) => value), ...args, holder.url ?? '', ...(holder.secrets ?? [])];
  for (const text of texts) {
    addInside(secrets, text);
  }
  return [...secrets];
}

/** Whether a variable, header or option of that name holds a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** `--name value` of an argument list; `--name=value` is a pair. */
function optionsOf(args: readonly string[]): [string, string][] {
  return args.flatMap((argument, index): [string, string][] => {
    const value = args[index + 1];
    return /^--?[\w-]+$/.test(argument) && value !== undefined ? [[argument, value]] : [];
  });
}

function addNamed(secrets: Set<string>, name: string, value: string): void {
  const bare = value.trim().replace(SCHEME, '');
  const isPlace = PATH.test(bare) || (ADDRESS.test(bare) && !WEBHOOK_NAME.test(name));
  if (isSecretName(name) && !isPlace && !WORD.test(bare)) {
    addParts(secrets, bare);
  }
}

/** Secrets that stand in a longer text. */
function addInside(secrets: Set<string>, text: string): void {
  for (const [, name = '', value = ''] of text.matchAll(PAIR)) {
    addNamed(secrets, name, value);
  }
  const [, both = '', password = ''] = USER_AND_PASSWORD.exec(text) ?? [];
  for (const part of [both, WORD.test(password) ? '' : password]) {
    if (part.length >= MIN_CHARS) {
      secrets.add(part);
    }
  }
}

/** The value, and each line of it: servers often print one line of a key. */
function addParts(secrets: Set<string>, value: string): void {
  const whole = value.trim();
  if (whole.length >= MIN_CHARS) {
    secrets.add(whole);
  }
  for (const line of whole.split('\n').map((part) => part.trim())) {
    if (line.length >= MIN_LINE_CHARS && !line.startsWith('-----')) {
      secrets.add(line);
    }
  }
}
