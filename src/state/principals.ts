/** Principals of HTTP by name, and the folders in which what belongs to each is kept. */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** What is only for HTTP, in the state directory. */
export const HTTP_FOLDER = 'http';

/** A name that an operator gives is part of a path, of log lines and of audit records. `alice@example.com` is one. */
export const TOKEN_NAME = /^[a-z0-9](?:[a-z0-9._@-]{0,62}[a-z0-9])?$/;

const HASH_CHARS = 40;

/** Absolute path. A name that no operator can give, such as an address, becomes a hash. */
export function principalFolder(stateDir: string, name: string): string {
  // Windows reserves names such as `con`.
  const own = TOKEN_NAME.test(name) ? `of-${name}` : `by-${hashOf(name)}`;
  return join(principalsOf(stateDir), own);
}

/** For a profile that a client chooses, in the folder of what has none. */
export function profileFolder(folder: string, profile: string): string {
  return join(folder, HTTP_FOLDER, 'profiles', `of-${profile}`);
}

/** The folders of all principals that have left something, in the order of their names. */
export async function principalFolders(stateDir: string): Promise<string[]> {
  const names = await readdir(principalsOf(stateDir)).catch(() => []);
  return names.toSorted((a, b) => (a < b ? -1 : 1)).map((name) => join(principalsOf(stateDir), name));
}

function principalsOf(stateDir: string): string {
  return join(stateDir, HTTP_FOLDER, 'principals');
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, HASH_CHARS);
}
