/**
 * The wheels that were fetched for the embedded engine, in the state directory, named by their SHA-256. The host writes and reads
 * their bytes; only sandboxes unpack them.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../../state/file-system.ts';
import { ensureDirectory, openRegularFile, writeAtomically } from '../../state/state-files.ts';

export interface WheelFolder {
  has(sha256: string): Promise<boolean>;
  /** Complete on disk when it resolves. Rejects with the error of the file system. */
  write(sha256: string, bytes: Buffer): Promise<void>;
  /** At most `length` bytes from `offset`, and the size of the wheel; undefined if it is gone. Notes that it was used. */
  read(sha256: string, offset: number, length: number): Promise<{ data: Buffer; size: number } | undefined>;
  /** Removes what was not used for `maxAgeMs` (0 for no limit), then what was used least recently, down to `maxBytes`. */
  prune(limits: {
    readonly maxBytes: number;
    readonly maxAgeMs: number;
    readonly kept: ReadonlySet<string>;
  }): Promise<void>;
}

const EXTENSION = '.whl';

export function createWheelFolder(stateDir: string): WheelFolder {
  const directory = join(stateDir, 'packages', 'wheels');
  const fileOf = (sha256: string): string => join(directory, sha256 + EXTENSION);
  return {
    has: async (sha256) => {
      const found = await stat(fileOf(sha256)).catch(() => undefined);
      return found?.isFile() === true;
    },
    async write(sha256, bytes) {
      await makeFolders(stateDir);
      await ensureDirectory(join(stateDir, 'packages'));
      await ensureDirectory(directory);
      await writeAtomically(fileOf(sha256), [bytes]);
    },
    async read(sha256, offset, length) {
      try {
        const file = await openRegularFile(fileOf(sha256), constants.O_RDONLY);
        try {
          const { size } = await file.stat();
          const data = Buffer.alloc(Math.max(0, Math.min(length, size - offset)));
          const { bytesRead } = await file.read(data, 0, data.length, offset);
          await noteUse(fileOf(sha256), offset);
          return { data: data.subarray(0, bytesRead), size };
        } finally {
          await file.close();
        }
      } catch {
        return undefined;
      }
    },
    async prune({ kept, maxAgeMs, maxBytes }) {
      const names = (await readdir(directory).catch((): string[] => [])).filter((name) => name.endsWith(EXTENSION));
      const files = await Promise.all(
        names.map(async (name) => {
          const path = join(directory, name);
          const found = await stat(path).catch(() => undefined);
          return found === undefined ? [] : [{ path, name, size: found.size, usedAtMs: found.mtimeMs }];
        }),
      );
      const all = files.flat().toSorted((one, other) => one.usedAtMs - other.usedAtMs);
      let left = all.reduce((sum, { size }) => sum + size, 0);
      const oldestMs = maxAgeMs === 0 ? 0 : Date.now() - maxAgeMs;
      for (const { name, path, size, usedAtMs } of all) {
        if (!kept.has(name.slice(0, -EXTENSION.length)) && (usedAtMs < oldestMs || left > maxBytes)) {
          // biome-ignore lint/performance/noAwaitInLoops: few, and the order matters.
          await rm(path, { force: true });
          left -= size;
        }
      }
    },
  };
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
