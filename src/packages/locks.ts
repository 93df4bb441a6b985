/**
 * The lock files: what a request for packages resolved to. The same request gets the same bytes again, in another session, another
 * day, or after its set was removed. A lock also keeps its request from the network.
 */
import { createHash } from 'node:crypto';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../base/errors.ts';
import { makeFolders } from '../state/file-system.ts';
import { ensureDirectory, readBounded, writeAtomically } from '../state/state-files.ts';
import type { PackageIndex } from './package-index.ts';
import { LockedPackageSchema, MAX_SET_PACKAGES } from './report.ts';

/** Chosen. */
const MAX_WORD_CHARS = 40;
/** Of the name of a token. */
const MAX_PRINCIPAL_CHARS = 64;

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
  /** The image that the wheels were chosen for: what it has is not among them. */
  image: z.string().optional(),
  /** Who allowed the installation. */
  allowed_by: z.string().max(MAX_WORD_CHARS).optional(),
  /** Principals that allowed it, if people did; the empty name is the user of this machine, who allowed it if this is left out. */
  allowed_for: z.array(z.string().max(MAX_PRINCIPAL_CHARS)).max(10_000).optional(),
  /** When it was added with the command `packages add`, in milliseconds since 1970. */
  added_at: z.number().optional(),
});
export type PackageLock = z.infer<typeof LockSchema>;

/** A lock with its place. */
export interface StoredLock {
  readonly key: string;
  readonly lock: PackageLock;
  readonly usedAtMs: number;
}

export interface PackageLocks {
  /** Undefined if there is none for this interpreter, or it cannot be used. */
  find(key: string, python: string): Promise<PackageLock | undefined>;
  /** All that can be read. */
  all(): Promise<StoredLock[]>;
  /** When each set was used last, in seconds since 1970. */
  usedAt(): Promise<Record<string, number>>;
  /** Notes that a lock was used now: the store itself is read-only for sessions. */
  touch(key: string): Promise<void>;
  /** Removes the locks that lead to these sets. */
  forget(sets: ReadonlySet<string>): Promise<void>;
  /** Rejects with `STATE_WRITE_FAILED`. */
  write(key: string, lock: PackageLock): Promise<void>;
}

const EXTENSION = '.lock.json';
const MAX_LOCK_BYTES = 2 * 1024 * 1024;
/** Chosen: the store has fewer sets. */
const MAX_LOCKS = 1_000;

/** What decides which versions a request resolves to. */
export interface LockedRequest {
  readonly requirements: readonly string[];
  /** Versions that are fixed. */
  readonly constraints: readonly string[];
  readonly index: Pick<PackageIndex, 'urls' | 'links' | 'mask'>;
  readonly image: string;
  readonly minAgeMs: number;
}

/** The name of the lock of a request. */
export function lockKey({ constraints, image, index, minAgeMs, requirements }: LockedRequest): string {
  const addresses = [...index.links, ...index.urls].map((url) => index.mask(url));
  const parts = { requirements, constraints, addresses, image, minAgeMs };
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

/** Undefined if the file is not a lock; rejects if it cannot be read. */
async function readLock(path: string): Promise<PackageLock | undefined> {
  const text = (await readBounded(path, MAX_LOCK_BYTES)).toString('utf8');
  return LockSchema.safeParse(JSON.parse(text)).data;
}

async function readAll(directory: string): Promise<StoredLock[]> {
  const files = (await readdir(directory).catch((): string[] => [])).filter((file) => file.endsWith(EXTENSION));
  const read = files.slice(0, MAX_LOCKS).map(async (file): Promise<StoredLock | undefined> => {
    const path = join(directory, file);
    const [{ mtimeMs }, lock] = await Promise.all([stat(path), readLock(path)]);
    return lock && { key: file.slice(0, -EXTENSION.length), lock, usedAtMs: mtimeMs };
  });
  const found = await Promise.all(read.map((one) => one.catch(() => undefined)));
  return found.filter((one) => one !== undefined);
}

/** In seconds since 1970. */
function lastUses(locks: readonly StoredLock[]): Record<string, number> {
  const times = new Map<string, number>();
  for (const { lock, usedAtMs } of locks) {
    if (lock.set !== null) {
      times.set(lock.set, Math.max(times.get(lock.set) ?? 0, Math.floor(usedAtMs / 1000)));
    }
  }
  return Object.fromEntries(times);
}

export function createPackageLocks(stateDir: string): PackageLocks {
  const directory = join(stateDir, 'packages');
  const fileOf = (key: string) => join(directory, key + EXTENSION);

  async function touch(key: string): Promise<void> {
    const now = new Date();
    await utimes(fileOf(key), now, now).catch(() => undefined);
  }

  return {
    async find(key, python) {
      try {
        const lock = await readLock(fileOf(key));
        await touch(key);
        // The image may have been replaced under the same name.
        return lock?.python === python ? lock : undefined;
      } catch {
        return undefined;
      }
    },
    all: () => readAll(directory),
    usedAt: async () => lastUses(await readAll(directory)),
    touch,
    async forget(sets) {
      const forgotten = (await readAll(directory)).filter(({ lock }) => lock.set !== null && sets.has(lock.set));
      await Promise.all(forgotten.map(({ key }) => rm(fileOf(key), { force: true })));
    },
    async write(key, lock) {
      try {
        await makeFolders(stateDir);
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
