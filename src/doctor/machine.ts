/** What `doctor` looks at on the machine: Node, memory, disk, and the state directory. */
import { readFile } from 'node:fs/promises';
import { arch, freemem, platform } from 'node:os';
import type { Settings } from '../settings/settings.ts';
import type { Finding } from '../terminal/finding.ts';
import { examineStateDirectory, inMebibytes } from './state-directory.ts';

export async function examineMachine(settings: Settings, isFix: boolean): Promise<Finding[]> {
  return [
    // One that is too old runs no command at all: see node-version.ts.
    { section: 'machine', level: 'ok', text: `Node ${process.versions.node} on ${platform()} ${arch()}` },
    judgeMemory(await availableMemory(), settings.memoryBytes),
    ...(await examineStateDirectory(settings.stateDir, isFix)),
  ];
}

export function judgeMemory(freeBytes: number, wantedBytes: number): Finding {
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
