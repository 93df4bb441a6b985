/** Long work in short slices, so that other calls are answered in between. */
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The longest work between two turns of the event loop. Chosen: a tenth of what a person would notice. */
const SLICE_MS = 10;

/** When the current turn began. All sliced work together gets one slice per turn. */
let turnStart = 0;
let turn: Promise<void> | undefined;

/** Call `await pause()` between steps: it lets other work run once the steps since the last pause have used up a slice. */
export function createPause(): () => Promise<void> {
  let sliceStart = performance.now();
  return async () => {
    while (performance.now() - sliceStart >= SLICE_MS) {
      turn ??= nextTurn().then(() => {
        turn = undefined;
        turnStart = performance.now();
      });
      await turn;
      // Work that is resumed later in the same turn finds the slice used up and waits for the next turn.
      sliceStart = turnStart;
    }
  };
}

/**
 * Passes on what a stream delivers. Node reads up to 2 MB from a full pipe in one turn, which can be 35,000 messages and take
 * 0.2 s; once a slice is used up, the rest waits for the next turn.
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
