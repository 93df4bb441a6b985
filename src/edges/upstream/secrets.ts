/**
 * Which values of a server's entry are secret. There are two rules. Results are data that code computes with, so in messages
 * of a server a value is masked only if it is declared to be a secret, or if its name says so and it looks like one
 * (docs/security.md, "Secrets"). Messages of the bridge go to the model, logs and terminals, and are masked generously.
 */
import type { UpstreamDefinition } from '../../core/base/server-definition.ts';
import { MASK } from './result-mask.ts';

/** The parts of an entry that are searched for secrets. */
export interface SecretHolder {
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly args?: readonly string[] | undefined;
  readonly url?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly oauth?: { readonly clientSecret?: string | undefined } | undefined;
  readonly keys?: Readonly<Record<string, string>> | undefined;
  readonly signing?: Readonly<Record<string, string>> | undefined;
  /** Values that are secret regardless of their names: those of `${file:…}` and `${cmd:…}`. */
  readonly secrets?: readonly string[] | undefined;
  /** Variables that the entry refers to, with their values. */
  readonly variables?: Readonly<Record<string, string>> | undefined;
}

/** Shorter values occur by chance in ordinary data. Chosen. */
const MIN_RESULT_CHARS = 8;
/** A line of a longer secret, such as a key in PEM format. */
const MIN_LINE_CHARS = 16;

/** The end of a name decides: `API_KEY` holds a secret, but `KEY_FILE`, `TOKEN_URL` and `AUTH_TYPE` do not. */
const SECRET_NAME =
  /(?:key|token|secret|pass(?:w(?:or)?d|phrase|code)?|pwd|auth(?:orization)?|credentials?|creds?|cookie|jwt|bearer|\bpat|[_-]pat|webhook(?:[_-]?ur[il])?)s?[_-]?\d*$/i;
