/** Principals of HTTP by name, and the folders in which what belongs to each is kept. */
import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

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
  return join(profilesOf(folder), `of-${profile}`);
}

/** Whose state is in a folder: of the user of the machine, of a principal, of a profile, or of a profile of a principal. */
export interface StateFolder {
  readonly path: string;
  /** Name of the folder of the principal, such as `of-alice`. */
  readonly principal?: string;
  readonly profile?: string;
}

/** All folders in which something of the user, a principal or a profile may be kept; first the state directory itself. */
export async function stateFolders(stateDir: string): Promise<StateFolder[]> {
  const principals = await namesIn(principalsOf(stateDir));
  const folders: StateFolder[] = [
    { path: stateDir },
    ...principals.map((principal) => ({ path: join(principalsOf(stateDir), principal), principal })),
  ];
  const withProfiles = folders.map(async (folder) => {
    const profiles = await namesIn(profilesOf(folder.path));
    return [
      folder,
      ...profiles.map((name) => ({
        ...folder,
        path: join(profilesOf(folder.path), name),
        profile: name.slice('of-'.length),
      })),
    ];
  });
  return (await Promise.all(withProfiles)).flat();
}

/** Whose a folder of state is, with all its profiles: the name of the folder of a principal, or one for the user of the machine. */
export function ownerOfFolder(stateDir: string, folder: string): string {
  return relative(principalsOf(stateDir), folder).split(sep)[0] ?? '';
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.toSorted((a, b) => (a < b ? -1 : 1));
}

function principalsOf(stateDir: string): string {
  return join(stateDir, HTTP_FOLDER, 'principals');
}

function profilesOf(folder: string): string {
  return join(folder, HTTP_FOLDER, 'profiles');
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, HASH_CHARS);
}
