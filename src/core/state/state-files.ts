/** Files in the state directory: readable only by their owner, replaced as a whole, and never accessed through a link. */
import { randomUUID } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, rm } from 'node:fs/promises';
import { makeFolders, replaceFile } from './file-system.ts';

const OWNER_ONLY_DIRECTORY = 0o700;
export const OWNER_ONLY_FILE = 0o600;
/** Windows has no `O_NOFOLLOW`, but creating a link needs a privilege there. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

/** The suffix of files that are being written. */
export const TEMPORARY_SUFFIX = '.tmp';

/** Creates the directory if it is missing. Rejects if its path is anything else. */
export async function ensureDirectory(directory: string): Promise<void> {
  await makeFolders(directory, OWNER_ONLY_DIRECTORY);
  await checkDirectory(directory);
}

/** Rejects if the path is not a directory, even if it is a link to one. */
export async function checkDirectory(directory: string): Promise<void> {
  const found = await lstat(directory);
  if (!found.isDirectory()) {
    throw new Error(`${directory} is ${found.isSymbolicLink() ? 'a link' : 'a file'}, not a directory`);
  }
}

/** Opens a regular file, by default to read it. Rejects for a link and for anything else: reading a pipe would never end. */
export async function openRegularFile(path: string, flags: number = constants.O_RDONLY): Promise<FileHandle> {
  const file = await open(path, flags | NO_FOLLOW | (constants.O_NONBLOCK ?? 0), OWNER_ONLY_FILE);
  try {
    if (!(await file.stat()).isFile()) {
      throw new Error('it is not a regular file');
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Throws for a file that may belong to something outside the store. */
export function refuseSecondLink({ nlink }: Stats): void {
  if (nlink > 1) {
    throw new Error('it has a second hard link');
  }
}

/** The content of a regular file of at most `maxBytes`. */
export async function readBounded(path: string, maxBytes: number): Promise<Buffer> {
  const file = await openRegularFile(path);
  try {
    const stats = await file.stat();
    refuseSecondLink(stats);
    if (stats.size > maxBytes) {
      const [size, limit] = [stats.size, maxBytes].map((bytes) => bytes.toLocaleString('en-US'));
      throw new Error(`it has ${size} bytes; the limit is ${limit}`);
    }
    return await file.readFile();
  } finally {
    await file.close();
  }
}

const DURABLE = { isDurable: true };

/**
 * Writes to a temporary file and renames it, so that a reader sees either the old content or the new one, never a part. Without
 * `isDurable`, it does not wait for the disk, and the file may be lost or incomplete after a crash of the machine.
 */
export async function writeAtomically(
  path: string,
  pieces: readonly (string | Uint8Array)[],
  options = DURABLE,
): Promise<void> {
  const temporary = `${path}.${randomUUID()}${TEMPORARY_SUFFIX}`;
  try {
    const file = await openRegularFile(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL);
    try {
      for (const piece of pieces) {
        await file.writeFile(piece);
      }
      if (options.isDurable) {
        await file.sync();
      }
    } finally {
      await file.close();
    }
    await replaceFile(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