/** `NAME=value`, `Name: Bearer value`, `"name": "value"`, `?name=value&`, `Password=value;` in arguments, addresses and JSON. */
const PAIR = /["']?(?<![\w.-])([\w.-]+)["']?\s*[=:](?!\/\/)\s*["']?(?:(?:bearer|basic|token)\s+)?([^"'\s&,;]+)/gi;
const SCHEME = /^(?:bearer|basic|token)\s+/i;
/** `user:password@` in an address. */
const USER_AND_PASSWORD = /^[a-z][a-z0-9+.-]*:\/\/([^\s/:@]*:([^\s/@]+)@)/i;

const ADDRESS = /^[a-z][a-z0-9+.-]*:\/\//i;
const WEBHOOK_NAME = /webhook/i;
/** A secret may begin with a slash too, so a path needs a file extension or a well-known first folder. */
const PATH =
  /^(?:~|\.{1,2}|[a-z]:)?[\\/](?:(?:home|users|etc|root|run|var|opt|usr|tmp|mnt|private|windows)[\\/]|.*\.\w{1,5}$)/i;
/** Single words such as `password` and `POSTGRES` are common in data. */
const WORD = /^(?:[A-Z]?[a-z]{1,15}|[A-Z]{1,15})$/;

/** The values that are masked in messages of a server, without duplicates. */
export function secretsOf(holder: SecretHolder): string[] {
  const secrets = new Set<string>();
  const { key = '', secretAccessKey = '', sessionToken = '' } = holder.signing ?? {};
  const signing = [key, secretAccessKey, sessionToken];
  for (const value of [
    ...(holder.secrets ?? []),
    holder.oauth?.clientSecret ?? '',
    ...Object.values(holder.keys ?? {}),
    ...signing,
  ]) {
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

/** Whether a variable, header or option with this name holds a secret. */
function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** The `--name value` pairs of an argument list. `--name=value` is found by `PAIR`. */
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

/** Adds the secrets inside a longer text. */
function addInside(secrets: Set<string>, text: string): void {
  for (const [, name = '', value = ''] of text.matchAll(PAIR)) {
    addNamed(secrets, name, value);
  }
  const [, both = '', password = ''] = USER_AND_PASSWORD.exec(text) ?? [];
  for (const part of [both, WORD.test(password) ? '' : password]) {
    if (part.length >= MIN_RESULT_CHARS) {
      secrets.add(part);
    }
  }
}

/** Adds the value and each of its long lines: servers often print one line of a key. */
function addParts(secrets: Set<string>, value: string): void {
  const whole = value.trim();
  if (whole.length >= MIN_RESULT_CHARS) {
    secrets.add(whole);
  }
  for (const line of whole.split('\n').map((part) => part.trim())) {
    if (line.length >= MIN_LINE_CHARS && !line.startsWith('-----')) {
      secrets.add(line);
    }
  }
}

/** Shorter values (`1`, `true`, `prod`) are not secrets, and masking them would make messages unreadable. */
const MIN_MESSAGE_CHARS = 8;
/** Values with such names are secrets from `MIN_NAMED_CHARS` on: long enough not to be a flag. */
export const LIKELY_SECRET_NAME = /key|token|secret|pass|pwd|auth|cred|cookie|session/i;
const MIN_NAMED_CHARS = 4;
/** A file path is not a secret, and an error that hides it is useless. */
const PATH_START = /^(?:[\\/~]|[a-z]:[\\/])/i;

/** Returns a function that masks a message: values of `env` and `headers`, of options such as `--api-key`, and passwords in addresses. */
export function createMask(definition: UpstreamDefinition): (text: string) => string {
  // Longest first: if one secret contains another, no part of it stays visible.
  const secrets = [...maskedInMessages(definition)].toSorted((a, b) => b.length - a.length);
  return (text) => {
    // It begins with the end of the scheme: a search for the whole scheme takes hours in 1 MB of `a.a.a.`.
    const masked = text.replace(/([a-z0-9+.-]:\/\/[^\s/:@]*:)[^\s/@]+@/gi, `$1${MASK}@`);
    return secrets.reduce((rest, secret) => rest.replaceAll(secret, MASK), masked);
  };
}

/**
 * The values of an entry that are most likely secret: the name says so, and the value is not short. These are fewer than are
 * masked in messages, for uses where a word such as `production` in a description must not match.
 */
export function likelySecrets(definition: UpstreamDefinition): string[] {
  const secrets = maskedInMessages(
    definition.url === undefined
      ? { ...definition, env: namedLikeSecrets(definition.env) }
      : { ...definition, headers: namedLikeSecrets(definition.headers) },
  );
  return [...secrets].filter((secret) => secret.length >= MIN_MESSAGE_CHARS);
}

function namedLikeSecrets(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => LIKELY_SECRET_NAME.test(name)));
}

function maskedInMessages(definition: UpstreamDefinition): Set<string> {
  const secrets = new Set(secretsOf(definition));
  for (const value of [...(definition.secrets ?? []), oauthSecretOf(definition)]) {
    addSecret(secrets, value, true);
  }
  for (const [name, value] of Object.entries(definition.headers ?? {})) {
    addSecret(secrets, value, LIKELY_SECRET_NAME.test(name));
    // In `Bearer abc`, only the second word is secret.
    addSecret(secrets, value.replace(/^\w+ +/, ''), LIKELY_SECRET_NAME.test(name));
  }
  for (const [name, value] of definition.url === undefined || !URL.canParse(definition.url)
    ? []
    : new URL(definition.url).searchParams) {
    addSecret(secrets, value, LIKELY_SECRET_NAME.test(name));
  }
  for (const [name, value] of Object.entries({ ...namedLikeSecrets(definition.variables ?? {}), ...definition.env })) {
    if (LIKELY_SECRET_NAME.test(name) || !PATH_START.test(value)) {
      addSecret(secrets, value, LIKELY_SECRET_NAME.test(name));
    }
  }
  for (const [index, argument] of (definition.args ?? []).entries()) {
    const [, option, value] = /^--?([\w-]+)(?:=(.*))?$/s.exec(argument) ?? [];
    if (option !== undefined && LIKELY_SECRET_NAME.test(option)) {
      addSecret(secrets, value ?? definition.args?.[index + 1] ?? '', true);
    }
  }
  // Every message contains the server's name, which is public: `postgres` with POSTGRES_DB=postgres.
  secrets.delete(definition.name);
  return secrets;
}

function oauthSecretOf(definition: UpstreamDefinition): string {
  return definition.url === undefined ? '' : (definition.oauth?.clientSecret ?? '');
}

function addSecret(secrets: Set<string>, value: string, isNamedSecret: boolean): void {
  // Servers often print one line of a key, or the value without surrounding spaces.
  for (const part of [value, ...value.split('\n')].map((text) => text.trim())) {
    if (part.length >= (isNamedSecret ? MIN_NAMED_CHARS : MIN_MESSAGE_CHARS)) {
      secrets.add(part);
    }
  }
}
