/** What `doctor` checks on the machine: Node, memory, the state directory and its disk. */
import { closeSync, constants, mkdtempSync, openSync, rmdirSync } from 'node:fs';
import { chmod, readFile, stat, statfs } from 'node:fs/promises';
import { arch, freemem, platform } from 'node:os';
import { dirname, join } from 'node:path';
import { messageOf } from '../../core/base/errors.ts';
import { COMMAND } from '../../core/base/package.ts';
import { makeFolders } from '../../core/state/file-system.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import type { Finding } from '../../edges/terminal/finding.ts';

const MEBIBYTE = 1024 * 1024;
/** With less free space, a cache or an artifact may not fit. Chosen. */
const LITTLE_DISK_BYTES = 200 * MEBIBYTE;
/** Write permission for the group and for others. */
const FOREIGN_WRITE = 0o022;
const ROOT_ID = 0;

export async function examineMachine(settings: Settings, isFix: boolean): Promise<Finding[]> {
  return [
    // Always ok: with an older Node no command runs at all (see node-version.ts).
    { section: 'machine', level: 'ok', text: `Node ${process.versions.node} on ${platform()} ${arch()}` },
    judgeMemory(await availableMemory(), settings.memoryBytes),
    ...(await examineStateDirectory(settings.stateDir, isFix)),
  ];
}

export function judgeMemory(freeBytes: number, wantedBytes: number): Finding {
  const text = `${inMebibytes(freeBytes)} of memory available; one session may use ${inMebibytes(wantedBytes)}`;
  return freeBytes >= wantedBytes
    ? { section: 'machine', level: 'ok', text }
    : { section: 'machine', level: 'warning', text, hint: 'Close other programs, or lower MCP_BRIDGE_MEMORY.' };
}

/** On Linux, `freemem()` counts caches as used memory. `MemAvailable` in /proc/meminfo is what a program can get. */
async function availableMemory(): Promise<number> {
  const text = await readFile('/proc/meminfo', 'utf8').catch(() => '');
  const kibibytes = /^MemAvailable:\s+(\d+) kB$/m.exec(text)?.[1];
  return kibibytes === undefined ? freemem() : Number(kibibytes) * 1024;
}

/** With `isFix`, creates the directory and fixes its permissions; otherwise changes nothing. */
export async function examineStateDirectory(stateDir: string, isFix: boolean): Promise<Finding[]> {
  let folder = dirname(stateDir);
  try {
    if (isFix) {
      await makeFolders(stateDir, 0o700);
    }
    const isThere = await hasDirectory(stateDir);
    folder = isThere ? stateDir : await nearestDirectory(stateDir);
    tryToWrite(folder);
    const shared = isThere ? await examineSharing(stateDir, isFix) : undefined;
    const text = isThere
      ? `state directory ${stateDir}`
      : `the state directory ${stateDir} does not exist yet; it is created when it is first needed`;
    return [shared ?? { section: 'machine', level: 'ok', text }, await examineDisk(folder)];
  } catch (error) {
    const text = `the state directory ${stateDir} cannot be used: ${messageOf(error)}`;
    // Only the state directory itself is yours to fix: its parent may be a system folder, such as `/` if the home folder is missing.
    const fix = folder === stateDir ? `Fix the permissions of ${folder}, or set` : 'Set';
    const hint = `${fix} MCP_BRIDGE_STATE_DIR to a folder that you own. Until then, the bridge keeps no audit log, saved functions or logins.`;
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

/** `O_TMPFILE`: an unnamed file that disappears when its descriptor is closed (open(2)). Node has no constant for it. */
const TEMPORARY_FILE = 0o20000000;
/** Errors of kernels and file systems without unnamed files. */
const NO_TEMPORARY_FILE: readonly unknown[] = ['ENOTSUP', 'EOPNOTSUPP', 'EISDIR', 'EINVAL'];

/**
 * Throws if nothing can be created in `directory`. Permission bits are not enough: root ignores them, and a file system may be
 * mounted read-only. The attempt leaves nothing behind: on Linux the file has no name, elsewhere it is removed synchronously.
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

/** The nearest existing parent, in which the first folder would be created. */
async function nearestDirectory(path: string): Promise<string> {
  const above = dirname(path);
  return above === path || (await hasDirectory(above)) ? above : nearestDirectory(above);
}

async function examineSharing(stateDir: string, isFix: boolean): Promise<Finding | undefined> {
  const { mode, uid } = await stat(stateDir);
  const ownId = process.getuid?.();
  if (ownId !== undefined && ![ownId, ROOT_ID].includes(uid)) {
    return {
      section: 'machine',
      // Root often uses folders of others, for example in a container.
      level: ownId === ROOT_ID ? 'warning' : 'problem',
      text: `the state directory ${stateDir} belongs to another user, and what they put there runs as you`,
      hint: 'Set MCP_BRIDGE_STATE_DIR to a folder that you own.',
    };
  }
  if (ownId === undefined || (mode & FOREIGN_WRITE) === 0) {
    return undefined;
  }
  if (isFix) {
    await chmod(stateDir, mode & ~FOREIGN_WRITE);
    return undefined;
  }
  return {
    section: 'machine',
    level: 'problem',
    text: `other users can write to the state directory ${stateDir}, and what they put there runs as you`,
    hint: `Run: chmod go-w '${stateDir}' (or ${COMMAND} doctor --fix)`,
  };
}

async function examineDisk(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  return judgeDisk(bavail * bsize);
}

export function judgeDisk(freeBytes: number): Finding {
  const text = `${inMebibytes(freeBytes)} free on the disk of the state directory`;
  return freeBytes >= LITTLE_DISK_BYTES
    ? { section: 'machine', level: 'ok', text }
    : {
        section: 'machine',
        level: 'warning',
        text,
        hint: 'Free some space: the state directory holds artifacts, the audit log and cached tool lists.',
      };
}

export function inMebibytes(bytes: number): string {
  return `${Math.floor(bytes / MEBIBYTE).toLocaleString('en-US')} MiB`;
}
