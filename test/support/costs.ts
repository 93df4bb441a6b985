/** What work in the process of a test costs, whatever else the machine does. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The processor time in milliseconds that `work` takes. */
export async function processorTimeOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { system, user } = process.cpuUsage(before);
  return (system + user) / 1_000;
}

/** Collects garbage and returns the bytes in use. */
export function garbageFreeBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const { arrayBuffers, heapUsed } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
