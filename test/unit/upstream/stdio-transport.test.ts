/** Waiting for room in a pipe must not leak listeners: a connection that is busy for hours waits thousands of times. */
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { waitForDrain } from '../../../src/edges/upstream/stdio-transport.ts';

it.each(['drain', 'close'] as const)(
  'the wait for room in the pipe ends with %s and removes its listeners',
  async (event) => {
    const stream = new PassThrough();
    const before = stream.listenerCount('close');
    for (let round = 0; round < 20; round += 1) {
      const waiting = waitForDrain(stream);
      stream.emit(event);
      await waiting;
    }
    expect([stream.listenerCount('drain'), stream.listenerCount('close')]).toEqual([0, before]);
  },
);
