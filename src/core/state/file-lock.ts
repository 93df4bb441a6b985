/**
 * A lock between processes: a file that only one of them can create. A process that is killed leaves its lock behind, so an
 * old lock is broken.
 */
import { randomUUID } from 'node:crypto';
import type { Stats } from 'node:fs';
import { link, lstat, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { replaceFile } from './file-system.ts';

/** An older lock was left by a dead process: the longest work under a lock, renewing a login, may take 30 s. */
const STALE_LOCK_MS = 60_000;
const LOCK_POLL_MS = 50;

/** Runs `work` while no other process runs work under the same lock. */
export async function withFileLock<Value>(lock: string, work: () => Promise<Value>): Promise<Value> {
  const ours = await takeLock(lock);
  try {
    return await work();
  } finally {
    await dropLock(lock, ours);
  }
}

/**
 * Waits for the lock, and returns the content that identifies it as ours. Undefined if it cannot be created: a missing folder
 * has nothing to protect, and in a read-only folder the work itself fails.
 */
async function takeLock(lock: string): Promise<string | undefined> {
  const ours = randomUUID();
  // Since when it is held as it is now. Its age alone is not enough: if the clock was set back, it may be from the future.
  let seen = { holder: '', since: 0 };
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
      return undefined; // A folder or a link is no lock, so nothing will ever remove it.
    }
    const holder = found === undefined ? '' : `${found.ino}:${found.mtimeMs}`;
    if (holder !== seen.holder) {
      seen = { holder, since: performance.now() };
    }
    if (
      found === undefined ||
      (Date.now() - found.mtimeMs <= STALE_LOCK_MS && performance.now() - seen.since <= STALE_LOCK_MS)
    ) {
      await sleep(LOCK_POLL_MS);
    } else if (!(await breakLock(lock, found))) {
      return undefined; // As if it could not be created: the folder is read-only, or belongs to another user.
    }
  }
}

/** A full disk has room for a file, but not for its content. An empty lock would block everyone. */
async function dropUnwritten(lock: string): Promise<void> {
  const found = await lstat(lock).catch(() => undefined);
  if (found?.isFile() === true && found.size === 0) {
    await rm(lock, { force: true });
  }
}

/**
 * Removes the given lock and no other: if two processes find it stale, the slower must not remove the new lock of the faster.
 * Resolves with false if nothing can be removed there.
 */
async function breakLock(lock: string, found: Stats): Promise<boolean> {
  const aside = `${lock}.${randomUUID()}`;
  try {
    await replaceFile(lock, aside);
  } catch (error) {
    // Missing: another process was faster.
    return error instanceof Error && 'code' in error && error.code === 'ENOENT';
  }
  try {
    const moved = await stat(aside);
    if (moved.ino !== found.ino || moved.mtimeMs !== found.mtimeMs) {
      await link(aside, lock);
    }
  } catch {
    // Another process has created its own lock. The next round sees it.
  } finally {
    await rm(aside, { force: true });
  }
  return true;
}

/** Releases our lock. If it was broken as stale and another process holds it now, it stays. */
async function dropLock(lock: string, ours: string | undefined): Promise<void> {
  const holder = ours === undefined ? undefined : await readFile(lock, 'utf8').catch(() => undefined);
  if (holder !== undefined && holder === ours) {
    await rm(lock, { force: true });
  }
}
