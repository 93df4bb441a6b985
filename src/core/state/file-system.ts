/** Operations of the file system for which Node's own are not enough. */
import { mkdir, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Creates a folder and its missing parents. Existing folders keep their mode. Rejects with the error of the operating system.
 * Node's recursive `mkdir` never returns if creating a folder fails with ENOENT although its parent exists, as in /proc (seen in
 * Node 20.20).
 */
export async function makeFolders(path: string, mode = 0o777): Promise<void> {
  const parent = dirname(path);
  if (await isFolder(path)) {
    return;
  }
  if (parent !== path && !(await isFolder(parent))) {
    await makeFolders(parent, mode);
  }
  try {
    await mkdir(path, { mode });
  } catch (error) {
    // Another process created it in the meantime, or it is a link to a folder that exists again.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !(await isFolder(path))) {
      throw error;
    }
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

/** The waits between attempts on Windows, 0.9 s in total. Chosen. */
const WAITS_MS = [10, 40, 100, 250, 500];
const HELD_OPEN: readonly unknown[] = ['EPERM', 'EACCES', 'EBUSY'];

/**
 * Renames `from` to `to`, replacing it atomically. Rejects with the error of the operating system. On Windows that fails while
 * any program has the old file open, as virus scanners and indexers do for some milliseconds after every write; so it is tried
 * again there.
 */
export async function replaceFile(
  from: string,
  to: string,
  { platform = process.platform, move = rename }: { platform?: NodeJS.Platform; move?: typeof rename } = {},
): Promise<void> {
  for (const waitMs of platform === 'win32' ? WAITS_MS : []) {
    try {
      return await move(from, to);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && HELD_OPEN.includes(error.code))) {
        throw error;
      }
      await sleep(waitMs);
    }
  }
  await move(from, to);
}
