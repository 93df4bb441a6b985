/** What `doctor` looks at of the state directory: whether it can be written, by whom, and the room there. */
import { closeSync, constants, mkdtempSync, openSync, rmdirSync } from 'node:fs';
import { chmod, stat, statfs } from 'node:fs/promises';
import { platform } from 'node:os';
import { dirname, join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { COMMAND } from '../base/package.ts';
import { makeFolders } from '../state/file-system.ts';
import type { Finding } from '../terminal/finding.ts';

const MEBIBYTE = 1024 * 1024;
/** Less room than this, and a cache or an artifact may not fit. Chosen. */
const LITTLE_DISK_BYTES = 200 * MEBIBYTE;
/** Write for the group and for others. */
const FOREIGN_WRITE = 0o022;

/** With `isFix` it is made, and made safe; else nothing stays changed. */
export async function examineStateDirectory(stateDir: string, isFix: boolean): Promise<Finding[]> {
  let place = dirname(stateDir);
  try {
    if (isFix) {
      await makeFolders(stateDir, 0o700);
    }
    const isThere = await hasDirectory(stateDir);
    place = isThere ? stateDir : await nearestDirectory(stateDir);
    tryToWrite(place);
    const shared = isThere ? await examineSharing(stateDir, isFix) : undefined;
    const text = isThere
      ? `state directory ${stateDir}`
      : `there is no state directory ${stateDir} yet; it is made when something is kept`;
    return [shared ?? { section: 'machine', level: 'ok', text }, await examineDisk(place)];
  } catch (error) {
    const text = `the state directory ${stateDir} cannot be used: ${messageOf(error)}`;
    // The folder in which it would be made may be one of the system: `/` where the home folder is missing.
    const fix = place === stateDir ? `Fix the permissions of ${place}, or set` : 'Set';
    const hint = `${fix} MCP_BRIDGE_STATE_DIR to a folder of yours. Without it nothing is kept: no audit, no saved tools, no logins.`;
    return [{ section: 'machine', level: 'problem', text, hint, code: 'STATE_WRITE_FAILED' }];
  }
}

async function hasDirectory(path: string): Promise<boolean> {
  try {
    if ((await stat(path)).isDirectory()) {
      return true;
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return false;
    }
    throw error;
  }
  throw new Error('it is a file, not a directory');
}

/** A file without a name, which goes with its descriptor (open(2)); Node has no name for it. */
const TEMPORARY_FILE = 0o20000000;
/** Kernels and file systems that have no such files. */
const NO_TEMPORARY_FILE: readonly unknown[] = ['ENOTSUP', 'EOPNOTSUPP', 'EISDIR', 'EINVAL'];

/**
 * Throws when nothing can be made in `directory`. Rights alone do not tell: the administrator has all, and a file system may
 * be there to read only. Nothing stays behind: on Linux what is made has no name, elsewhere it is removed before any other
 * code can run.
 */
function tryToWrite(directory: string): void {
  if (platform() === 'linux') {
    try {
      closeSync(openSync(directory, TEMPORARY_FILE | constants.O_DIRECTORY | constants.O_RDWR, 0o600));
      return;
    } catch (error) {
      if (!NO_TEMPORARY_FILE.includes((error as NodeJS.ErrnoException).code)) {
        throw error;
      }
    }
  }
  rmdirSync(mkdtempSync(join(directory, '.doctor-')));
}

/** Where the first folder would be made. */
async function nearestDirectory(path: string): Promise<string> {
  const above = dirname(path);
  return above === path || (await hasDirectory(above)) ? above : nearestDirectory(above);
}

async function examineSharing(stateDir: string, isFix: boolean): Promise<Finding | undefined> {
  const { mode } = await stat(stateDir);
  if (platform() === 'win32' || (mode & FOREIGN_WRITE) === 0) {
    return undefined;
  }
  if (isFix) {
    await chmod(stateDir, mode & ~FOREIGN_WRITE);
    return undefined;
  }
  return {
    section: 'machine',
    level: 'problem',
    text: `others can write to the state directory ${stateDir}: what they put there runs as you`,
    hint: `Run: chmod go-w '${stateDir}' (or ${COMMAND} doctor --fix)`,
  };
}

async function examineDisk(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  return judgeDisk(bavail * bsize);
}

export function judgeDisk(freeBytes: number): Finding {
  const text = `${inMebibytes(freeBytes)} of disk free for what is kept`;
  return freeBytes >= LITTLE_DISK_BYTES
    ? { section: 'machine', level: 'ok', text }
    : {
        section: 'machine',
        level: 'warning',
        text,
        hint: 'Make room: what servers say and files of cells are kept in the state directory.',
      };
}

export function inMebibytes(bytes: number): string {
  return `${Math.floor(bytes / MEBIBYTE).toLocaleString('en-US')} MiB`;
}
