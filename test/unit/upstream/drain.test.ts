/** Waiting for room in a pipe leaves nothing behind: a server that is fed for hours waits thousands of times. */
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { waitForDrain } from '../../../src/upstream/drain.ts';

it.each(['drain', 'close'] as const)('ends with %s and takes its listeners along', async (event) => {
  const stream = new PassThrough();
  const before = stream.listenerCount('close');
  for (let round = 0; round < 20; round += 1) {
    const waiting = waitForDrain(stream);
    stream.emit(event);
    await waiting;
  }
  expect([stream.listenerCount('drain'), stream.listenerCount('close')]).toEqual([0, before]);
});
