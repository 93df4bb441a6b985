/** Long work in short slices, so that calls of others are answered in between. */
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Longest piece of work between two looks at the event loop. Chosen: a tenth of what a person would notice. */
const SLICE_MS = 10;

/** When the turn began in which sliced work goes on; all of it together gets one slice per turn. */
let turnStart = 0;
let turn: Promise<void> | undefined;

/** `await pause()` between two steps lets others run when the steps since the last pause took a slice. */
export function createPause(): () => Promise<void> {
  let sliceStart = performance.now();
  return async () => {
    while (performance.now() - sliceStart >= SLICE_MS) {
      turn ??= nextTurn().then(() => {
        turn = undefined;
        turnStart = performance.now();
      });
      await turn;
      // Whoever is resumed later in the same turn finds the slice used up, and waits for the next one.
      sliceStart = turnStart;
    }
  };
}

/**
 * Hands on what a stream gives. Node reads up to 2 MB of a full pipe in one turn, which can be 35,000 messages and take
 * 0.2 s; when a slice of time is used up, the rest waits for the next turn.
 */
export function readInSlices(stream: Readable, onOutput: (chunk: Buffer) => void): void {
  let usedMs = 0;
  const nextSlice = (): void => {
    usedMs = 0;
    stream.resume();
  };
  stream.on('data', (chunk: Buffer) => {
    const start = performance.now();
    onOutput(chunk);
    if (usedMs === 0) {
      setImmediate(nextSlice);
    }
    usedMs += performance.now() - start;
    if (usedMs > SLICE_MS) {
      stream.pause();
    }
  });
}
