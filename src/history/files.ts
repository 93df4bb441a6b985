/**
 * The files of the audit log: one per UTC day, `2026-11-21.jsonl`, followed by `2026-11-21.1.jsonl` and so on when one is full.
 * A session that writes very much gets files of its own, `2026-11-21.session-0c1d2e3f.jsonl`, so that removing old files never
 * removes what others did. Files are never renamed, so several bridges can write to the same file and agree on the next one
 * without communicating.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureDirectory, OWNER_ONLY_FILE, openRegularFile, refuseSecondLink } from '../state/state-files.ts';

const NAME = /^(\d{4}-\d{2}-\d{2})(?:\.(session-[0-9a-f]{8}))?(?:\.(\d{1,6}))?\.jsonl$/;
/** The part of the total size that files of single sessions may take. */
const SHARE_OF_SESSIONS = 1 / 4;
const OWNER_ONLY_DIRECTORY = 0o700;
const OTHERS = 0o077;
const DAY_MS = 24 * 3_600_000;

export function auditDirectory(stateDir: string): string {
  return join(stateDir, 'audit');
}

export interface AuditFile {
  readonly path: string;
  /** UTC day, `2026-11-21`. */
  readonly day: string;
  /** Empty for the files of all sessions, or what the files of one session have in common. */
  readonly series: string;
  /** 0 for the first file of the day and series. */
  readonly number: number;
}

/** The series of a session that gets files of its own. */
export function seriesOf(session: string): string {
  return `session-${createHash('sha256').update(session).digest('hex').slice(0, 8)}`;
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
        : [
            {
              path: join(directory, name),
              day: match[1] ?? '',
              series: match[2] ?? '',
              number: Number(match[3] ?? 0),
            },
          ];
    })
    .toSorted((a, b) => compare(a.day, b.day) || compare(a.series, b.series) || a.number - b.number);
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
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

/** The file of a day and series to write to: the last one, or the next one if that is full. */
export async function fileWithRoom(
  directory: string,
  { day, series }: Pick<AuditFile, 'day' | 'series'>,
  maxFileBytes: number,
): Promise<AuditFile> {
  const files = await listAuditFiles(directory);
  const last = files.findLast((file) => file.day === day && file.series === series);
  const isFull = last !== undefined && (await lstat(last.path)).size >= maxFileBytes;
  const number = (last?.number ?? 0) + (isFull ? 1 : 0);
  const parts = [day, ...(series === '' ? [] : [series]), ...(number === 0 ? [] : [number]), 'jsonl'];
  return { path: join(directory, parts.join('.')), day, series, number };
}

/**
 * Opens a file so that each write goes to its end, whoever else writes to it. Rejects for a link, for anything but a regular
 * file, and for a file with a second hard link.
 */
export async function openToAppend(path: string): Promise<FileHandle> {
  const file = await openRegularFile(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT);
  try {
    const stats = await file.stat();
    refuseSecondLink(stats);
    if ((stats.mode & OTHERS) !== 0) {
      await file.chmod(OWNER_ONLY_FILE);
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

export interface Retention {
  readonly maxAgeDays: number;
  readonly maxTotalBytes: number;
}

/**
 * Removes files that are too old, then the oldest until the total size is within the limit; never `current`. Files of single
 * sessions have a part of the space for themselves, and the session with the most loses its oldest first.
 */
export async function removeOldFiles(
  directory: string,
  keep: Retention,
  nowMs: number,
  current: string,
): Promise<void> {
  const oldest = dayOf(nowMs - keep.maxAgeDays * DAY_MS);
  const files = await Promise.all(
    (await listAuditFiles(directory)).map(async (file) => ({ ...file, bytes: await sizeOf(file.path) })),
  );
  // Another bridge may have removed a file first.
  const remove = (some: readonly SizedFile[]) => Promise.all(some.map(({ path }) => rm(path, { force: true })));
  const old = files.filter(({ day, path }) => day < oldest && path !== current);
  const left = files.filter((file) => !old.includes(file));
  const ofSessions = left.filter(({ series }) => series !== '');
  const ofAll = left.filter(({ series }) => series === '');
  const sessionBytes = keep.maxTotalBytes * SHARE_OF_SESSIONS;
  const excess = excessOf(ofSessions, sessionBytes, current);
  const keptBytes = total(ofSessions) - total(excess);
  await remove([
    ...old,
    ...excess,
    ...excessOf(ofAll, keep.maxTotalBytes - Math.min(keptBytes, sessionBytes), current),
  ]);
}

interface SizedFile extends AuditFile {
  readonly bytes: number;
}

async function sizeOf(path: string): Promise<number> {
  return lstat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

function total(files: readonly SizedFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** The files to remove until the rest has at most `maxBytes`: each time the oldest of the largest series. */
function excessOf(files: readonly SizedFile[], maxBytes: number, current: string): SizedFile[] {
  const removed: SizedFile[] = [];
  let left = files;
  while (total(left) > maxBytes) {
    const sizes = new Map<string, number>();
    left.forEach(({ series, bytes }) => sizes.set(series, (sizes.get(series) ?? 0) + bytes));
    const bySize = [...sizes].toSorted(([, one], [, other]) => other - one);
    const next = bySize
      .map(([series]) => left.find((file) => file.series === series && file.path !== current))
      .find((file) => file !== undefined);
    if (next === undefined) {
      break;
    }
    removed.push(next);
    left = left.filter((file) => file !== next);
  }
  return removed;
}
