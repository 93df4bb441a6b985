/** Measures a running bridge from outside and, through `loop-probe.mjs`, from inside. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Measured {
  /** Number of turns of the event loop, about one every 2 ms if it is idle. */
  readonly turns: number;
  /** The longest delay, and the 99th percentile. */
  readonly maxMs: number;
  readonly p99Ms: number;
  /** Bytes after a garbage collection: resident in total, of objects, and of buffers. */
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
}

/** Arguments for the Node that runs the bridge; the folder gets the socket. Unless it `collects`, garbage is left alone. */
export function probeArguments(folder: string, collects = true): string[] {
  const module = pathToFileURL(join(import.meta.dirname, 'loop-probe.mjs'));
  module.searchParams.set('socket', socketIn(folder));
  return [...(collects ? ['--expose-gc'] : []), '--import', module.href];
}

/** The measurements since the last call. Rejects if the bridge is gone. */
export async function takeMeasured(folder: string): Promise<Measured> {
  const chunks: Buffer[] = [];
  for await (const chunk of createConnection(socketIn(folder))) {
    chunks.push(chunk as Buffer);
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Measured;
}

/** Holds the event loop of the bridge. The measurements since the last call are lost. */
export async function holdLoop(folder: string, ms: number): Promise<void> {
  const connection = createConnection({ path: socketIn(folder), allowHalfOpen: true });
  connection.end(String(ms));
  for await (const _ of connection) {
    // Read to its end.
  }
}

function socketIn(folder: string): string {
  return join(folder, 'loop-probe.sock');
}

/** Resets `peakBytes` (proc(5), clear_refs). */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** The peak memory of the process since `resetPeak`. */
export function peakBytes(pid: number): number {
  return bytesInStatus(pid, 'VmHWM');
}

/** The memory of the process now. */
export function residentBytes(pid: number): number {
  return bytesInStatus(pid, 'VmRSS');
}

function bytesInStatus(pid: number, key: string): number {
  const kib = new RegExp(`^${key}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib ?? 0) * 1024;
}

/** Milliseconds since boot during which some task waited for a core; 0 if the kernel does not count them. */
export function pressureMs(): number {
  try {
    return Number(/^some .*total=(\d+)$/m.exec(readFileSync('/proc/pressure/cpu', 'utf8'))?.[1] ?? 0) / 1000;
  } catch {
    return 0;
  }
}

/** Milliseconds in which the main thread of a process was ready and waited for a core (proc(5), schedstat); 0 if unknown. */
export function queuedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1] ?? 0) / 1e6;
  } catch {
    return 0;
  }
}
