/**
 * Checkpoints on the host's disk: one file for each session, in a folder that only the user can read.
 *
 * A file is what the sandbox wrote, then facts as JSON, then a footer: the length of the JSON, the SHA-256 of all before it,
 * and a mark. It appears by a rename, so there is never a part of one. The hash finds files that were cut or changed.
 */
import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { DEFAULT_SESSION } from '../base/cell.ts';
import { messageOf } from '../base/errors.ts';
import { MAX_NAMED_CHECKPOINTS_BYTES } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { counted } from '../base/units.ts';
import { replaceFile } from '../state/file-system.ts';
import { stateFolders } from '../state/principals.ts';
import {
  ensureDirectory,
  OWNER_ONLY_FILE,
  openRegularFile,
  readBounded,
  refuseSecondLink,
  TEMPORARY_SUFFIX,
  writeAtomically,
} from '../state/state-files.ts';
import {
  CELL_SUFFIX,
  CHECKPOINT_SUFFIX,
  CLAIM_SUFFIX,
  checkpointPath,
  HEIR_FILE,
  KEY_SUFFIX,
  MAX_KEY_BYTES,
  makeRoom,
  OWNER_FILE,
  REMOVED_SUFFIX,
  type RemovedState,
  readHeir,
  removeExpired,
  removeFiles,
  takeRemoved,
} from './checkpoint-room.ts';
import { type Claim, claimSession, readHolder } from './session-claim.ts';
import { changeUnsaid, readUnsaid, UNSAID_SUFFIX, type UnsaidEntry } from './unsaid.ts';

/** In the state directory. */
export const CHECKPOINTS = 'checkpoints';
/** Names of what earlier bridges have left of `default` before the last one did, the newest first. Chosen: several may run at the same time. */
export const OLDER = ['previous-2', 'previous-3', 'previous-4'] as const;
const MAX_CELL_BYTES = 32;
/** A checkpoint that is not complete after so long belongs to no bridge that lives. Chosen: it may take 90 s. */
const MAX_TEMPORARY_AGE_MS = 60 * 60 * 1000;
/** In a folder of sessions that last: whose they are, because the name of the folder is a hash. */
const USER_FILE = 'user.json';
const MAX_USER_BYTES = 65_536;
const MARK = Buffer.from('mcpcp001');
const HASH_BYTES = 32;
const FOOTER_BYTES = 4 + HASH_BYTES + MARK.length;
const MAX_FACTS_BYTES = 1024 * 1024;
const READ_BYTES = 1024 * 1024;

const UserSchema = z.object({
  /** Absolute path of the project folder. */
  folder: z.string(),
  /** The name that the client gives itself, or `COMMAND_LINE`. */
  client: z.string(),
});

/** Whose the sessions are that last. */
export type SessionUser = z.infer<typeof UserSchema>;

/** The client of sessions that commands use. */
export const COMMAND_LINE = 'command-line';

const FactsSchema = z.object({
  session: z.string(),
  /** The last cell before it. */
  cell: z.int().nonnegative(),
  /** ISO 8601. */
  savedAt: z.string(),
  python: z.string(),
  engine: z.string(),
  variables: z.int().nonnegative(),
  /** Of variables and functions, at most `MAX_REPORTED_NAMES` of each. Earlier versions wrote none. */
  names: z.array(z.string()).optional(),
  files: z.int().nonnegative(),
  lost: z.array(z.object({ name: z.string(), reason: z.string() })),
  /** How many more are lost. */
  omitted: z.int().nonnegative().optional(),
  servers: z.array(z.string()),
});

/** What the host knows of a checkpoint. `names`, and names and reasons of `lost` come from the sandbox. */
export type CheckpointFacts = z.infer<typeof FactsSchema>;

/** A stored checkpoint, open for reading. */
export interface StoredCheckpoint {
  readonly facts: CheckpointFacts;
  read(offset: number, size: number): Promise<Buffer>;
  close(): Promise<void>;
}

/** A checkpoint that is being written. Call `commit` or `discard` once. */
export interface CheckpointWriter {
  restart(): Promise<void>;
  write(part: Buffer): Promise<void>;
  commit(facts: CheckpointFacts): Promise<void>;
  discard(): Promise<void>;
}

