/**
 * The lock files: what a request for packages resolved to. The same request gets the same bytes again, in another session, another
 * day, or after its set was removed. A lock also keeps its request from the network.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../base/errors.ts';
import { ensureDirectory, readBounded, writeAtomically } from '../state/state-files.ts';
import { LockedPackageSchema, MAX_SET_PACKAGES } from './report.ts';

const LockSchema = z.strictObject({
  version: z.literal(1),
  requirements: z.array(z.string()),
  /** The interpreter and the platform that the wheels were chosen for. */
  python: z.string(),
  /** Id of the set; null if the image has everything. */
  set: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  packages: z.array(LockedPackageSchema).max(MAX_SET_PACKAGES),
});
export type PackageLock = z.infer<typeof LockSchema>;

export interface PackageLocks {
  /** Undefined if there is none for this interpreter, or it cannot be used. */
  find(key: string, python: string): Promise<PackageLock | undefined>;
  /** Ids of sets, the one that was used last at the end. */
  recentlyUsed(): Promise<string[]>;
  /** Rejects with `STATE_WRITE_FAILED`. */
  write(key: string, lock: PackageLock): Promise<void>;
}

const EXTENSION = '.lock.json';
const MAX_LOCK_BYTES = 2 * 1024 * 1024;
/** Chosen: the store has fewer sets. */
const MAX_LOCKS = 1_000;

/** What a lock is valid for, as a name of a file. */
export function lockKey(parts: Readonly<Record<string, unknown>>): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Undefined if the file is not a lock; rejects if it cannot be read. */
async function readLock(path: string): Promise<PackageLock | undefined> {
  const text = (await readBounded(path, MAX_LOCK_BYTES)).toString('utf8');
  return LockSchema.safeParse(JSON.parse(text)).data;
}

export function createPackageLocks(stateDir: string): PackageLocks {
  const directory = join(stateDir, 'packages');
  const fileOf = (key: string) => join(directory, key + EXTENSION);
  return {
    async find(key, python) {
      try {
        const lock = await readLock(fileOf(key));
        // Shows when the set was used last; the store itself is read-only for sessions.
        const now = new Date();
        await utimes(fileOf(key), now, now).catch(() => undefined);
        // The image may have been replaced under the same name.
        return lock?.python === python ? lock : undefined;
      } catch {
        return undefined;
      }
    },
    async recentlyUsed() {
      const files = (await readdir(directory).catch((): string[] => [])).filter((file) => file.endsWith(EXTENSION));
      const read = files.slice(0, MAX_LOCKS).map(async (file) => {
        const path = join(directory, file);
        const [{ mtimeMs }, lock] = await Promise.all([stat(path), readLock(path)]);
        return { usedAt: mtimeMs, set: lock?.set };
      });
      const found = (await Promise.all(read.map((one) => one.catch(() => undefined)))).filter(
        (one) => one !== undefined,
      );
      const sorted = found.toSorted((one, other) => one.usedAt - other.usedAt);
      return sorted.flatMap(({ set }) => set ?? []);
    },
    async write(key, lock) {
      try {
        await mkdir(stateDir, { recursive: true });
        await ensureDirectory(directory);
        await writeAtomically(fileOf(key), [`${JSON.stringify(lock, undefined, 2)}\n`]);
      } catch (error) {
        throw new BridgeError(
          'STATE_WRITE_FAILED',
          `the lock could not be written to ${directory}: ${messageOf(error)}`,
          {
            hint: 'Make the directory writable, or set MCP_BRIDGE_STATE_DIR to one that is.',
            cause: error,
          },
        );
      }
    },
  };
}
