/**
 * The files of the audit log: one per UTC day, `2026-11-21.jsonl`, followed by `2026-11-21.1.jsonl` and so on when one is full.
 * Each principal of HTTP has files of its own, `2026-11-21.principal-0c1d2e3f4a5b6c7d.jsonl`, and so has a session that writes very
 * much, `2026-11-21.session-0c1d2e3f.jsonl`, so that removing old files never removes what others did. Files are never renamed, so
 * several bridges can write to the same file and agree on the next one without communicating.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureDirectory, OWNER_ONLY_FILE, openRegularFile, refuseSecondLink } from '../../core/state/state-files.ts';

const NAME = /^(\d{4}-\d{2}-\d{2})(?:\.(principal-[0-9a-f]{16}))?(?:\.(session-[0-9a-f]{8}))?(?:\.(\d{1,6}))?\.jsonl$/;
/** The part of a principal's size that files of single sessions may take. */
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
  /** What the files of one principal, or of one session of it, have in common; empty for the user of the machine. */
  readonly series: string;
  /** The part of the series that stands for the principal. */
  readonly owner: string;
  /** 0 for the first file of the day and series. */
  readonly number: number;
}

/**
 * The series of a principal, undefined for the user of the machine, or of a session of it that gets files of its own. Principals are
 * told apart by 64 bits: two with one name would share what each may keep.
 */
export function seriesOf(principal: string | undefined, session?: string): string {
  const owner = principal === undefined ? [] : [`principal-${hashOf(principal).slice(0, 16)}`];
  return [...owner, ...(session === undefined ? [] : [`session-${hashOf(session).slice(0, 8)}`])].join('.');
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex');
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
              series: [match[2], match[3]].filter((part) => part !== undefined).join('.'),
              owner: match[2] ?? '',
              number: Number(match[4] ?? 0),
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
  const [owner = ''] = /^principal-[^.]+/.exec(series) ?? [];
  return { path: join(directory, parts.join('.')), day, series, owner, number };
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
 * Removes files that are too old, then the oldest until the total size is within the limit; never `current`. The principal with the
 * most loses its oldest first, so none can remove what another has within an equal part. Files of single sessions have a quarter of what
 * their principal may keep, and the session with the most loses its oldest first.
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
  const old = files.filter(({ day, path }) => day < oldest && path !== current);
  const owners = new Map<string, SizedFile[]>();
  for (const file of files.filter((one) => !old.includes(one))) {
    owners.set(file.owner, [...(owners.get(file.owner) ?? []), file]);
  }
  const maxBytes = partOf([...owners.values()].map(total), keep.maxTotalBytes);
  const excess = [...owners.values()].flatMap((some) => excessOfOwner(some, maxBytes, current));
  // Another bridge may have removed a file first.
  await Promise.all([...old, ...excess].map(({ path }) => rm(path, { force: true })));
}

/** How much each may have at most, so that all together have `maxBytes`: what some do not need is shared by the others. */
function partOf(sizes: readonly number[], maxBytes: number): number {
  let left = maxBytes;
  for (const [index, size] of sizes.toSorted((one, other) => one - other).entries()) {
    const part = left / (sizes.length - index);
    if (size > part) {
      return part;
    }
    left -= size;
  }
  return maxBytes;
}

function excessOfOwner(files: readonly SizedFile[], maxBytes: number, current: string): SizedFile[] {
  const ofSessions = files.filter(({ owner, series }) => series !== owner);
  const ofAll = files.filter(({ owner, series }) => series === owner);
  const sessionBytes = maxBytes * SHARE_OF_SESSIONS;
  const excess = excessOf(ofSessions, sessionBytes, current);
  const keptBytes = total(ofSessions) - total(excess);
  return [...excess, ...excessOf(ofAll, maxBytes - Math.min(keptBytes, sessionBytes), current)];
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