export class CheckpointStore {
  readonly #folder: string;
  readonly #logger: Logger;
  readonly #isOwn: boolean;
  readonly #user: SessionUser | undefined;

  #owned: Promise<void> | undefined;
  #isKept = false;

  /** `folder` is created with the first checkpoint. `isOwn`: it belongs to this process, and ends with it; else to `user`. */
  constructor(
    folder: string,
    logger: Logger,
    { isOwn, user }: { readonly isOwn: boolean; readonly user?: SessionUser },
  ) {
    this.#folder = folder;
    this.#logger = logger;
    this.#isOwn = isOwn;
    this.#user = user;
  }

  async begin(session: string): Promise<CheckpointWriter> {
    await this.#prepare();
    const path = this.#pathOf(session);
    const temporary = `${path}.${randomUUID()}${TEMPORARY_SUFFIX}`;
    const file = await openRegularFile(temporary, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL);
    const room = (bytes: number): Promise<void> => this.#makeRoom(session, bytes);
    return new Writer(file, temporary, path, room);
  }

  /** For the checkpoint with this key. Rejects if there is none. */
  async #makeRoom(key: string, bytes: number): Promise<void> {
    const [session = ''] = key.split('\n');
    const [target, main] = [this.#pathOf(key), this.#pathOf(session)];
    await makeRoom(dirname(this.#folder), { bytes, target, main });
  }

  /** What was removed of a session. Returns it once. */
  async takeRemoved(session: string): Promise<readonly RemovedState[]> {
    return takeRemoved(this.#pathOf(session));
  }

  /** Notes that a cell runs in the session, whether or not a checkpoint of it follows. */
  async noteCell(session: string, cell: number): Promise<void> {
    await writeFile(`${this.#pathOf(session)}${CELL_SUFFIX}`, String(cell), { mode: OWNER_ONLY_FILE });
  }

  /** The last cell that has run in the session, as far as it is noted; 0 if it is not. */
  async noted(session: string): Promise<number> {
    const text = await readBounded(`${this.#pathOf(session)}${CELL_SUFFIX}`, MAX_CELL_BYTES).then(String, () => '');
    return /^\d{1,15}$/.test(text) ? Number(text) : 0;
  }

  async forgetCell(session: string): Promise<void> {
    await rm(`${this.#pathOf(session)}${CELL_SUFFIX}`, { force: true }).catch((error: unknown) => this.#warn(error));
  }

  /** What no answer of a session has said. */
  unsaid(session: string): Promise<readonly UnsaidEntry[]> {
    return readUnsaid(this.#unsaidOf(session));
  }

  async changeUnsaid(
    session: string,
    change: (entries: readonly UnsaidEntry[]) => readonly UnsaidEntry[],
  ): Promise<void> {
    await changeUnsaid(this.#unsaidOf(session), change);
  }

  /** Moves it from another store. */
  async takeUnsaid(store: CheckpointStore, session: string): Promise<void> {
    const left = await store.unsaid(session);
    if (left.length > 0) {
      await this.changeUnsaid(session, (all) => [...all, ...left]);
      await store.changeUnsaid(session, () => []);
    }
  }

  #unsaidOf(session: string): string {
    return `${this.#pathOf(session)}${UNSAID_SUFFIX}`;
  }

  async #prepare(): Promise<void> {
    if (this.#isOwn) {
      this.#owned ??= this.#own().catch((error: unknown) => {
        this.#owned = undefined;
        throw error;
      });
      await this.#owned;
    }
    await ensureDirectory(this.#folder);
  }

  /** Undefined if there is none. Rejects if the file is not what was written. */
  async open(session: string): Promise<StoredCheckpoint | undefined> {
    const path = this.#pathOf(session);
    try {
      return await openCheckpoint(path);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
        return undefined;
      }
      throw damaged(path, messageOf(error));
    }
  }

  /** Removes the checkpoint of a session, if there is one. */
  async remove(session: string): Promise<void> {
    await removeFiles(this.#pathOf(session)).catch((error: unknown) => this.#warn(error));
  }

  /** Writes the checkpoint of a session to a new file. False if there is none; rejects if it is damaged, or if the file exists. */
  async exportTo(session: string, path: string): Promise<boolean> {
    const stored = await this.open(session);
    await stored?.close();
    if (stored !== undefined) {
      await copyFile(this.#pathOf(session), path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    }
    return stored !== undefined;
  }

  /** The process that has the session now. */
  async holder(session: string): Promise<{ readonly pid: number } | undefined> {
    return readHolder(`${this.#pathOf(session)}${CLAIM_SUFFIX}`);
  }

  /** Removes the checkpoint of a session and those that it has named. Rejects if that fails. */
  async removeAll(session: string): Promise<void> {
    const named = await this.#keys(`${session}\n`);
    for (const path of [session, ...named].map((key) => this.#pathOf(key))) {
      await removeFiles(path);
    }
    await takeRemoved(this.#pathOf(session));
    await this.changeUnsaid(session, () => []);
  }

  /** The newest checkpoint of each session, in no order. Damaged ones are left out. */
  async sessions(): Promise<readonly { readonly facts: CheckpointFacts; readonly bytes: number }[]> {
    const names = await readdir(this.#folder).catch((): string[] => []);
    const paths = names.filter((name) => name.endsWith(CHECKPOINT_SUFFIX)).map((name) => join(this.#folder, name));
    const found = await Promise.all(paths.map(async (path) => ({ path, read: await readFactsOf(path) })));
    // The file of a named checkpoint has the hash of another key than its session.
    return found.flatMap(({ path, read }) =>
      read !== undefined && path === this.#pathOf(read.facts.session) ? [read] : [],
    );
  }

  /** Whether anything of a session is stored: a checkpoint, even if it is damaged, or one that it has named. */
  async has(session: string): Promise<boolean> {
    const found = await lstat(this.#pathOf(session)).catch(() => undefined);
    return found !== undefined || (await this.#keys(`${session}\n`)).length > 0;
  }

  /** What is known about the checkpoint of a session; undefined if there is none. */
  async facts(session: string): Promise<CheckpointFacts | undefined> {
    return (await readFactsOf(this.#pathOf(session)))?.facts;
  }

  /**
   * Copies a checkpoint under a name, over another one if there is one. Rejects if the named ones of the session would then use more than
   * they may.
   */
  async copy(from: string, to: string): Promise<void> {
    await this.#prepare();
    const [session = ''] = to.split('\n');
    const others = (await this.#keys(`${session}\n`)).filter((key) => key !== to);
    const sizes = await Promise.all([from, ...others].map((key) => sizeOf(this.#pathOf(key))));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    if (bytes > MAX_NAMED_CHECKPOINTS_BYTES) {
      const names = others.map((key) => key.slice(session.length + 1)).toSorted();
      throw new Error(
        `the named checkpoints of the session would use ${counted(bytes, 'byte')}, and the limit is ` +
          `${counted(MAX_NAMED_CHECKPOINTS_BYTES, 'byte')}; use one of their names again: ${names.join(', ')}`,
      );
    }
    await this.#copyNamed(this, from, to);
  }

  async #copyNamed(store: CheckpointStore, from: string, to: string): Promise<void> {
    // First: without its key, a checkpoint belongs to no session, and `removeAll` would leave it.
    await this.#writeKey(to);
    await this.copyFrom(store, from, to);
  }

  async #writeKey(key: string): Promise<void> {
    await writeFile(`${this.#pathOf(key)}${KEY_SUFFIX}`, key, { mode: OWNER_ONLY_FILE });
  }

  /**
   * Copies a checkpoint of another store, over another one if there is one. What ran in the session until then is not missing from it,
   * because someone chose the copy.
   */
  async copyFrom(store: CheckpointStore, from: string, to: string): Promise<void> {
    const target = this.#pathOf(to);
    const temporary = `${target}.${randomUUID()}${TEMPORARY_SUFFIX}`;
    try {
      await this.#prepare();
      await this.#makeRoom(to, await sizeOf(store.#pathOf(from)));
      await copyFile(store.#pathOf(from), temporary, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
      await replaceFile(temporary, target);
      await this.forgetCell(to);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** Facts of the checkpoints whose key starts with this, the oldest first. Damaged ones are left out. */
  async list(prefix: string): Promise<readonly { readonly key: string; readonly facts: CheckpointFacts }[]> {
    const wanted = await this.#keys(prefix);
    const found = await Promise.all(wanted.map(async (key) => ({ key, read: await readFactsOf(this.#pathOf(key)) })));
    return found
      .flatMap(({ key, read }) => (read === undefined ? [] : [{ key, facts: read.facts }]))
      .toSorted((a, b) => a.facts.savedAt.localeCompare(b.facts.savedAt));
  }

  /** Keys of named checkpoints. */
  async #keys(prefix: string): Promise<string[]> {
    const names = (await readdir(this.#folder).catch(() => [])).filter((name) => name.endsWith(KEY_SUFFIX));
    const keys = await Promise.all(
      names.map((name) => readBounded(join(this.#folder, name), MAX_KEY_BYTES).catch(() => Buffer.alloc(0))),
    );
    return keys.map((key) => key.toString('utf8')).filter((key) => key.startsWith(prefix));
  }

  /** Says which store gets a session of this process if it is killed. */
  async leaveTo(heir: CheckpointStore): Promise<void> {
    await this.#prepare();
    await writeAtomically(join(this.#folder, HEIR_FILE), [basename(heir.#folder)], { isDurable: false });
  }

  /** Takes over a session of bridges that were killed, if theirs is newer, and removes what else they had. Never rejects. */
  async inherit(session: string): Promise<void> {
    const parent = dirname(this.#folder);
    for (const name of await readdir(parent).catch((): string[] => [])) {
      const dead = join(parent, name);
      if (
        (await readHeir(dead)) === basename(this.#folder) &&
        (await readHolder(join(dead, OWNER_FILE))) === undefined
      ) {
        const store = new CheckpointStore(dead, this.#logger, { isOwn: false });
        // Another bridge may do the same; then one of them finds nothing.
        await this.#takeOver(store, session).then(
          () => store.clear(),
          () => undefined,
        );
      }
    }
  }

  async #takeOver(store: CheckpointStore, session: string): Promise<void> {
    await this.takeUnsaid(store, session);
    const [left, mine] = [await store.facts(session), await this.facts(session)];
    if (left === undefined || left.variables + left.files === 0) {
      return;
    }
    const claim = await this.claim(session);
    if ('pid' in claim) {
      throw new Error(`process ${claim.pid} has the session`);
    }
    try {
      if (left.savedAt > (mine?.savedAt ?? '')) {
        await this.replaceLeft(store, session);
      } else {
        // Two bridges ran at the same time.
        await this.#shiftOlder(session);
        await this.#copyNamed(store, session, `${session}\n${OLDER[0]}`);
      }
    } finally {
      await claim.release();
    }
  }

  /** Takes over the state of a session that a bridge leaves. What another one has left stays, under a name. */
  async replaceLeft(store: CheckpointStore, session: string): Promise<void> {
    if ((await this.facts(session)) !== undefined) {
      await this.#shiftOlder(session);
      await this.copy(session, `${session}\n${OLDER[0]}`);
    }
    await this.#copyWithCell(store, session);
  }

  /** Makes room for the first of the names of what earlier bridges have left. What has the last is dropped. */
  async #shiftOlder(session: string): Promise<void> {
    const keys = OLDER.map((name) => `${session}\n${name}`);
    for (const [index, key] of [...keys.entries()].toReversed()) {
      const older = keys[index + 1];
      if (older !== undefined && (await this.facts(key)) !== undefined) {
        await this.#writeKey(older);
        await replaceFile(this.#pathOf(key), this.#pathOf(older));
      }
    }
  }

  /** Leaves everything to the next bridge, as if this one had been killed: `clear` does nothing from now on. */
  keepAll(): void {
    this.#isKept = true;
  }

  /** Copies the state of a session from another store, with the last cell that is noted of it. */
  async #copyWithCell(store: CheckpointStore, session: string): Promise<void> {
    const cell = await store.noted(session);
    await this.copyFrom(store, session, session);
    if (cell > 0) {
      await this.noteCell(session, cell);
    }
  }

  /** Removes every checkpoint. */
  async clear(): Promise<void> {
    if (this.#isKept) {
      return;
    }
    await rm(this.#folder, { recursive: true, force: true }).catch((error: unknown) => this.#warn(error));
  }

  #warn(error: unknown): void {
    this.#logger.warning(`cannot remove a checkpoint: ${messageOf(error)}`);
  }

  /**
   * Reserves a session for this process. The answer names the process that has it, if there is one. `isNew` is false if this process
   * may be writing a checkpoint of it.
   */
  async claim(session: string, { isNew = true } = {}): Promise<Claim | { readonly pid: number }> {
    await ensureDirectory(this.#folder);
    if (this.#user !== undefined) {
      await writeAtomically(join(this.#folder, USER_FILE), [JSON.stringify(this.#user)], { isDurable: false });
    }
    const path = this.#pathOf(session);
    const claim = await claimSession(`${path}${CLAIM_SUFFIX}`);
    if (isNew && !('pid' in claim)) {
      // What a bridge that was killed had begun to write.
      await this.#removeTemporary(basename(path));
    }
    return claim;
  }

  async #removeTemporary(start: string): Promise<void> {
    const names = (await readdir(this.#folder)).filter(
      (name) => name.startsWith(`${start}.`) && name.endsWith(TEMPORARY_SUFFIX),
    );
    await Promise.all(names.map((name) => rm(join(this.#folder, name), { force: true })));
  }

  /** Marks the folder as that of this process, for `sweepCheckpoints`. */
  async #own(): Promise<void> {
    await ensureDirectory(this.#folder);
    await claimSession(join(this.#folder, OWNER_FILE));
  }

  /** Removes the folder if it has long had nothing but the claims of processes that are gone. A session that begins makes it again. */
  async removeUnused(maxAgeMs: number): Promise<void> {
    const isOld = async (path: string): Promise<boolean> => {
      const stats = await lstat(path).catch(() => undefined);
      return stats !== undefined && Date.now() - stats.mtimeMs > maxAgeMs;
    };
    const isUnused = await isOld(this.#folder);
    const names = await readdir(this.#folder).catch((): string[] => []);
    for (const path of names.filter((name) => name.endsWith(CLAIM_SUFFIX)).map((name) => join(this.#folder, name))) {
      if ((await isOld(path)) && (await readHolder(path)) === undefined) {
        await rm(path, { force: true }).catch((error: unknown) => this.#warn(error));
      }
    }
    if (isUnused && names.every((name) => name === USER_FILE || name.endsWith(CLAIM_SUFFIX))) {
      await rm(join(this.#folder, USER_FILE), { force: true }).catch((error: unknown) => this.#warn(error));
      // If something has come meanwhile, it stays.
      await rmdir(this.#folder).catch(() => undefined);
    }
  }

  /** Removes what is too old of every session but the newest state of `own`. Resolves with the number of checkpoints. */
  async removeOld(own: string | undefined, maxAgeMs: number): Promise<number> {
    let count = 0;
    const mine = own === undefined ? '' : basename(this.#pathOf(own));
    for (const name of await readdir(this.#folder).catch((): string[] => [])) {
      const path = join(this.#folder, name);
      const stats = await lstat(path).catch(() => undefined);
      const isTemporary = name.endsWith(TEMPORARY_SUFFIX);
      const isOfOne = [CHECKPOINT_SUFFIX, CELL_SUFFIX, REMOVED_SUFFIX, UNSAID_SUFFIX].some((suffix) =>
        name.endsWith(suffix),
      );
      const limitMs = isTemporary ? Math.min(maxAgeMs, MAX_TEMPORARY_AGE_MS) : maxAgeMs;
      const isMine = mine !== '' && (name === mine || name === `${mine}${CELL_SUFFIX}`);
      if ((isTemporary || isOfOne) && !isMine && stats !== undefined && Date.now() - stats.mtimeMs > limitMs) {
        const isCheckpoint = name.endsWith(CHECKPOINT_SUFFIX);
        count += isCheckpoint ? 1 : 0;
        await (isCheckpoint ? removeExpired(path, stats.mtimeMs) : removeFiles(path)).catch((error: unknown) =>
          this.#warn(error),
        );
      }
    }
    return count;
  }

  /** Of a bridge that was killed, only the last state of `default` is left to the next one, which cannot reach the rest. */
  async keepOnlyDefault(): Promise<void> {
    const state = basename(this.#pathOf(DEFAULT_SESSION));
    const kept = [OWNER_FILE, HEIR_FILE, state, `${state}${CELL_SUFFIX}`, `${state}${UNSAID_SUFFIX}`];
    const names = await readdir(this.#folder).catch((): string[] => []);
    for (const name of names.filter((one) => !kept.includes(one))) {
      await rm(join(this.#folder, name), { force: true }).catch((error: unknown) => this.#warn(error));
    }
  }

  #pathOf(session: string): string {
    return checkpointPath(this.#folder, session);
  }
}

/** The checkpoints of sessions that last, one store for each user. */
export async function lastingStores(
  folder: string,
  logger: Logger,
): Promise<readonly { readonly user: SessionUser; readonly store: CheckpointStore }[]> {
  const names = await readdir(folder).catch((): string[] => []);
  const users = await Promise.all(names.map((name) => readUser(join(folder, name, USER_FILE))));
  return users
    .filter((user) => user !== undefined)
    .map((user) => ({ user, store: lastingStore(folder, user, logger) }));
}

/** Identifies a user: a client in a project folder. */
export function userKey({ client, folder }: SessionUser): string {
  return `${client}\n${folder}`;
}

/** The store of a user. */
export function lastingStore(folder: string, user: SessionUser, logger: Logger): CheckpointStore {
  const name = createHash('sha256').update(userKey(user)).digest('hex').slice(0, 32);
  return new CheckpointStore(join(folder, name), logger, { isOwn: false, user });
}

/** 0 if there is none. */
async function sizeOf(path: string): Promise<number> {
  return (await lstat(path).catch(() => undefined))?.size ?? 0;
}

async function readUser(path: string): Promise<SessionUser | undefined> {
  try {
    return UserSchema.parse(JSON.parse((await readBounded(path, MAX_USER_BYTES)).toString('utf8')));
  } catch {
    return undefined;
  }
}

/** A checkpoint in any file. Rejects if it is damaged. */
export async function openCheckpoint(path: string): Promise<StoredCheckpoint> {
  const file = await openRegularFile(path);
  try {
    const { facts, bytes } = await verify(file);
    return {
      facts,
      read: async (offset, size) => readAt(file, offset, Math.max(0, Math.min(size, bytes - offset))),
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Only the facts are read: code may ask for them often, and hashing all of it takes a second. */
async function readFactsOf(
  path: string,
): Promise<{ readonly facts: CheckpointFacts; readonly bytes: number } | undefined> {
  try {
    const file = await openRegularFile(path);
    try {
      return await readFacts(file);
    } finally {
      await file.close();
    }
  } catch {
    return undefined;
  }
}

/** Sweeps the checkpoints of the user and of every principal, also of those who do not come back. Never rejects. */
export async function sweepAllCheckpoints(stateDir: string, logger: Logger, maxAgeMs: number): Promise<void> {
  for (const { path } of await stateFolders(stateDir)) {
    await sweepCheckpoints(join(path, CHECKPOINTS), logger, maxAgeMs);
  }
}

/** Removes what bridges that were killed have kept for themselves, and of all projects what is too old. Never rejects. */
export async function sweepCheckpoints(folder: string, logger: Logger, maxAgeMs: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const owner = join(folder, name, OWNER_FILE);
    const isOwned = await lstat(owner).then(
      () => true,
      () => false,
    );
    const store = new CheckpointStore(join(folder, name), logger, { isOwn: false });
    const isLeft = (await readHeir(join(folder, name))) !== undefined;
    const isOver = isOwned && (await readHolder(owner)) === undefined;
    if (!isOwned || isLeft) {
      await store.removeOld(undefined, maxAgeMs);
    }
    if (!isOwned) {
      await store.removeUnused(maxAgeMs);
    }
    if (isOver && isLeft) {
      await store.keepOnlyDefault();
    }
    const hasWords = (await store.unsaid(DEFAULT_SESSION)).length > 0;
    if (isOver && !(isLeft && (hasWords || (await store.sessions()).length > 0))) {
      await store.clear();
    }
  }
}

class Writer implements CheckpointWriter {
  readonly #file: FileHandle;
  readonly #temporary: string;
  readonly #path: string;
  readonly #makeRoom: (bytes: number) => Promise<void>;
  #hash = createHash('sha256');
  #bytes = 0;

  constructor(file: FileHandle, temporary: string, path: string, room: (bytes: number) => Promise<void>) {
    this.#file = file;
    this.#temporary = temporary;
    this.#path = path;
    this.#makeRoom = room;
  }

  async restart(): Promise<void> {
    await this.#file.truncate(0);
    this.#hash = createHash('sha256');
    this.#bytes = 0;
  }

  async write(part: Buffer): Promise<void> {
    this.#hash.update(part);
    await writeAll(this.#file, part, this.#bytes);
    this.#bytes += part.length;
  }

  async commit(facts: CheckpointFacts): Promise<void> {
    try {
      const json = Buffer.from(JSON.stringify(facts));
      await this.write(json);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(json.length);
      const footer = Buffer.concat([length, this.#hash.update(length).digest(), MARK]);
      await writeAll(this.#file, footer, this.#bytes);
      await this.#file.close();
      await this.#makeRoom(this.#bytes);
      await replaceFile(this.#temporary, this.#path);
    } catch (error) {
      await this.discard();
      throw error;
    }
  }

  async discard(): Promise<void> {
    await this.#file.close().catch(() => undefined);
    await rm(this.#temporary, { force: true }).catch(() => undefined);
  }
}

async function writeAll(file: FileHandle, data: Buffer, position: number): Promise<void> {
  for (let done = 0; done < data.length; ) {
    const { bytesWritten } = await file.write(data, done, data.length - done, position + done);
    done += bytesWritten;
  }
}

/** At most `size` bytes; fewer at the end of the file. */
async function readAt(file: FileHandle, position: number, size: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(size);
  let done = 0;
  while (done < size) {
    const { bytesRead } = await file.read(buffer, done, size - done, position + done);
    if (bytesRead === 0) {
      break;
    }
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}

interface Content {
  readonly facts: CheckpointFacts;
  /** Length of what the sandbox wrote. */
  readonly bytes: number;
}

/** Of a whole file. Rejects if it was cut or changed. */
async function verify(file: FileHandle): Promise<Content> {
  const { footer, end } = await readFooter(file);
  const hash = createHash('sha256');
  for (let position = 0; position < end; position += READ_BYTES) {
    hash.update(await readAt(file, position, Math.min(READ_BYTES, end - position)));
  }
  if (
    !hash
      .update(footer.subarray(0, 4))
      .digest()
      .equals(footer.subarray(4, 4 + HASH_BYTES))
  ) {
    throw new Error('it was changed');
  }
  return readFacts(file);
}

async function readFacts(file: FileHandle): Promise<Content> {
  const { footer, end } = await readFooter(file);
  const bytes = end - footer.readUInt32BE();
  const json = await readAt(file, bytes, end - bytes);
  return { facts: FactsSchema.parse(JSON.parse(json.toString('utf8'))), bytes };
}

/** The footer, and where it begins. */
async function readFooter(file: FileHandle): Promise<{ readonly footer: Buffer; readonly end: number }> {
  const stats = await file.stat();
  refuseSecondLink(stats);
  if (stats.size < FOOTER_BYTES) {
    throw new Error('it was cut');
  }
  const end = stats.size - FOOTER_BYTES;
  const footer = await readAt(file, end, FOOTER_BYTES);
  if (!footer.subarray(4 + HASH_BYTES).equals(MARK)) {
    throw new Error('it was cut, or another version of the bridge wrote it');
  }
  const jsonBytes = footer.readUInt32BE();
  if (jsonBytes > MAX_FACTS_BYTES || jsonBytes > end) {
    throw new Error('it was changed');
  }
  return { footer, end };
}

function damaged(path: string, reason: string): Error {
  return new Error(`the checkpoint ${path} cannot be used: ${reason}`);
}
