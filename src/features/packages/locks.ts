/**
 * The lock files: what a request for packages resolved to. The same request gets the same bytes again, in another session, another
 * day, or after its set was removed. A lock also keeps its request from the network.
 */
import { createHash } from 'node:crypto';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { makeFolders } from '../../core/state/file-system.ts';
import { ensureDirectory, readBounded, writeAtomically } from '../../core/state/state-files.ts';
import type { PackageIndex } from './package-index.ts';
import { LockedPackageSchema, MAX_SET_PACKAGES } from './report.ts';

/** Chosen. */
const MAX_WORD_CHARS = 40;

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
  /**
   * Only in files of earlier versions, where all principals had the same locks: those that allowed it, if people did. The empty name
   * is the user of this machine.
   */
  allowed_for: z.array(z.string()).optional(),
  /** When it was added with the command `packages add`, in milliseconds since 1970. */
  added_at: z.number().optional(),
});
export type PackageLock = z.infer<typeof LockSchema>;

/** Whether the operator of the bridge made it, with a command: no limit of sessions counts it. */
function isOfOperator({ added_at: addedAt }: PackageLock): boolean {
  return addedAt !== undefined;
}

/** A lock with its place. */
export interface StoredLock {
  readonly key: string;
  readonly lock: PackageLock;
  readonly usedAtMs: number;
}

export interface PackageLocks {
  /** Undefined if there is none for this interpreter (if it is known), or it cannot be used. */
  find(key: string, python: string | undefined): Promise<PackageLock | undefined>;
  /** All that can be read. */
  all(): Promise<StoredLock[]>;
  /** When each set was used last, in seconds since 1970. */
  usedAt(): Promise<Record<string, number>>;
  /** Notes that a lock was used now: the store itself is read-only for sessions. */
  touch(key: string): Promise<void>;
  /** Removes the locks that lead to these sets. */
  forget(sets: ReadonlySet<string>): Promise<void>;
  /** Removes the locks of sessions that were not used for so long. */
  forgetUnused(maxAgeMs: number): Promise<void>;
  /**
   * Makes room for the lock of a session, which may cost locks that have not been used for `maxAgeMs` (0 for no limit). Rejects with
   * `PACKAGE_UNAVAILABLE` if there is none.
   */
  makeRoom(key: string, maxAgeMs: number): Promise<void>;
  /** Rejects with `STATE_WRITE_FAILED`. */
  write(key: string, lock: PackageLock): Promise<void>;
}

const EXTENSION = '.lock.json';
const MAX_LOCK_BYTES = 2 * 1024 * 1024;
/** Of the sessions of one principal, besides those that the operator has added. Chosen: years of use have fewer. */
export const MAX_SESSION_LOCKS = 500;
/** The same in bytes, because all are read for a request. A lock of 20 packages has 6 KB. Chosen. */
const MAX_SESSION_LOCK_BYTES = 16 * 1024 * 1024;
/** Read at most, the last used first. Chosen: several times what there can be, unless someone has copied files there. */
const MAX_READ = 4_000;
const MAX_READ_BYTES = 4 * MAX_SESSION_LOCK_BYTES;

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

interface LockFile {
  readonly path: string;
  readonly key: string;
  readonly usedAtMs: number;
  readonly bytes: number;
}

/** The last used first. */
async function filesIn(directory: string): Promise<LockFile[]> {
  const names = (await readdir(directory).catch((): string[] => [])).filter((name) => name.endsWith(EXTENSION));
  const files = names.map(async (name): Promise<LockFile[]> => {
    const path = join(directory, name);
    const facts = await stat(path).catch(() => undefined);
    const key = name.slice(0, -EXTENSION.length);
    return facts === undefined ? [] : [{ path, key, usedAtMs: facts.mtimeMs, bytes: facts.size }];
  });
  return (await Promise.all(files)).flat().toSorted((one, other) => other.usedAtMs - one.usedAtMs);
}

async function readAll(directory: string): Promise<(StoredLock & Pick<LockFile, 'bytes' | 'path'>)[]> {
  let left = MAX_READ_BYTES;
  const files = (await filesIn(directory)).slice(0, MAX_READ).filter(({ bytes }) => {
    left -= bytes;
    return left >= 0;
  });
  const found = await Promise.all(
    files.map(async (file) => ({ ...file, lock: await readLock(file.path).catch(() => undefined) })),
  );
  return found.flatMap(({ lock, ...file }) => (lock === undefined ? [] : [{ ...file, lock }]));
}

/** Resolves with those that stay. */
async function forgetUnused(
  locks: Awaited<ReturnType<typeof readAll>>,
  maxAgeMs: number,
): Promise<Awaited<ReturnType<typeof readAll>>> {
  const oldestMs = Date.now() - maxAgeMs;
  const old = locks.filter(({ usedAtMs }) => usedAtMs < oldestMs);
  await Promise.all(old.map(({ path }) => rm(path, { force: true })));
  return locks.filter((one) => !old.includes(one));
}

function isFull(locks: readonly { readonly bytes: number }[]): boolean {
  return (
    locks.length >= MAX_SESSION_LOCKS || locks.reduce((sum, { bytes }) => sum + bytes, 0) >= MAX_SESSION_LOCK_BYTES
  );
}

function tooManyLocks(count: number): BridgeError {
  const message = `sessions have asked for ${count} combinations of packages, and the bridge keeps no more`;
  return new BridgeError('PACKAGE_UNAVAILABLE', message, {
    hint: `Use the packages of earlier requests, all named in one runtime.install(). Only the user can make room: ${COMMAND} packages prune --older-than 7d`,
    data: { kind: 'limit' },
  });
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

  const ofSessions = async () => (await readAll(directory)).filter(({ lock }) => !isOfOperator(lock));

  return {
    async find(key, python) {
      try {
        const lock = await readLock(fileOf(key));
        await touch(key);
        // The image may have been replaced under the same name.
        return python === undefined || lock?.python === python ? lock : undefined;
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
    forgetUnused: async (maxAgeMs) => void (await forgetUnused(await ofSessions(), maxAgeMs)),
    async makeRoom(key, maxAgeMs) {
      const all = await ofSessions();
      if (all.some((one) => one.key === key) || !isFull(all)) {
        return;
      }
      // The store drops their sets at that age, too.
      const kept = maxAgeMs === 0 ? all : await forgetUnused(all, maxAgeMs);
      if (isFull(kept)) {
        throw tooManyLocks(kept.length);
      }
    },
    async write(key, lock) {
      try {
        await makeFolders(stateDir);
        await ensureDirectory(directory);
        await writeAtomically(fileOf(key), [`${JSON.stringify(lock, undefined, 2)}\n`]);
      } catch (error) {
        throw notWritten(directory, error);
      }
    },
  };
}

function notWritten(directory: string, cause: unknown): BridgeError {
  return new BridgeError('STATE_WRITE_FAILED', `the lock could not be written to ${directory}: ${messageOf(cause)}`, {
    hint: 'Make the directory writable, or set MCP_BRIDGE_STATE_DIR to one that is.',
    cause,
  });
}
