/** The pauses after work that a sandbox caused. */
import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { pauseAfter, readFairly } from '../../../src/core/session/fair-share.ts';

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

it('measures the work within a chunk', async () => {
  const stream = new PassThrough();
  const pieces: number[] = [];
  readFairly(stream, (piece) => {
    work(20);
    pieces.push(piece.length);
  });
  stream.write(Buffer.alloc(20_000));
  await nextTurn();
  expect(pieces).toHaveLength(1);
  await expect.poll(() => pieces).toHaveLength(3);
  expect(pieces.reduce((sum, length) => sum + length)).toBe(20_000);
});

// Each used the pause of the others: with four, nothing was left for the rest.
it('gives several that make much work one pause together', async () => {
  const startedAt = performance.now();
  const streams = Array.from({ length: 4 }, () => new PassThrough());
  let workedMs = 0;
  streams.forEach((stream) => {
    readFairly(
      stream,
      () => {
        work(20);
        workedMs += 20;
      },
      () => true,
    );
    stream.write(Buffer.alloc(24_000));
  });
  await expect.poll(() => workedMs).toBe(4 * 3 * 20);
  // Without a pause after the last.
  expect(performance.now() - startedAt).toBeGreaterThan(2 * workedMs - 30);
});

it('does not keep back the light work of others', async () => {
  const [heavy, light] = [new PassThrough(), new PassThrough()];
  const seen: string[] = [];
  readFairly(heavy, () => {
    work(100);
    seen.push('heavy');
  });
  readFairly(light, () => void seen.push('light'));
  heavy.write(Buffer.alloc(12_000));
  await nextTurn();
  light.write('x');
  await expect.poll(() => seen).toHaveLength(3);
  expect(seen).toEqual(['heavy', 'light', 'heavy']);
});

it('passes on what is held when the stream ends', async () => {
  const stream = new PassThrough();
  let bytes = 0;
  readFairly(stream, (piece) => {
    work(20);
    bytes += piece.length;
  });
  const ended = new Promise((resolve) => stream.once('end', resolve));
  stream.end(Buffer.alloc(40_000));
  await ended;
  expect(bytes).toBe(40_000);
});
