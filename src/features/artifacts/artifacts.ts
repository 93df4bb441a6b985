/**
 * Files that code keeps with `runtime.save_artifact`, stored as `artifacts/<session>/<name>` in the state directory. A file
 * arrives in pieces and appears only when it is complete. Names come from a sandbox, so they are checked against a pattern
 * before they become part of a path, and links in the store are not followed. What is being saved counts against the limits, and
 * what nobody continues is removed.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import {
  MAX_ALL_ARTIFACTS,
  MAX_ALL_ARTIFACTS_BYTES,
  MAX_ARTIFACT_BYTES,
  MAX_ARTIFACT_TRANSFERS,
  MAX_ARTIFACTS_PER_SESSION,
  MAX_SESSION_ARTIFACTS_BYTES,
} from '../../core/base/limits.ts';
import { replaceFile } from '../../core/state/file-system.ts';
import { checkDirectory, ensureDirectory, openRegularFile, TEMPORARY_SUFFIX } from '../../core/state/state-files.ts';
import { SESSION_NAME_PATTERN } from '../../front/server/arguments.ts';

export interface Artifact {
  readonly session: string;
  readonly name: string;
  readonly sizeBytes: number;
  readonly modified: Date;
}

/** A piece of a file that is being saved. Pieces arrive in order, the first with offset 0. */
export interface ArtifactPiece {
  readonly session: string;
  readonly name: string;
  readonly offset: number;
  readonly data: Buffer;
  readonly isLast: boolean;
}

/** An artifact as it was when it was opened, even if it is replaced. */
export interface OpenArtifact {
  readonly sizeBytes: number;
  /** The same as long as nothing replaces it. */
  readonly version: string;
  /** Its content from the start, in pieces of `PIECE_BYTES`; the last one may be shorter. Rejects if it became shorter. */
  pieces(): AsyncGenerator<Buffer, void>;
  close(): Promise<void>;
}

/** Every rejection is a `BridgeError` with `ARTIFACT_UNKNOWN`, `CALL_REFUSED`, `LIMIT_ARTIFACT` or `STATE_WRITE_FAILED`. */
export interface Artifacts {
  /** Stores a piece. Resolves with the artifact after the last one; it then replaces an artifact of the same name. */
  write(piece: ArtifactPiece): Promise<Artifact | undefined>;
  /** At most `length` bytes starting at `offset`; fewer at the end of the file. */
  read(session: string, name: string, offset: number, length: number): Promise<{ data: Buffer; artifact: Artifact }>;
  open(session: string, name: string): Promise<OpenArtifact>;
  /** All artifacts, by session and name. At most `MAX_LIST_AGE_MS` old, unless this process saved one since. */
  list(): Promise<readonly Artifact[]>;
  /** Removes an artifact. Resolves with whether there was one. */
  remove(session: string, name: string): Promise<boolean>;
  /** Removes what a sandbox of the session has not finished saving. Never rejects. */
  endSession(session: string): Promise<void>;
  /** Does the same for every session. */
  close(): Promise<void>;
}

/** How long a list stays in memory: a sandbox can ask for it thousands of times per second. Chosen: nobody sees the delay. */
const MAX_LIST_AGE_MS = 250;
/** A transfer whose last piece is older belongs to a bridge that is gone. A folder that is empty for as long is removed. Chosen. */
const ABANDONED_MS = 600_000;

/** Chosen: reading and encoding one takes a millisecond. In base64, a multiple of 3 needs no padding. */
export const PIECE_BYTES = 3 * 64 * 1024;

/** File systems give a file whole blocks; most have this size. */
const BLOCK_BYTES = 4_096;

const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}\p{M} _.,()+@=~-]{0,119}$/u;
/** Names of devices on Windows, with any extension. */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

interface Transfer {
  readonly session: string;
  readonly name: string;
  readonly temporary: string;
  readonly nextOffset: number;
  /** What it counts as. */
  readonly diskBytes: number;
  /** The same for the other artifacts of the session. */
  readonly otherBytes: number;
}

