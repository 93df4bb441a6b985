/** Files below the state directory: for the owner alone, replaced as a whole, never through a link. */
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rm } from 'node:fs/promises';
import { makeFolders } from './make-folders.ts';
import { replaceFile } from './replace-file.ts';

const OWNER_ONLY_DIRECTORY = 0o700;
const OWNER_ONLY_FILE = 0o600;
/** `O_NOFOLLOW` is missing on Windows, where creating a link needs a privilege. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

/** End of the names of files that are being written. */
export const TEMPORARY_SUFFIX = '.tmp';

/** Makes the directory if need be; rejects when there is something else in its place. */
export async function ensureDirectory(directory: string): Promise<void> {
  await makeFolders(directory, OWNER_ONLY_DIRECTORY);
  await checkDirectory(directory);
}

/** Rejects when there is no directory, also when it is a link to one. */
export async function checkDirectory(directory: string): Promise<void> {
  const found = await lstat(directory);
  if (!found.isDirectory()) {
    throw new Error(`${directory} is ${found.isSymbolicLink() ? 'a link' : 'a file'}, not a directory`);
  }
}

/** The content of a plain file of at most `maxBytes`. */
export async function readBounded(path: string, maxBytes: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | NO_FOLLOW | (constants.O_NONBLOCK ?? 0));
  try {
    await checkPlainFile(file, maxBytes);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** A second hard link could be a file from outside the store; a pipe would never end. */
async function checkPlainFile(file: FileHandle, maxBytes: number): Promise<void> {
  const stats = await file.stat();
  if (!stats.isFile()) {
    throw new Error('it is no plain file');
  }
  if (stats.nlink > 1) {
    throw new Error('it has a second name (hard link)');
  }
  if (stats.size > maxBytes) {
    const [size, limit] = [stats.size, maxBytes].map((bytes) => bytes.toLocaleString('en-US'));
    throw new Error(`it has ${size} bytes; the limit is ${limit}`);
  }
}

const DURABLE = { isDurable: true };

/**
 * A reader sees the old content or the new one, never a part: written beside, then renamed over. What is not durable may be
 * lost or incomplete after a crash of the machine, but does not wait for the disk.
 */
export async function writeAtomically(path: string, pieces: readonly string[], options = DURABLE): Promise<void> {
  const temporary = `${path}.${randomUUID()}${TEMPORARY_SUFFIX}`;
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NO_FOLLOW;
    const file = await open(temporary, flags, OWNER_ONLY_FILE);
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
