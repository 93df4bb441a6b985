/**
 * What all checkpoints of a state directory may use together: those of every session, project and client, because whoever is limited
 * chooses these names, and each principal has a state directory. If there is too little room, the session that uses most loses its oldest
 * checkpoint, unless a bridge has it. A file beside says so to the next bridge of that session.
 */
import { createHash } from 'node:crypto';
import { lstat, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { CappedMap } from '../base/capped-map.ts';
import { MAX_CHECKPOINTS_BYTES, MIN_CHECKPOINT_BYTES } from '../base/limits.ts';
import { ensureDirectory, readBounded, TEMPORARY_SUFFIX, writeAtomically } from '../state/state-files.ts';
import { JOB_NAME } from './jobs.ts';
import { claimSession, readHolder } from './session-claim.ts';

export const CHECKPOINT_SUFFIX = '.checkpoint';
export const CLAIM_SUFFIX = '.claim';
/** Beside a named checkpoint: its key, because the name of the file is a hash. */
export const KEY_SUFFIX = '.key';
export const MAX_KEY_BYTES = 4_096;
/** Beside a checkpoint, or where one would be: the last cell that has run in the session. */
export const CELL_SUFFIX = '.cell';
/** Beside a checkpoint, or where one was: what was removed of the session. */
export const REMOVED_SUFFIX = '.removed';
const MAX_REMOVED_BYTES = 16_384;
const MAX_REMOVED_NAMES = 100;
/** In the folder of one bridge. */
export const OWNER_FILE = 'bridge.claim';
/** There, too: the folder that gets its `default` if that bridge is killed. */
export const HEIR_FILE = 'heir';
const MAX_HEIR_BYTES = 256;

/** How long a count of all files is trusted; other bridges write, too. Chosen: counting 1,000 files takes 20 ms. */
const COUNTED_MS = 60_000;
/** State directories whose count is kept. Others are counted again. */
const MAX_COUNTED = 1_000;

const NameSchema = z.union([z.literal(''), z.string().regex(JOB_NAME)]);
/** Earlier versions noted only names, of what was removed to make room. */
const RemovedSchema = z
  .array(
    z.union([NameSchema.transform((name) => ({ name })), z.object({ name: NameSchema, savedAt: z.iso.datetime() })]),
  )
  .max(MAX_REMOVED_NAMES);

/** What was removed of a session. */
export interface RemovedState {
  /** `''` is the checkpoint that the session goes on from. */
  readonly name: string;
  /** ISO 8601, if it was too old; otherwise it was removed to make room. */
  readonly savedAt?: string;
}

/** A checkpoint that takes the place of the one at `target`, if there is one. */
interface NewCheckpoint {
  readonly bytes: number;
  readonly target: string;
  /** Where the newest state of its session is. */
  readonly main: string;
}

interface StoredFile {
  readonly path: string;
  readonly bytes: number;
  readonly mtimeMs: number;
}

/** The checkpoints of one session. */
interface Group {
  /** Of its newest state; what is beside it has the same path and a suffix. */
  readonly main: string;
  readonly files: (StoredFile & { readonly name: string })[];
  bytes: number;
}

const counts = new CappedMap<string, { bytes: number; readonly at: number }>(MAX_COUNTED);

/** Names of sessions come from clients, so a file is named by a hash. */
export function checkpointPath(folder: string, key: string): string {
  return join(folder, `${createHash('sha256').update(key).digest('hex').slice(0, 32)}${CHECKPOINT_SUFFIX}`);
}

/** Makes room for one more checkpoint in a folder of `root`. Its own session loses nothing. Rejects if there is no room. */
export async function makeRoom(
  root: string,
  { bytes, main, target }: NewCheckpoint,
  maxBytes = MAX_CHECKPOINTS_BYTES,
): Promise<void> {
  const needed = Math.max(bytes, MIN_CHECKPOINT_BYTES);
  const known = counts.get(root);
  if (known !== undefined && performance.now() - known.at < COUNTED_MS && known.bytes + needed <= maxBytes) {
    known.bytes += needed;
    return;
  }
  const isReplaced = (path: string): boolean =>
    path === target || (path.startsWith(`${target}.`) && path.endsWith(TEMPORARY_SUFFIX));
  const files = (await listFiles(root)).filter(({ path }) => !isReplaced(path));
  let used = files.reduce((sum, file) => sum + file.bytes, 0);
  if (used + needed > maxBytes) {
    used -= await removeLargest(await groupsOf(files), used + needed - maxBytes, main);
  }
  counts.set(root, { bytes: used + needed, at: performance.now() });
  if (used + needed > maxBytes) {
    counts.delete(root);
    throw new Error(
      `all saved sessions together would use ${mib(used + needed)}; the limit is ${mib(maxBytes)}, and the others are in use`,
    );
  }
}

/** What was removed of the session since the last call. */
export async function takeRemoved(main: string): Promise<readonly RemovedState[]> {
  const removed = await readRemoved(main);
  if (removed.length > 0) {
    await rm(`${main}${REMOVED_SUFFIX}`, { force: true }).catch(() => undefined);
  }
  return removed;
}

/** Removes a checkpoint that is too old. */
export async function removeExpired(path: string, mtimeMs: number): Promise<void> {
  const { main, name } = await sessionOf(path);
  await noteForHeir(main, { name, savedAt: new Date(mtimeMs).toISOString() });
  await removeFiles(path);
}

/** Where the newest state of the session is, and the name of this checkpoint of it. */
async function sessionOf(path: string): Promise<{ readonly main: string; readonly name: string }> {
  const [session = '', name = ''] = (await readText(`${path}${KEY_SUFFIX}`, MAX_KEY_BYTES)).split('\n');
  return { main: session === '' ? path : checkpointPath(dirname(path), session), name };
}

/** The name of the folder that gets `default` of a bridge that was killed. */
export async function readHeir(folder: string): Promise<string | undefined> {
  const heir = await readText(join(folder, HEIR_FILE), MAX_HEIR_BYTES);
  return heir === '' ? undefined : heir;
}

/** Every checkpoint, also one that is being written. */
async function listFiles(root: string): Promise<StoredFile[]> {
  const folders = await readdir(root).catch((): string[] => []);
  const found = await Promise.all(folders.map((folder) => listFolder(join(root, folder))));
  return found.flat();
}

async function listFolder(folder: string): Promise<StoredFile[]> {
  const names = await readdir(folder).catch((): string[] => []);
  const files = names
    .filter((name) => name.endsWith(CHECKPOINT_SUFFIX) || name.endsWith(TEMPORARY_SUFFIX))
    .map(async (name): Promise<StoredFile[]> => {
      const path = join(folder, name);
      const stats = await lstat(path).catch(() => undefined);
      return stats === undefined
        ? []
        : [{ path, bytes: Math.max(stats.size, MIN_CHECKPOINT_BYTES), mtimeMs: stats.mtimeMs }];
    });
  return (await Promise.all(files)).flat();
}

/** Smallest first, and of sessions of one size those that were used last. */
async function groupsOf(files: readonly StoredFile[]): Promise<Group[]> {
  const groups = new Map<string, Group>();
  const newestFirst = files
    .filter(({ path }) => path.endsWith(CHECKPOINT_SUFFIX))
    .toSorted((a, b) => b.mtimeMs - a.mtimeMs);
  for (const file of newestFirst) {
    const { main, name } = await sessionOf(file.path);
    const group = groups.get(main) ?? { main, files: [], bytes: 0 };
    groups.set(main, group);
    group.files.push({ ...file, name });
    group.bytes += file.bytes;
  }
  return [...groups.values()].toSorted((a, b) => a.bytes - b.bytes);
}

/** Removes checkpoints until so many bytes are free. Resolves with the bytes that are. */
async function removeLargest(groups: Group[], bytes: number, own: string): Promise<number> {
  let freed = 0;
  while (freed < bytes) {
    const group = groups.pop();
    if (group === undefined) {
      break;
    }
    const oldest = group.main === own ? undefined : group.files.pop();
    if (oldest === undefined || !(await removeUnlessUsed(group.main, oldest))) {
      continue;
    }
    freed += oldest.bytes;
    group.bytes -= oldest.bytes;
    if (group.files.length > 0) {
      groups.splice(groups.findLastIndex((other) => other.bytes <= group.bytes) + 1, 0, group);
    }
  }
  return freed;
}

/** False if a bridge has the session. */
async function removeUnlessUsed(main: string, { path, name }: Group['files'][number]): Promise<boolean> {
  const folder = dirname(main);
  if (await isOfBridge(folder)) {
    if ((await readHolder(join(folder, OWNER_FILE))) !== undefined) {
      return false;
    }
    await removeFiles(path);
    await noteForHeir(main, { name });
    return true;
  }
  const claim = await claimSession(`${main}${CLAIM_SUFFIX}`).catch(() => undefined);
  if (claim === undefined || 'pid' in claim) {
    return false;
  }
  try {
    await noteRemoved(main, { name });
    await removeFiles(path);
  } finally {
    await claim.release();
  }
  return true;
}

/** A checkpoint and what is known of it. */
export async function removeFiles(path: string): Promise<void> {
  await Promise.all(['', KEY_SUFFIX, CELL_SUFFIX].map((suffix) => rm(`${path}${suffix}`, { force: true })));
}

function isOfBridge(folder: string): Promise<boolean> {
  return lstat(join(folder, OWNER_FILE)).then(
    () => true,
    () => false,
  );
}

/** Notes it where the next bridge of the session looks. Of a bridge that was killed, only `default` is left to anyone. */
async function noteForHeir(main: string, removed: RemovedState): Promise<void> {
  const folder = dirname(main);
  if (!(await isOfBridge(folder))) {
    await noteRemoved(main, removed);
    return;
  }
  const heir = await readHeir(folder);
  if (heir !== undefined && removed.name === '') {
    await noteRemoved(join(dirname(folder), basename(heir), basename(main)), removed);
  }
}

async function noteRemoved(main: string, removed: RemovedState): Promise<void> {
  const others = (await readRemoved(main)).filter(({ name }) => name !== removed.name);
  const all = [...others, removed].slice(-MAX_REMOVED_NAMES);
  await ensureDirectory(dirname(main));
  await writeAtomically(
    `${main}${REMOVED_SUFFIX}`,
    [JSON.stringify(all.map((one) => (one.savedAt === undefined ? one.name : one)))],
    {
      isDurable: false,
    },
  );
}

async function readRemoved(main: string): Promise<readonly RemovedState[]> {
  try {
    return RemovedSchema.parse(JSON.parse(await readText(`${main}${REMOVED_SUFFIX}`, MAX_REMOVED_BYTES)));
  } catch {
    return [];
  }
}

/** Empty if there is no such file. */
async function readText(path: string, maxBytes: number): Promise<string> {
  return readBounded(path, maxBytes).then(
    (bytes) => bytes.toString('utf8'),
    () => '',
  );
}

function mib(bytes: number): string {
  return `${Math.ceil(bytes / 1024 ** 2).toLocaleString('en-US')} MiB`;
}