/** What is in the store. */
interface Contents {
  readonly artifacts: readonly Artifact[];
  /** What all files take on disk, complete or not. */
  readonly diskBytes: number;
}

/** Of all artifacts together: what they take on disk, and their number. */
interface ArtifactLimits {
  readonly maxBytes: number;
  readonly maxCount: number;
  /** What those of one session take on disk, without the files that are being saved beside another. */
  readonly maxSessionBytes: number;
}

const LIMITS: ArtifactLimits = {
  maxBytes: MAX_ALL_ARTIFACTS_BYTES,
  maxCount: MAX_ALL_ARTIFACTS,
  maxSessionBytes: MAX_SESSION_ARTIFACTS_BYTES,
};

export function createArtifacts(stateDir: string, limits: ArtifactLimits = LIMITS): Artifacts {
  return new ArtifactFolder(join(stateDir, 'artifacts'), limits);
}

class ArtifactFolder implements Artifacts {
  readonly #root: string;
  readonly #limits: ArtifactLimits;
  /** By session and name, the one that got a piece last at the end. A transfer that starts again drops the previous one. */
  readonly #transfers = new Map<string, Transfer>();
  /** The last write of each session: pieces of one session are written one after the other. */
  readonly #writes = new Map<string, Promise<unknown>>();
  #contents: Promise<Contents> | undefined;
  #readAt = 0;
  /** What all files take on disk: as read last, with what was written since. */
  #usedBytes = 0;

  constructor(root: string, limits: ArtifactLimits) {
    this.#root = root;
    this.#limits = limits;
  }

  write(piece: ArtifactPiece): Promise<Artifact | undefined> {
    return this.#inTurn(piece.session, () => this.#write(piece));
  }

  async #write(piece: ArtifactPiece): Promise<Artifact | undefined> {
    const { session, name, offset, data } = piece;
    checkNames(session, name);
    try {
      checkSize(name, offset + data.length);
      return await this.#take(piece);
    } catch (error) {
      await this.#drop(keyOf(piece)).catch(() => undefined);
      throw error instanceof BridgeError ? error : writeFailed(this.#root, error);
    }
  }

