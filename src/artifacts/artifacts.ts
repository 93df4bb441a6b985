/**
 * Files that code keeps with `runtime.save_artifact`, stored as `artifacts/<session>/<name>` in the state directory. A file
 * arrives in pieces and appears only when it is complete. Names come from a sandbox, so they are checked against a pattern
 * before they become part of a path, and links in the store are not followed.
 */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BridgeError, messageOf } from '../base/errors.ts';
import { MAX_ARTIFACT_BYTES, MAX_ARTIFACTS_PER_SESSION } from '../base/limits.ts';
import { SESSION_NAME_PATTERN } from '../server/arguments.ts';
import { replaceFile } from '../state/file-system.ts';
import { checkDirectory, ensureDirectory, TEMPORARY_SUFFIX } from '../state/state-files.ts';

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

/** Every rejection is a `BridgeError` with `CALL_REFUSED`, `LIMIT_ARTIFACT` or `STATE_WRITE_FAILED`. */
export interface Artifacts {
  /** Stores a piece. Resolves with the artifact after the last one; it then replaces an artifact of the same name. */
  write(piece: ArtifactPiece): Promise<Artifact | undefined>;
  /** At most `length` bytes starting at `offset`; fewer at the end of the file. */
  read(session: string, name: string, offset: number, length: number): Promise<{ data: Buffer; artifact: Artifact }>;
  /** All artifacts, by session and name. */
  list(): Promise<Artifact[]>;
}

const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}\p{M} _.,()+@=~-]{0,119}$/u;
/** Names of devices on Windows, with any extension. */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;
const OWNER_ONLY_FILE = 0o600;
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

interface Transfer {
  readonly temporary: string;
  readonly nextOffset: number;
}

export function createArtifacts(stateDir: string): Artifacts {
  return new ArtifactFolder(join(stateDir, 'artifacts'));
}

class ArtifactFolder implements Artifacts {
  readonly #root: string;
  /** By session and name. A transfer that starts again drops the previous one. */
  readonly #transfers = new Map<string, Transfer>();

  constructor(root: string) {
    this.#root = root;
  }

  async write(piece: ArtifactPiece): Promise<Artifact | undefined> {
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
      throw new BridgeError('CALL_REFUSED', `there is no artifact '${name}' of session '${session}'`, {
        hint: 'runtime.list_artifacts() lists all artifacts.',
        cause: error,
      });
    }
  }

  async list(): Promise<Artifact[]> {
    const sessions = (await namesIn(this.#root)).filter((session) => SESSION_NAME_PATTERN.test(session));
    const lists = await Promise.all(sessions.map((session) => listSession(this.#root, session)));
    return lists.flat();
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
    await append(transfer.temporary, data, offset);
    if (!isLast) {
      this.#transfers.set(keyOf(piece), { ...transfer, nextOffset: offset + data.length });
      return undefined;
    }
    this.#transfers.delete(keyOf(piece));
    await replaceFile(transfer.temporary, join(this.#root, session, name));
    return describe(this.#root, session, name);
  }

  async #begin(piece: ArtifactPiece): Promise<Transfer> {
    const folder = join(this.#root, piece.session);
    await this.#drop(keyOf(piece));
    await ensureDirectory(this.#root);
    await ensureDirectory(folder);
    await checkRoom(folder, piece.name);
    const transfer = { temporary: join(folder, `.${randomUUID()}${TEMPORARY_SUFFIX}`), nextOffset: 0 };
    this.#transfers.set(keyOf(piece), transfer);
    return transfer;
  }

  async #drop(key: string): Promise<void> {
    const old = this.#transfers.get(key);
    this.#transfers.delete(key);
    if (old !== undefined) {
      await rm(old.temporary, { force: true });
    }
  }
}

async function listSession(root: string, session: string): Promise<Artifact[]> {
  const names = (await namesIn(join(root, session))).filter(isName);
  const found = await Promise.all(names.map((name) => describe(root, session, name).catch(() => undefined)));
  return found.filter((artifact) => artifact !== undefined);
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
  const file = await open(path, constants.O_WRONLY | NO_FOLLOW | create, OWNER_ONLY_FILE);
  try {
    await file.write(data, 0, data.length, offset);
  } finally {
    await file.close();
  }
}

async function readPart(path: string, offset: number, length: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | NO_FOLLOW);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
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

async function checkRoom(folder: string, name: string): Promise<void> {
  const names = (await namesIn(folder)).filter(isName);
  if (!names.includes(name) && names.length >= MAX_ARTIFACTS_PER_SESSION) {
    const limit = MAX_ARTIFACTS_PER_SESSION.toLocaleString('en-US');
    throw new BridgeError('LIMIT_ARTIFACT', `this session already has ${limit} artifacts, which is the limit`, {
      hint: `Reuse the name of an artifact that is no longer needed, or remove files from ${folder}.`,
    });
  }
}

function checkNames(session: string, name: string): void {
  if (!SESSION_NAME_PATTERN.test(session) || !isName(name)) {
    const shown = JSON.stringify(name.slice(0, 80));
    throw new BridgeError('CALL_REFUSED', `an artifact cannot have the name ${shown}`, {
      hint: 'Use up to 120 letters, digits and "_.-", such as report.csv, without folders and without a dot at the start or end.',
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

function keyOf({ session, name }: ArtifactPiece): string {
  return `${session}/${name}`;
}

function writeFailed(root: string, cause: unknown): BridgeError {
  return new BridgeError('STATE_WRITE_FAILED', `the artifact could not be written to ${root}: ${messageOf(cause)}`, {
    hint: 'Free disk space, make the directory writable, or set MCP_BRIDGE_STATE_DIR to one that is.',
    cause,
  });
}
