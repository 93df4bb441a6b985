/** Reads processes from /proc (Linux only, like the tests that need it). */
import { readdirSync, readFileSync } from 'node:fs';

/** Process ids of all live descendants of `pid`. */
export function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = parentOf(Number(entry));
    if (parent !== undefined) {
      children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
    }
  }
  const found: number[] = [];
  const queue = [pid];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const below = children.get(next) ?? [];
    found.push(...below);
    queue.push(...below);
  }
  return found;
}

export function isAlive(pid: number): boolean {
  try {
    // A zombie has ended, but its parent has not waited for it yet.
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

export function openDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Resident memory in bytes. */
export function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib ?? 0) * 1024;
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined; // It ended in the meantime.
  }
}
