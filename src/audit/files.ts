/**
 * The files of the audit log: one per UTC day, `2026-11-21.jsonl`, followed by `2026-11-21.1.jsonl` and so on when one is full.
 * Files are never renamed, so several bridges can write to the same file and agree on the next one without communicating.
 */
import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureDirectory } from '../state/state-files.ts';

const NAME = /^(\d{4}-\d{2}-\d{2})(?:\.(\d{1,6}))?\.jsonl$/;
const OWNER_ONLY_FILE = 0o600;
const OWNER_ONLY_DIRECTORY = 0o700;
const OTHERS = 0o077;
/** `O_NOFOLLOW` is missing on Windows, where creating a link needs a privilege. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;
const DAY_MS = 24 * 3_600_000;

export function auditDirectory(stateDir: string): string {
  return join(stateDir, 'audit');
}

export interface AuditFile {
  readonly path: string;
  /** UTC day, `2026-11-21`. */
  readonly day: string;
  /** 0 for the first file of the day. */
  readonly number: number;
}

/** UTC day of a time in milliseconds since 1970. */
export function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

/** The existing files, oldest first; empty if there is no directory. */
export async function listAuditFiles(directory: string): Promise<AuditFile[]> {
  const names = await namesIn(directory);
  return names
    .map((name) => ({ name, match: NAME.exec(name) }))
    .flatMap(({ name, match }) => {
      return match === null
        ? []
        : [{ path: join(directory, name), day: match[1] ?? '', number: Number(match[2] ?? 0) }];
    })
    .toSorted((a, b) => (a.day === b.day ? a.number - b.number : a.day < b.day ? -1 : 1));
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return [];
    }
    throw error;
  }
}

/** Creates the directory with access for the owner only. Rejects if its path is something else, including a link. */
export async function prepareDirectory(directory: string): Promise<void> {
  await ensureDirectory(directory);
  const { mode } = await lstat(directory);
  if ((mode & OTHERS) !== 0) {
    await chmod(directory, OWNER_ONLY_DIRECTORY);
  }
}

/** The file of `day` to write to: the last one, or the next one if that is full. */
export async function fileWithRoom(directory: string, day: string, maxFileBytes: number): Promise<AuditFile> {
  const last = (await listAuditFiles(directory)).findLast((file) => file.day === day);
  const isFull = last !== undefined && (await lstat(last.path)).size >= maxFileBytes;
  const number = (last?.number ?? 0) + (isFull ? 1 : 0);
  return { path: join(directory, number === 0 ? `${day}.jsonl` : `${day}.${number}.jsonl`), day, number };
}

/**
 * Opens a file so that each write goes to its end, whoever else writes to it. Rejects for a link, for anything but a regular
 * file, and for a file with a second hard link, which could be a file from anywhere.
 */
export async function openToAppend(path: string): Promise<FileHandle> {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | NO_FOLLOW | (constants.O_NONBLOCK ?? 0);
  const file = await open(path, flags, OWNER_ONLY_FILE);
  try {
    const { mode, nlink } = await checkRegularFile(file);
    if (nlink > 1) {
      throw new Error('it has more than one hard link');
    }
    if ((mode & OTHERS) !== 0) {
      await file.chmod(OWNER_ONLY_FILE);
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Opens a file for reading. Rejects for a link and for anything but a regular file. */
export async function openToRead(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | NO_FOLLOW | (constants.O_NONBLOCK ?? 0));
  try {
    await checkRegularFile(file);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function checkRegularFile(file: FileHandle) {
  const stats = await file.stat();
  if (!stats.isFile()) {
    throw new Error('it is not a regular file');
  }
  return stats;
}

export interface Retention {
  readonly maxAgeDays: number;
  readonly maxTotalBytes: number;
}

/** Removes files that are too old, then the oldest until the total size is within the limit; never the newest. */
export async function removeOldFiles(directory: string, keep: Retention, nowMs: number): Promise<void> {
  const oldest = dayOf(nowMs - keep.maxAgeDays * DAY_MS);
  const files = await listAuditFiles(directory);
  const sizes = await Promise.all(
    files.map(({ path }) =>
      lstat(path).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  let total = sizes.reduce((sum, size) => sum + size, 0);
  for (const [index, { day, path }] of files.entries()) {
    const isLast = index === files.length - 1;
    if (!isLast && (day < oldest || total > keep.maxTotalBytes)) {
      // Another bridge may have removed it first.
      await rm(path, { force: true });
      total -= sizes[index] ?? 0;
    }
  }
}
