/** Keeps the secrets of a server's entry out of messages: they reach the model, logs and terminals. */
import type { UpstreamDefinition } from '../base/server-definition.ts';
import { MASK } from './result-mask.ts';
import { secretsOf as secretsInside } from './secrets.ts';

/** Shorter values (`1`, `true`, `prod`) are no secrets, and masking them would make messages unreadable. */
const MIN_SECRET_CHARS = 8;
/** Values of variables with such names are secrets at any length above that of a flag. */
export const SECRET_NAME = /key|token|secret|pass|pwd|auth|cred|cookie|session/i;
const MIN_NAMED_SECRET_CHARS = 4;
/** The path of a file is no secret, and an error that hides it helps nobody. */
const PATH_START = /^(?:[\\/~]|[a-z]:[\\/])/i;

/** A function that replaces what may be secret: values of `env` and `headers`, of options such as `--api-key`, passwords in addresses. */
export function createMask(definition: UpstreamDefinition): (text: string) => string {
  // Longest first, so that no part of a secret stays when one contains another.
  const secrets = [...maskedInMessages(definition)].toSorted((a, b) => b.length - a.length);
  return (text) => {
    const masked = text.replace(/\b([a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:)[^\s/@]+@/gi, `$1${MASK}@`);
    return secrets.reduce((rest, secret) => rest.replaceAll(secret, MASK), masked);
  };
}

/**
 * What of an entry is most likely secret: named so, and not short. Fewer than are masked, for uses where a word like
 * `production` in a description must not count.
 */
export function likelySecrets(definition: UpstreamDefinition): string[] {
  const secrets = maskedInMessages(
    definition.url === undefined
      ? { ...definition, env: namedLikeSecrets(definition.env) }
      : { ...definition, headers: namedLikeSecrets(definition.headers) },
  );
  return [...secrets].filter((secret) => secret.length >= MIN_SECRET_CHARS);
}

function namedLikeSecrets(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => SECRET_NAME.test(name)));
}

function maskedInMessages(definition: UpstreamDefinition): Set<string> {
  const secrets = new Set(secretsInside(definition));
  for (const value of [...(definition.secrets ?? []), oauthSecretOf(definition)]) {
    addSecret(secrets, value, true);
  }
  for (const [name, value] of Object.entries(definition.headers ?? {})) {
    addSecret(secrets, value, SECRET_NAME.test(name));
    // Of `Bearer abc` the second word alone is the secret.
    addSecret(secrets, value.replace(/^\w+ +/, ''), SECRET_NAME.test(name));
  }
  for (const [name, value] of definition.url === undefined || !URL.canParse(definition.url)
    ? []
    : new URL(definition.url).searchParams) {
    addSecret(secrets, value, SECRET_NAME.test(name));
  }
  for (const [name, value] of Object.entries({ ...namedSecrets(definition.variables ?? {}), ...definition.env })) {
    if (SECRET_NAME.test(name) || !PATH_START.test(value)) {
      addSecret(secrets, value, SECRET_NAME.test(name));
    }
  }
  for (const [index, argument] of (definition.args ?? []).entries()) {
    const [, option, value] = /^--?([\w-]+)(?:=(.*))?$/s.exec(argument) ?? [];
    if (option !== undefined && SECRET_NAME.test(option)) {
      addSecret(secrets, value ?? definition.args?.[index + 1] ?? '', true);
    }
  }
  // Everybody knows it, and every message says it: `postgres` with POSTGRES_DB=postgres.
  secrets.delete(definition.name);
  return secrets;
}

function oauthSecretOf(definition: UpstreamDefinition): string {
  return definition.url === undefined ? '' : (definition.oauth?.clientSecret ?? '');
}

function namedSecrets(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => SECRET_NAME.test(name)));
}

function addSecret(secrets: Set<string>, value: string, isNamedSecret: boolean): void {
  // A server often prints one line of a key, or the value without the spaces around it.
  for (const part of [value, ...value.split('\n')].map((text) => text.trim())) {
    if (part.length >= (isNamedSecret ? MIN_NAMED_SECRET_CHARS : MIN_SECRET_CHARS)) {
      secrets.add(part);
    }
  }
}
