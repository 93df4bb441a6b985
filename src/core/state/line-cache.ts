/**
 * Caches lines of text between runs of the bridge, with one file per server definition in the state directory. Files are named
 * by a keyed hash, so that their names reveal nothing about commands, arguments or variables. A file with any defect counts as
 * missing; a checksum detects incomplete ones.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { createPause } from '../base/slices.ts';
import { ensureDirectory, readBounded, TEMPORARY_SUFFIX, writeAtomically } from './state-files.ts';

const KEY_FILE = 'key';
const KEY_BYTES = 32;
const EXTENSION = '.jsonl';
const NEWLINE = 0x0a;
const DAY_MS = 24 * 60 * 60 * 1000;
/** Files that were not used for this long are deleted. Chosen. */
const MAX_AGE_MS = 90 * DAY_MS;
/** The same for incomplete files that a killed bridge left behind. */
const MAX_TEMPORARY_AGE_MS = 60 * 60 * 1000;

export interface LineCacheOptions {
  readonly directory: string;
  /** Version of the line format; files with another version count as missing. */
  readonly format: number;
  /** Larger files count as missing. */
  readonly maxFileBytes: number;
}

export class LineCache {
  readonly #options: LineCacheOptions;
  /** Checksums of the known content of files. */
  readonly #written = new Map<string, string>();
  #key: Buffer | undefined;
  #making: Promise<Buffer> | undefined;
  #hasSwept = false;

  constructor(options: LineCacheOptions) {
    this.#options = options;
  }

  /** The lines stored for `id`; undefined if there are none. Rejects if the file is unusable. */
  async load(id: string): Promise<readonly Buffer[] | undefined> {
    const key = await this.#findKey();
    if (key === undefined) {
      return undefined;
    }
    const file = this.#fileOf(id, key);
    const content = await ifThere(() => readBounded(file, this.#options.maxFileBytes));
    if (content === undefined) {
      return undefined;
    }
    const { lines, checksum } = await readLines(content, this.#options.format);
    this.#written.set(file, checksum);
    await noteUse(file);
    return lines;
  }

  /** Stores lines, each of which ends with a line feed. Rejects if they cannot be written. */
  async save(id: string, lines: readonly string[]): Promise<void> {
    const { directory, format } = this.#options;
    const checksum = await checksumOf(lines);
    await ensureDirectory(directory);
    const file = this.#fileOf(id, (await this.#findKey()) ?? (await this.#makeKey()));
    if (this.#written.get(file) !== checksum) {
      const header = `${JSON.stringify({ format, sha256: checksum })}\n`;
      // If the machine crashes, the checksum shows that the file is incomplete.
      await writeAtomically(file, [header, ...lines], { isDurable: false });
      this.#written.set(file, checksum);
    }
    if (!this.#hasSwept) {
      this.#hasSwept = true;
      await sweep(directory);
    }
  }

  /** Deletes the lines stored for `id`, if any. Rejects if they cannot be deleted. */
  async remove(id: string): Promise<void> {
    const key = await this.#findKey();
    if (key !== undefined) {
      const file = this.#fileOf(id, key);
      this.#written.delete(file);
      await rm(file, { force: true });
    }
  }

  /** Undefined if there is none yet. */
  async #findKey(): Promise<Buffer | undefined> {
    if (this.#key === undefined) {
      const found = await readKey(this.#options.directory);
      // Another save may have created one in the meantime.
      this.#key ??= found;
    }
    return this.#key;
  }

  /** One key for all concurrent callers: files under any other key would not be found again. */
  async #makeKey(): Promise<Buffer> {
    this.#making ??= makeKey(this.#options.directory);
    try {
      const made = await this.#making;
      this.#key ??= made;
      return this.#key;
    } finally {
      this.#making = undefined;
    }
  }

  #fileOf(id: string, key: Buffer): string {
    return join(this.#options.directory, createHmac('sha256', key).update(id).digest('hex') + EXTENSION);
  }
}

/** The key of this directory; undefined if there is none or it is damaged. */
async function readKey(directory: string): Promise<Buffer | undefined> {
  const text = await ifThere(() => readBounded(join(directory, KEY_FILE), KEY_BYTES * 2));
  const key = Buffer.from(text?.toString('latin1') ?? '', 'hex');
  return key.length === KEY_BYTES ? key : undefined;
}

/** A new key makes all stored files unreachable. If two bridges create a key at once, the files of one of them are lost. */
async function makeKey(directory: string): Promise<Buffer> {
  const key = randomBytes(KEY_BYTES);
  await writeAtomically(join(directory, KEY_FILE), [key.toString('hex')]);
  return (await readKey(directory)) ?? key;
}

async function checksumOf(lines: readonly string[]): Promise<string> {
  const pause = createPause();
  const hash = createHash('sha256');
  for (const line of lines) {
    hash.update(line);
    await pause();
  }
  return hash.digest('hex');
}

async function readLines(content: Buffer, format: number): Promise<{ lines: Buffer[]; checksum: string }> {
  const pause = createPause();
  const hash = createHash('sha256');
  const lines: Buffer[] = [];
  const bodyStart = content.indexOf(NEWLINE) + 1;
  const { format: written, sha256 } = JSON.parse(content.toString('latin1', 0, bodyStart)) as Record<string, unknown>;
  if (written !== format || typeof sha256 !== 'string') {
    throw new Error('it was written by another version');
  }
  for (let start = bodyStart; start < content.length; ) {
    const end = content.indexOf(NEWLINE, start) + 1 || content.length;
    const line = content.subarray(start, end);
    hash.update(line);
    lines.push(line);
    start = end;
    await pause();
  }
  if (hash.digest('hex') !== sha256) {
    throw new Error('its checksum is wrong');
  }
  return { lines, checksum: sha256 };
}

/** The sweep checks the time of the last write, so reading a file must update it. */
async function noteUse(file: string): Promise<void> {
  const { mtimeMs } = await stat(file);
  if (Date.now() - mtimeMs > DAY_MS) {
    const now = new Date();
    // In a read-only directory, the sweep cannot delete anything either.
    await utimes(file, now, now).catch(() => undefined);
  }
}

async function sweep(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const file = join(directory, name);
    const maxAgeMs = maxAgeOf(name);
    const found = await ifThere(() => stat(file));
    if (found !== undefined && Date.now() - found.mtimeMs > maxAgeMs) {
      await rm(file, { force: true });
    }
  }
}

function maxAgeOf(name: string): number {
  if (name.endsWith(TEMPORARY_SUFFIX)) {
    return MAX_TEMPORARY_AGE_MS;
  }
  return name.endsWith(EXTENSION) ? MAX_AGE_MS : Number.POSITIVE_INFINITY;
}

async function ifThere<Value>(look: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await look();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}