  async read(session: string, name: string, offset: number, length: number) {
    checkNames(session, name);
    try {
      const artifact = await describe(this.#root, session, name);
      return { data: await readPart(join(this.#root, session, name), offset, length), artifact };
    } catch (error) {
      throw unknownArtifact(session, name, error);
    }
  }

  async open(session: string, name: string): Promise<OpenArtifact> {
    checkNames(session, name);
    try {
      return await openArtifact(join(this.#root, session, name));
    } catch (error) {
      throw unknownArtifact(session, name, error);
    }
  }

  async remove(session: string, name: string): Promise<boolean> {
    if (!SESSION_NAME_PATTERN.test(session) || !isName(name)) {
      return false;
    }
    const there = await describe(this.#root, session, name).catch(() => undefined);
    if (there === undefined) {
      return false;
    }
    try {
      await checkDirectory(join(this.#root, session));
      await rm(join(this.#root, session, name));
    } catch (error) {
      throw new BridgeError('STATE_WRITE_FAILED', `'${name}' could not be removed: ${messageOf(error)}`, {
        hint: 'Make the folder writable.',
        cause: error,
      });
    }
    this.#contents = undefined;
    return true;
  }

  async list(): Promise<readonly Artifact[]> {
    return (await this.#look()).artifacts;
  }

  async endSession(session: string): Promise<void> {
    // If a file cannot be removed, a later bridge does it.
    await this.#inTurn(session, () => Promise.allSettled(this.#openOf(session).map((one) => this.#drop(keyOf(one)))));
  }

  async close(): Promise<void> {
    const sessions = new Set([...this.#writes.keys(), ...[...this.#transfers.values()].map(({ session }) => session)]);
    await Promise.all([...sessions].map((session) => this.endSession(session)));
  }

  /** The transfers of a session, the one that got a piece last at the end. */
  #openOf(session: string): Transfer[] {
    return [...this.#transfers.values()].filter(isOf(session));
  }

  /** Runs `write` after the earlier writes of the session. */
  async #inTurn<Value>(session: string, write: () => Promise<Value>): Promise<Value> {
    const last = (this.#writes.get(session) ?? Promise.resolve()).then(write, write);
    this.#writes.set(session, last);
    try {
      return await last;
    } finally {
      if (this.#writes.get(session) === last) {
        this.#writes.delete(session);
      }
    }
  }

  /** The store, read again if that is too long ago. All who ask meanwhile share one reading. */
  #look(): Promise<Contents> {
    if (this.#contents === undefined || performance.now() - this.#readAt > MAX_LIST_AGE_MS) {
      this.#readAt = performance.now();
      this.#contents = this.#read();
    }
    return this.#contents;
  }

  async #read(): Promise<Contents> {
    const sessions = (await namesIn(this.#root)).filter((session) => SESSION_NAME_PATTERN.test(session));
    const wanted = new Set([...this.#transfers.values()].map(({ temporary }) => temporary));
    const found: Contents[] = [];
    // One session after the other: a store of 100,000 files must not take all threads of the process.
    for (const session of sessions) {
      found.push(await lookInSession(this.#root, session, wanted));
    }
    const diskBytes = found.reduce((sum, each) => sum + each.diskBytes, 0);
    this.#usedBytes = diskBytes;
    return { artifacts: found.flatMap(({ artifacts }) => artifacts), diskBytes };
  }

  async #take(piece: ArtifactPiece): Promise<Artifact | undefined> {
    const { session, name, offset, data, isLast } = piece;
    const transfer = offset === 0 ? await this.#begin(piece) : this.#transfers.get(keyOf(piece));
    if (transfer?.nextOffset !== offset) {
      throw new BridgeError(
        'CALL_REFUSED',
        `a piece of '${name}' arrived out of order; was the artifact saved twice at the same time?`,
      );
    }
    const diskBytes = onDisk(offset + data.length);
    this.#checkShare(transfer, diskBytes);
    this.#checkQuota(diskBytes - transfer.diskBytes);
    this.#transfers.delete(keyOf(piece));
    this.#transfers.set(keyOf(piece), { ...transfer, nextOffset: offset + data.length, diskBytes });
    await append(transfer.temporary, data, offset);
    if (!isLast) {
      return undefined;
    }
    await replaceFile(transfer.temporary, join(this.#root, session, name));
    this.#transfers.delete(keyOf(piece));
    const saved = await describe(this.#root, session, name);
    // Reading the store again for each of 1,000 small artifacts would take seconds.
    this.#contents = this.#contents?.then((known) => withArtifact(known, saved));
    return saved;
  }

  async #begin(piece: ArtifactPiece): Promise<Transfer> {
    const folder = join(this.#root, piece.session);
    await this.#drop(keyOf(piece));
    const { session, name } = piece;
    const { artifacts } = await this.#look();
    const others = this.#openOf(session);
    const own = artifacts.filter(isOf(session));
    // A replacement is none more, even of one that is being saved.
    if (![...own, ...others].some((each) => each.name === name)) {
      checkRoom(folder, own.length + others.length);
      this.#checkCount(artifacts.length + this.#transfers.size);
    }
    // Not before: a session that may save nothing leaves no folder.
    await ensureDirectory(this.#root);
    await ensureDirectory(folder);
    const oldest = others[0];
    if (others.length >= MAX_ARTIFACT_TRANSFERS && oldest !== undefined) {
      await this.#drop(keyOf(oldest));
    }
    const temporary = join(folder, `.${randomUUID()}${TEMPORARY_SUFFIX}`);
    const kept = own.filter((each) => each.name !== name);
    const otherBytes = kept.reduce((sum, { sizeBytes }) => sum + onDisk(sizeBytes), 0);
    const transfer = { session, name, temporary, nextOffset: 0, diskBytes: 0, otherBytes };
    this.#transfers.set(keyOf(piece), transfer);
    return transfer;
  }

  /** One session must not take all of it from the others. */
  #checkShare({ otherBytes, session }: Transfer, bytes: number): void {
    const { maxSessionBytes } = this.#limits;
    if (otherBytes + bytes > maxSessionBytes) {
      const [used, limit] = [otherBytes, maxSessionBytes].map((number) => number.toLocaleString('en-US'));
      const message = `the artifacts of this session take ${used} bytes on disk already; its limit is ${limit} bytes`;
      const hint = `Reuse the name of one that is no longer needed, or ask the user to remove files from ${join(this.#root, session)}.`;
      throw new BridgeError('LIMIT_ARTIFACT', message, { hint });
    }
  }

  /** Counts what is about to be taken on disk. */
  #checkQuota(bytes: number): void {
    const { maxBytes } = this.#limits;
    if (this.#usedBytes + bytes > maxBytes) {
      const [used, limit] = [this.#usedBytes, maxBytes].map((number) => number.toLocaleString('en-US'));
      const message = `all artifacts take ${used} bytes on disk already; the limit is ${limit} bytes`;
      throw new BridgeError('LIMIT_ARTIFACT', message, { hint: `Ask the user to remove files from ${this.#root}.` });
    }
    this.#usedBytes += bytes;
  }

  /** Names of sessions are free, so the limit of each one bounds nothing. */
  #checkCount(count: number): void {
    const { maxCount } = this.#limits;
    if (count >= maxCount) {
      const message = `all sessions together have ${maxCount.toLocaleString('en-US')} artifacts, which is the limit`;
      const hint = `Reuse the name of one that is no longer needed, or ask the user to remove files from ${this.#root}.`;
      throw new BridgeError('LIMIT_ARTIFACT', message, { hint });
    }
  }

  async #drop(key: string): Promise<void> {
    const old = this.#transfers.get(key);
    this.#transfers.delete(key);
    if (old !== undefined) {
      await rm(old.temporary, { force: true });
      this.#usedBytes -= old.diskBytes;
    }
  }
}

function withArtifact({ artifacts, diskBytes }: Contents, saved: Artifact): Contents {
  const others = artifacts.filter((each) => keyOf(each) !== keyOf(saved));
  const at = others.findIndex(({ session, name }) =>
    session === saved.session ? name > saved.name : session > saved.session,
  );
  return { artifacts: others.toSpliced(at === -1 ? others.length : at, 0, saved), diskBytes };
}

/** 12,000 files of one byte take 48 MB, and not 12 KB. */
function onDisk(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / BLOCK_BYTES)) * BLOCK_BYTES;
}

/** Looks at each file. Removes files of abandoned transfers; those in `wanted` are not. Removes a folder that has long been empty. */
async function lookInSession(root: string, session: string, wanted: ReadonlySet<string>): Promise<Contents> {
  const names = await namesIn(join(root, session));
  const found = await Promise.all(names.map((name) => describe(root, session, name).catch(() => undefined)));
  const files = found.filter((file) => file !== undefined);
  if (names.length === 0) {
    await removeIfOld(join(root, session));
  }
  const abandoned = files.filter((file) => isAbandoned(file) && !wanted.has(pathOf(root, file)));
  await Promise.all(abandoned.map((file) => rm(pathOf(root, file), { force: true }).catch(() => undefined)));
  return {
    artifacts: files.filter(({ name }) => isName(name)),
    diskBytes: files.reduce((sum, file) => sum + (abandoned.includes(file) ? 0 : onDisk(file.sizeBytes)), 0),
  };
}

/** Not a new one: a file may be about to come. */
async function removeIfOld(folder: string): Promise<void> {
  const stats = await lstat(folder).catch(() => undefined);
  if (stats?.isDirectory() === true && Date.now() - stats.mtimeMs > ABANDONED_MS) {
    await rmdir(folder).catch(() => undefined);
  }
}

function isAbandoned({ name, modified }: Artifact): boolean {
  return name.startsWith('.') && name.endsWith(TEMPORARY_SUFFIX) && Date.now() - modified.getTime() > ABANDONED_MS;
}

function pathOf(root: string, { session, name }: Artifact): string {
  return join(root, session, name);
}

function isOf(wanted: string): (file: { readonly session: string }) => boolean {
  return ({ session }) => session === wanted;
}

async function describe(root: string, session: string, name: string): Promise<Artifact> {
  const stats = await lstat(join(root, session, name));
  if (!stats.isFile()) {
    throw new Error('it is not a regular file');
  }
  return { session, name, sizeBytes: stats.size, modified: stats.mtime };
}

async function append(path: string, data: Buffer, offset: number): Promise<void> {
  const create = offset === 0 ? constants.O_CREAT | constants.O_EXCL : 0;
  const file = await openRegularFile(path, constants.O_WRONLY | create);
  try {
    await file.write(data, 0, data.length, offset);
  } finally {
    await file.close();
  }
}

async function readPart(path: string, offset: number, length: number): Promise<Buffer> {
  const file = await openRegularFile(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function openArtifact(path: string): Promise<OpenArtifact> {
  const file = await openRegularFile(path);
  const { ino, mtimeMs, size } = await file.stat();
  return {
    sizeBytes: size,
    version: [ino, mtimeMs, size].join('-'),
    async *pieces() {
      for (let offset = 0; offset < size; offset += PIECE_BYTES) {
        const wanted = Math.min(PIECE_BYTES, size - offset);
        const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, offset);
        if (bytesRead < wanted) {
          throw new Error('the artifact became shorter while it was read');
        }
        yield buffer;
      }
    },
    close: () => file.close(),
  };
}

function unknownArtifact(session: string, name: string, cause: unknown): BridgeError {
  return new BridgeError('ARTIFACT_UNKNOWN', `session '${session}' has saved no artifact '${name}'`, {
    hint: 'runtime.list_artifacts() lists the artifacts of all sessions.',
    cause,
  });
}

/** Sorted; empty if there is no such directory. */
async function namesIn(directory: string): Promise<string[]> {
  try {
    await checkDirectory(directory);
    return (await readdir(directory)).toSorted();
  } catch {
    return [];
  }
}

function checkRoom(folder: string, count: number): void {
  if (count >= MAX_ARTIFACTS_PER_SESSION) {
    const limit = MAX_ARTIFACTS_PER_SESSION.toLocaleString('en-US');
    throw new BridgeError('LIMIT_ARTIFACT', `this session already has ${limit} artifacts, which is the limit`, {
      hint: `Reuse the name of an artifact that is no longer needed, or remove files from ${folder}.`,
    });
  }
}

function checkNames(session: string, name: string): void {
  if (!SESSION_NAME_PATTERN.test(session) || !isName(name)) {
    const shown = JSON.stringify(name.slice(0, 80)).slice(1, -1).replaceAll('\\"', '"');
    throw new BridgeError('CALL_REFUSED', `an artifact cannot have the name '${shown}'`, {
      hint: "Use up to 120 letters, digits and '_.-', such as report.csv, without folders and without a dot at the start or end.",
    });
  }
}

function isName(name: string): boolean {
  return NAME.test(name) && !DEVICE_NAME.test(name) && !/[. ]$/.test(name);
}

function checkSize(name: string, bytes: number): void {
  if (bytes > MAX_ARTIFACT_BYTES) {
    const limit = MAX_ARTIFACT_BYTES.toLocaleString('en-US');
    throw new BridgeError('LIMIT_ARTIFACT', `'${name}' is larger than ${limit} bytes, the limit for an artifact`, {
      hint: 'Save it in parts, or compress it.',
    });
  }
}

function keyOf({ session, name }: { readonly session: string; readonly name: string }): string {
  return `${session}/${name}`;
}

function writeFailed(root: string, cause: unknown): BridgeError {
  return new BridgeError('STATE_WRITE_FAILED', `the artifact could not be written to ${root}: ${messageOf(cause)}`, {
    hint: 'Free disk space, make the directory writable, or set MCP_BRIDGE_STATE_DIR to one that is.',
    cause,
  });
}
