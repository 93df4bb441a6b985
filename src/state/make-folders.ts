/**
 * Makes a folder and those above it that are missing. Node's own recursive `mkdir` never comes back where making a folder
 * fails with ENOENT although the folder above is there, as in /proc (seen in Node 20.20).
 */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Folders that are there already keep their mode. Rejects with the error of the operating system. */
export async function makeFolders(path: string, mode = 0o777): Promise<void> {
  const above = dirname(path);
  if (await isFolder(path)) {
    return;
  }
  if (above !== path && !(await isFolder(above))) {
    await makeFolders(above, mode);
  }
  try {
    await mkdir(path, { mode });
  } catch (error) {
    // Another process made it in between, or it is a link to a folder that came back.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !(await isFolder(path))) {
      throw error;
    }
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}
