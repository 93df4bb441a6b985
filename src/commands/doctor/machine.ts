/** What `doctor` looks at on the machine: Node, memory, disk, and the state directory. */
import { chmod, mkdir, readFile, stat, statfs } from 'node:fs/promises';
import { arch, freemem, platform } from 'node:os';
import { dirname } from 'node:path';
import type { Settings } from '../../config/settings.ts';
import { messageOf } from '../../errors.ts';
import type { Finding } from './finding.ts';

const MEBIBYTE = 1024 * 1024;
/** Less room than this, and a cache or an artifact may not fit. Chosen. */
const LITTLE_DISK_BYTES = 200 * MEBIBYTE;
/** Write for the group and for others. */
const FOREIGN_WRITE = 0o022;

export async function examineMachine(settings: Settings, isFix: boolean): Promise<Finding[]> {
  return [
    { section: 'machine', level: 'ok', text: `Node ${process.versions.node} on ${platform()} ${arch()}` },
    await examineMemory(settings.memoryBytes),
    ...(await examineStateDir(settings.stateDir, isFix)),
  ];
}

async function examineMemory(wantedBytes: number): Promise<Finding> {
  const freeBytes = await availableMemory();
  const text = `${inMebibytes(freeBytes)} of memory available; one session may take ${inMebibytes(wantedBytes)}`;
  return freeBytes >= wantedBytes
    ? { section: 'machine', level: 'ok', text }
    : { section: 'machine', level: 'warning', text, hint: 'Close something, or set MCP_BRIDGE_MEMORY to less.' };
}

/** Linux counts caches as used in what Node calls free; its own figure of what can be had is in /proc/meminfo. */
async function availableMemory(): Promise<number> {
  const text = await readFile('/proc/meminfo', 'utf8').catch(() => '');
  const kibibytes = /^MemAvailable:\s+(\d+) kB$/m.exec(text)?.[1];
  return kibibytes === undefined ? freemem() : Number(kibibytes) * 1024;
}

async function examineStateDir(stateDir: string, isFix: boolean): Promise<Finding[]> {
  try {
    if (isFix) {
      await mkdir(stateDir, { recursive: true, mode: 0o700 });
    }
    const { mode } = await stat(stateDir);
    const isShared = platform() !== 'win32' && (mode & FOREIGN_WRITE) !== 0;
    if (isShared && isFix) {
      await chmod(stateDir, mode & ~FOREIGN_WRITE);
    }
    const fitness: Finding =
      isShared && !isFix
        ? {
            section: 'machine',
            level: 'problem',
            text: `others can write to the state directory ${stateDir}: what they put there runs as you`,
            hint: `Run: chmod go-w '${stateDir}' (or doctor --fix)`,
          }
        : { section: 'machine', level: 'ok', text: `state directory ${stateDir}` };
    return [fitness, await examineDisk(stateDir)];
  } catch (error) {
    return [await whyNoStateDir(stateDir, error)];
  }
}

async function whyNoStateDir(stateDir: string, error: unknown): Promise<Finding> {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
    const text = `there is no state directory ${stateDir} yet; it is made when something is kept`;
    return { section: 'machine', level: 'ok', text };
  }
  const text = `the state directory ${stateDir} cannot be used: ${messageOf(error)}`;
  const hint = `Look at ${dirname(stateDir)}, or set MCP_BRIDGE_STATE_DIR to another folder.`;
  return { section: 'machine', level: 'problem', text, hint };
}

async function examineDisk(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  const text = `${inMebibytes(freeBytes)} of disk free there`;
  return freeBytes >= LITTLE_DISK_BYTES
    ? { section: 'machine', level: 'ok', text }
    : {
        section: 'machine',
        level: 'warning',
        text,
        hint: 'Make room: what servers say and files of cells are kept there.',
      };
}

function inMebibytes(bytes: number): string {
  return `${Math.floor(bytes / MEBIBYTE).toLocaleString('en-US')} MiB`;
}
