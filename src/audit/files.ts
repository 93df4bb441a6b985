/**
 * The files of the audit log: one for each UTC day, `2026-11-21.jsonl`, and further ones of the day, `2026-11-21.1.jsonl`, as
 * they grow. None is ever renamed, so that several bridges can write to the same one and agree on the next without a word.
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

/** Where the audit log of a state directory is. */
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

/** UTC day of a time in ms since 1970. */
export function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

/** The files that are there, the oldest first; none when there is no directory. */
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

/** Makes the directory, for the owner alone. Rejects when something else is in its place, a link too. */
export async function prepareDirectory(directory: string): Promise<void> {
  await ensureDirectory(directory);
  const { mode } = await lstat(directory);
  if ((mode & OTHERS) !== 0) {
    await chmod(directory, OWNER_ONLY_DIRECTORY);
  }
}

/** The file of `day` that has room: the last one of the day, else the one after it. */
export async function fileWithRoom(directory: string, day: string, maxFileBytes: number): Promise<AuditFile> {
  const last = (await listAuditFiles(directory)).findLast((file) => file.day === day);
  const isFull = last !== undefined && (await lstat(last.path)).size >= maxFileBytes;
  const number = (last?.number ?? 0) + (isFull ? 1 : 0);
  return { path: join(directory, number === 0 ? `${day}.jsonl` : `${day}.${number}.jsonl`), day, number };
}

/**
 * Opens a file so that each write lands at its end, whoever else writes. Rejects for a link, for what is no plain file,
 * and for one with a second name, which could be a file from anywhere.
 */
export async function openToAppend(path: string): Promise<FileHandle> {
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | NO_FOLLOW | (constants.O_NONBLOCK ?? 0);
  const file = await open(path, flags, OWNER_ONLY_FILE);
  try {
    const { mode, nlink } = await checkPlainFile(file);
    if (nlink > 1) {
      throw new Error('it has a second name (hard link)');
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

/** Opens a file to read it; rejects for a link and for what is no plain file. */
export async function openToRead(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | NO_FOLLOW | (constants.O_NONBLOCK ?? 0));
  try {
    await checkPlainFile(file);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function checkPlainFile(file: FileHandle) {
  const stats = await file.stat();
  if (!stats.isFile()) {
    throw new Error('it is no plain file');
  }
  return stats;
}

export interface Retention {
  readonly maxAgeDays: number;
  readonly maxTotalBytes: number;
}

/** Removes files that are too old, then the oldest ones until the rest is small enough; never the last one. */
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
