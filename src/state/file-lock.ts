/**
 * A lock between processes: a file that only one of them can create. A process that is killed leaves its lock behind, so
 * an old one is broken.
 */
import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { link, lstat, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** A lock that is older was left by a process that is gone: the longest work under one, a renewal of a login, has 30 s. */
const STALE_LOCK_MS = 60_000;
const LOCK_POLL_MS = 50;

/** Does `work` while no other process does work under the same lock. */
export async function withFileLock<Value>(lock: string, work: () => Promise<Value>): Promise<Value> {
  const ours = await takeLock(lock);
  try {
    return await work();
  } finally {
    await dropLock(lock, ours);
  }
}

/**
 * Waits until the lock is ours, and gives what tells it from those of others. Undefined if it cannot be made: a folder
 * that does not exist has nothing to protect, and in one that cannot be written to the work itself fails.
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
        await dropUnwritten(lock);
        return undefined;
      }
    }
    const found = await lstat(lock).catch(() => undefined);
    if (found !== undefined && !found.isFile()) {
      return undefined; // A folder or a link: nobody's lock, and nobody will remove it.
    }
    if (found !== undefined && (Date.now() - found.mtimeMs > STALE_LOCK_MS || performance.now() > waitsUntil)) {
      await breakLock(lock, found);
    } else {
      await sleep(LOCK_POLL_MS);
    }
  }
}

/** A full disk has room for the file, but not for what is in it: left empty, it would hold everybody up. */
async function dropUnwritten(lock: string): Promise<void> {
  const found = await lstat(lock).catch(() => undefined);
  if (found?.isFile() === true && found.size === 0) {
    await rm(lock, { force: true });
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
