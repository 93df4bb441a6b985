/** Measures whether other sessions get their answers while one session attacks the bridge. */
import { expect } from 'vitest';
import type { BridgeClient } from './bridge-client.ts';
import { queuedMs } from './faults/probe.ts';

/** The most that a cell `1` of session `beside` takes until `work` ends, in milliseconds. Each answer must be right. */
export async function slowestBeside(bridge: BridgeClient, work: Promise<unknown>): Promise<number> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  let slowestMs = 0;
  while (!isOver) {
    slowestMs = Math.max(slowestMs, await timeBeside(bridge));
  }
  await over;
  return slowestMs;
}

/** Without the time in which other processes of the machine kept the bridge and this test waiting. */
async function timeBeside(bridge: BridgeClient): Promise<number> {
  const queued = (): number => queuedMs(bridge.pid) + queuedMs(process.pid);
  const queuedBefore = queued();
  const startedAt = performance.now();
  const { structured } = await bridge.runPython('1', { session: 'beside' }, { timeout: 110_000 });
  expect(structured).toMatchObject({ result: '1' });
  return performance.now() - startedAt - (queued() - queuedBefore);
}
