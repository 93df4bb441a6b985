/**
 * The wheels that were fetched for the embedded engine, in the state directory, named by their SHA-256. The host writes and reads
 * their bytes; only sandboxes unpack them.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../../../core/state/file-system.ts';
import { ensureDirectory, openRegularFile, writeAtomically } from '../../../core/state/state-files.ts';

export interface WheelLimits {
  readonly maxBytes: number;
  /** Since a wheel was used; 0 for no limit. */
  readonly maxAgeMs: number;
  /** SHA-256 of wheels that stay. */
  readonly kept: ReadonlySet<string>;
}

const EXTENSION = '.whl';

export class WheelFolder {
  readonly #stateDir: string;
  readonly #directory: string;
  readonly #operators: WheelFolder | undefined;

  /** @param operatorsDir Where the operator's wheels are, which need not be fetched; undefined if these are the operator's. */
  constructor(stateDir: string, operatorsDir?: string) {
    this.#stateDir = stateDir;
    this.#directory = join(stateDir, 'packages', 'wheels');
    this.#operators = operatorsDir === undefined ? undefined : new WheelFolder(operatorsDir);
  }

  /** Copies a wheel of the operator. Resolves with whether there was one of that content. */
  async copyFromOperator(sha256: string, maxBytes: number): Promise<boolean> {
    const found = await this.#operators?.read(sha256, 0, maxBytes);
    if (found === undefined || found.data.length < found.size || sha256Of(found.data) !== sha256) {
      return false;
    }
    await this.write(sha256, found.data);
    return true;
  }

  async has(sha256: string): Promise<boolean> {
    const found = await stat(this.#fileOf(sha256)).catch(() => undefined);
    return found?.isFile() === true;
  }

  /** The wheel is complete on disk when this resolves. Rejects with the error of the file system. */
  async write(sha256: string, bytes: Buffer): Promise<void> {
    await makeFolders(this.#stateDir);
    await ensureDirectory(join(this.#stateDir, 'packages'));
    await ensureDirectory(this.#directory);
    await writeAtomically(this.#fileOf(sha256), [bytes]);
  }

  /** At most `length` bytes from `offset`, and the size of the wheel; undefined if it is gone. Notes that it was used. */
  async read(sha256: string, offset: number, length: number): Promise<{ data: Buffer; size: number } | undefined> {
    const path = this.#fileOf(sha256);
    const file = await openRegularFile(path, constants.O_RDONLY).catch(() => undefined);
    if (file === undefined) {
      return undefined;
    }
    try {
      const { size } = await file.stat();
      const data = Buffer.alloc(Math.max(0, Math.min(length, size - offset)));
      const { bytesRead } = await file.read(data, 0, data.length, offset);
      await noteUse(path, offset);
      return { data: data.subarray(0, bytesRead), size };
    } finally {
      await file.close();
    }
  }

  /** Removes what is too old, then what was used least recently, until the rest fits. Resolves with the bytes of the rest. */
  async prune({ kept, maxAgeMs, maxBytes }: WheelLimits): Promise<number> {
    const all = await this.#list();
    let left = all.reduce((sum, { size }) => sum + size, 0);
    const oldestMs = maxAgeMs === 0 ? 0 : Date.now() - maxAgeMs;
    for (const { path, sha256, size, usedAtMs } of all) {
      if (!kept.has(sha256) && (usedAtMs < oldestMs || left > maxBytes)) {
        // biome-ignore lint/performance/noAwaitInLoops: few, and the order matters.
        await rm(path, { force: true });
        left -= size;
      }
    }
    return left;
  }

  /** The least recently used first. */
  async #list() {
    const names = (await readdir(this.#directory).catch((): string[] => [])).filter((name) => name.endsWith(EXTENSION));
    const found = names.map(async (name) => {
      const sha256 = name.slice(0, -EXTENSION.length);
      const path = this.#fileOf(sha256);
      const facts = await stat(path).catch(() => undefined);
      return facts === undefined ? [] : [{ path, sha256, size: facts.size, usedAtMs: facts.mtimeMs }];
    });
    return (await Promise.all(found)).flat().toSorted((one, other) => one.usedAtMs - other.usedAtMs);
  }

  #fileOf(sha256: string): string {
    return join(this.#directory, sha256 + EXTENSION);
  }
}

/** Once for each reader. */
async function noteUse(path: string, offset: number): Promise<void> {
  if (offset === 0) {
    const now = new Date();
    await utimes(path, now, now).catch(() => undefined);
  }
}

/** The SHA-256 of a wheel, in hexadecimal. */
export function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
