/**
 * A file takes the place of another, at once and as a whole. On Windows that fails while any program holds the old one open,
 * which virus scanners and indexers do for some milliseconds after every write; so it is tried again there.
 */
import { rename } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits between the attempts on Windows, 0.9 s in all. Chosen. */
const WAITS_MS = [10, 40, 100, 250, 500];
const HELD_OPEN: readonly unknown[] = ['EPERM', 'EACCES', 'EBUSY'];

/** Renames `from` over `to`. Rejects with the error of the operating system. */
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
