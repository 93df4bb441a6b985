/** The pauses after work that a sandbox caused. */
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { pauseAfter, readFairly } from '../../../src/session/fair-share.ts';

/** Holds the thread. */
function work(forMs: number): void {
  const end = performance.now() + forMs;
  while (performance.now() < end) {
    // Busy.
  }
}

it('pauses for as long as the work took, and not at all after little work', async () => {
  const startedAt = performance.now();
  const resumed = new Promise<number>((resolve) => pauseAfter(startedAt, () => resolve(performance.now() - startedAt)));
  work(40);
  expect(await resumed).toBeGreaterThan(75);
  let isResumed = false;
  pauseAfter(performance.now(), () => {
    isResumed = true;
  });
  await nextTurn();
  await nextTurn();
  expect(isResumed).toBe(true);
});

it('takes one chunk at a turn if a chunk is much work, and loses none', async () => {
  const stream = new PassThrough();
  const seen: string[] = [];
  let turns = 0;
  const count = setInterval(() => {
    turns += 1;
  }, 5);
  readFairly(stream, (chunk) => {
    work(20);
    seen.push(`${chunk.toString()} at ${turns > seen.length ? 'a later turn' : 'once'}`);
  });
  stream.write('a');
  stream.write('b');
  stream.end('c');
  await expect.poll(() => seen).toHaveLength(3);
  clearInterval(count);
  expect(seen).toEqual(['a at once', 'b at a later turn', 'c at a later turn']);
});
