/**
 * Logins at remote servers, below the state directory: one file each, for the owner alone, named after server and address,
 * so that a changed address gets no token of another one. Several bridges may use a login at the same time. With a key of
 * the system's keyring they are sealed.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError, messageOf } from '../errors.ts';
import { COMMAND } from '../package.ts';
import type { Keyring } from './keyring.ts';
import { seal, unseal } from './seal.ts';
import { ensureDirectory, readBounded, writeAtomically } from './state-files.ts';

const FOLDER = '.logins';
/** A token and metadata take a few KiB. */
const MAX_FILE_BYTES = 256 * 1024;
/** A lock that is older was left by a process that is gone: a renewal has 30 s. */
const STALE_LOCK_MS = 60_000;
const LOCK_POLL_MS = 50;

interface Key {
  readonly name: string;
  readonly url: string;
}

/** What every login has; the rest is unchecked, because only the owner can write it. */
interface KeptLogin {
  readonly url: string;
  readonly redirectUrl: string;
  readonly tokens: { readonly access_token: string };
  readonly client: { readonly client_id: string };
}

/** `Login` is what is kept of one. */
export function createLoginStore<Login extends KeptLogin>(stateDir: string, keyring: Keyring) {
  const folder = join(stateDir, FOLDER);
  const fileOf = (key: Key): string => join(folder, `${digestOf(placeOf(key))}.json`);

  return {
    /** Rejects with `LOGIN_REQUIRED` when the keyring does not open it. */
    async load(key: Key): Promise<Login | undefined> {
      try {
        const text = (await readBounded(fileOf(key), MAX_FILE_BYTES)).toString('utf8');
        const login = await opened<Login>(JSON.parse(text), key, keyring);
        return isLogin(login) && login.url === key.url ? login : undefined;
      } catch (error) {
        if (error instanceof BridgeError) {
          throw error;
        }
        // None yet, or a file that is none of ours: a new login mends both.
        return undefined;
      }
    },

    async save(key: Key, login: Login): Promise<void> {
      try {
        await ensureDirectory(folder);
        const text = JSON.stringify(login);
        const secret = await keyring.keyForSaving();
        await writeAtomically(fileOf(key), [secret === undefined ? text : sealed(text, secret, key)]);
      } catch (error) {
        throw new BridgeError('STATE_WRITE_FAILED', `the login could not be kept in ${folder}: ${messageOf(error)}`, {
          hint: 'Make the state directory writable, then log in again.',
          cause: error,
        });
      }
    },

    /** Whether what is kept from now on is sealed. */
    async seals(): Promise<boolean> {
      return (await keyring.keyForSaving()) !== undefined;
    },

    async remove(key: Key): Promise<boolean> {
      const existed = (await stat(fileOf(key)).catch(() => undefined)) !== undefined;
      await rm(fileOf(key), { force: true });
      return existed;
    },

    async exclusively<Value>(key: Key, work: () => Promise<Value>): Promise<Value> {
      const lock = `${fileOf(key)}.lock`;
      const ours = await takeLock(lock);
      try {
        return await work();
      } finally {
        await dropLock(lock, ours);
      }
    },
  };
}

function placeOf({ name, url }: Key): string {
  return `${name}\n${url}`;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function sealed(text: string, secret: Buffer, key: Key): string {
  return JSON.stringify({ sealed: seal(text, secret, placeOf(key)) });
}

/** Rejects with `LOGIN_REQUIRED` when there is no key, and otherwise when the key is not the right one. */
async function opened<Login>(kept: Login | { readonly sealed: string }, key: Key, keyring: Keyring): Promise<Login> {
  if (typeof kept !== 'object' || kept === null || !('sealed' in kept)) {
    return kept;
  }
  const secret = await keyring.keyForReading();
  if (secret !== undefined) {
    return JSON.parse(unseal(kept.sealed, secret, placeOf(key))) as Login;
  }
  const { name } = key;
  const message = `the login at server '${name}' cannot be opened: the keyring of the system does not give its key`;
  throw new BridgeError('LOGIN_REQUIRED', message, {
    hint: `Unlock the keyring, or log in anew where it is not needed: MCP_BRIDGE_KEYRING=off ${COMMAND} servers login ${name}`,
    data: { server: name },
  });
}

function isLogin({ url, redirectUrl, tokens, client }: Partial<KeptLogin>): boolean {
  return [url, redirectUrl, tokens?.access_token, client?.client_id].every((text) => typeof text === 'string');
}

/**
 * Waits until the lock is ours, and gives what tells it from those of others. Undefined where it cannot be made: a folder
 * that does not exist has nothing to protect, and one that cannot be written to is left to `save`.
 */
async function takeLock(lock: string): Promise<string | undefined> {
  const ours = randomUUID();
  // Not by the clock alone: when it was set back, a lock may be from the future.
  const waitsUntil = performance.now() + STALE_LOCK_MS;
  for (;;) {
    try {
      await writeFile(lock, ours, { flag: 'wx', mode: 0o600 });
      return ours;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
        return undefined;
      }
    }
    const found = await stat(lock).catch(() => undefined);
    if (found !== undefined && (Date.now() - found.mtimeMs > STALE_LOCK_MS || performance.now() > waitsUntil)) {
      await breakLock(lock, found);
    } else {
      await sleep(LOCK_POLL_MS);
    }
  }
}

/** Removes the lock that was looked at, and no other: two who find it stale must not remove that of the quicker one. */
async function breakLock(lock: string, found: Stats): Promise<void> {
  const aside = `${lock}.${randomUUID()}`;
  try {
    await rename(lock, aside);
    const moved = await stat(aside);
    if (moved.ino !== found.ino || moved.mtimeMs !== found.mtimeMs) {
      await link(aside, lock);
    }
  } catch {
    // Another one was quicker, or has made a lock of its own: the next round sees it.
  } finally {
    await rm(aside, { force: true });
  }
}

/** One that was taken for stale, and given to another, stays. */
async function dropLock(lock: string, ours: string | undefined): Promise<void> {
  const holder = ours === undefined ? undefined : await readFile(lock, 'utf8').catch(() => undefined);
  if (holder !== undefined && holder === ours) {
    await rm(lock, { force: true });
  }
}
