/** Memory of other processes, from /proc (proc(5)); Linux only. */
import { readFile, writeFile } from 'node:fs/promises';

const KIB = 1024;
const MEGABYTE = 1_000_000;

/** Resident memory in MB. */
export async function residentMb(pid: number): Promise<number> {
  return readField(`/proc/${pid}/status`, 'VmRSS');
}

/** Resets the peak of resident memory, which is what writing "5" to the file does. */
export async function resetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5');
}

/** Peak of resident memory since the last reset, in MB. The kernel counts it, so no peak is missed. */
export async function peakMb(pid: number): Promise<number> {
  return readField(`/proc/${pid}/status`, 'VmHWM');
}

/** Proportional memory in MB: a shared page counts in each process by its share. */
export async function proportionalMb(pid: number): Promise<number> {
  return readField(`/proc/${pid}/smaps_rollup`, 'Pss');
}

/** PIDs of all descendants of `pid`. */
export async function descendants(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  const children = text.split(' ').filter(Boolean).map(Number);
  const further = await Promise.all(children.map(descendants));
  return [...children, ...further.flat()];
}

async function readField(path: string, field: string): Promise<number> {
  const text = await readFile(path, 'utf8');
  const found = new RegExp(`^${field}:\\s*(\\d+) kB`, 'm').exec(text)?.[1];
  if (found === undefined) {
    throw new Error(`${path} has no ${field}`);
  }
  return (Number(found) * KIB) / MEGABYTE;
}
