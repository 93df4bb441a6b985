/** Long work in short slices, so that other calls are answered in between. */
import type { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The longest work between two turns of the event loop. Chosen: a tenth of what a person would notice. */
const SLICE_MS = 10;

const DONE = Promise.resolve();

/** When the sliced work of this turn began; undefined if there was none. */
let sliceStart: number | undefined;
let turn: Promise<void> | undefined;

/** One slice for all sliced work of a turn: five files that arrive together would hold everything else five times as long. */
function startOfSlice(): number {
  if (sliceStart === undefined) {
    sliceStart = performance.now();
    setImmediate(() => {
      sliceStart = undefined;
    });
  }
  return sliceStart;
}

function isUsedUp(): boolean {
  return performance.now() - startOfSlice() >= SLICE_MS;
}

/** Call `await pause()` between steps: it lets other work run once the steps of this turn have used up a slice. */
export function createPause(): () => Promise<void> {
  startOfSlice();
  return () => (isUsedUp() ? untilSlice() : DONE);
}

async function untilSlice(): Promise<void> {
  // Work that is resumed later in the same turn finds the slice used up, and waits for the next one.
  while (isUsedUp()) {
    turn ??= nextTurn().then(() => {
      turn = undefined;
    });
    await turn;
  }
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
