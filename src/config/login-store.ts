/**
 * Logins at remote servers, below the state directory: one file each, for the owner alone, named after server and address,
 * so that a changed address gets no token of another one. Several bridges may use a login at the same time.
 */
import { createHash } from 'node:crypto';
import { open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError, messageOf } from '../errors.ts';
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

/** `Login` is what is kept of one; unchecked, because only the owner can write it. */
export function createLoginStore<Login extends { readonly url: string }>(stateDir: string) {
  const folder = join(stateDir, FOLDER);
  const fileOf = ({ name, url }: Key): string => {
    const digest = createHash('sha256').update(`${name}\n${url}`).digest('hex').slice(0, 32);
    return join(folder, `${digest}.json`);
  };

  return {
    async load(key: Key): Promise<Login | undefined> {
      try {
        const login = JSON.parse((await readBounded(fileOf(key), MAX_FILE_BYTES)).toString('utf8')) as Login;
        return login.url === key.url ? login : undefined;
      } catch {
        // None yet, or a file that is none of ours: a new login mends both.
        return undefined;
      }
    },

    async save(key: Key, login: Login): Promise<void> {
      try {
        await ensureDirectory(folder);
        await writeAtomically(fileOf(key), [JSON.stringify(login)]);
      } catch (error) {
        throw new BridgeError('STATE_WRITE_FAILED', `the login could not be kept in ${folder}: ${messageOf(error)}`, {
          hint: 'Make the state directory writable, then log in again.',
          cause: error,
        });
      }
    },

    async remove(key: Key): Promise<boolean> {
      const existed = (await stat(fileOf(key)).catch(() => undefined)) !== undefined;
      await rm(fileOf(key), { force: true });
      return existed;
    },

    async exclusively<Value>(key: Key, work: () => Promise<Value>): Promise<Value> {
      const lock = `${fileOf(key)}.lock`;
      await takeLock(lock);
      try {
        return await work();
      } finally {
        await rm(lock, { force: true });
      }
    },
  };
}

/** Waits until the lock is ours. A folder that does not exist has nothing to protect, and is left to `save`. */
async function takeLock(lock: string): Promise<void> {
  for (;;) {
    try {
      await (await open(lock, 'wx', 0o600)).close();
      return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) {
        return;
      }
    }
    const age = Date.now() - ((await stat(lock).catch(() => undefined))?.mtimeMs ?? Date.now());
    if (age > STALE_LOCK_MS) {
      await rm(lock, { force: true });
    } else {
      await sleep(LOCK_POLL_MS);
    }
  }
}
