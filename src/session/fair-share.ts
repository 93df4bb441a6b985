/**
 * Shares the host's one thread between sandboxes. What a sandbox makes the host do is followed by a pause of the same length, in
 * which the others have their turns; without work worth mentioning there is no pause.
 */
import type { Readable } from 'node:stream';
import { collectIfDue } from './garbage.ts';

/** Less work than this needs no pause: the frames of an honest cell take microseconds each. Chosen. */
const MIN_WORK_MS = 10;
/** The longest pause. The largest line takes 0.2 s to parse. */
const MAX_PAUSE_MS = 250;

/** Calls `resume` in a later turn of the event loop, and after as much time as has passed from `startedAt` to that turn. */
export function pauseAfter(startedAt: number, resume: () => void): void {
  // By then, everything has run that the work left in the queue of this turn.
  setImmediate(() => {
    const workMs = performance.now() - startedAt;
    if (workMs < MIN_WORK_MS) {
      resume();
    } else {
      setTimeout(resume, Math.min(workMs, MAX_PAUSE_MS));
    }
  });
}

/** Passes on what a sandbox writes, and pauses after a chunk that was much work. An interrupt does not wait: it goes the other way. */
export function readFairly(stream: Readable, onChunk: (chunk: Buffer) => void): void {
  stream.on('data', (chunk: Buffer) => {
    const startedAt = performance.now();
    onChunk(chunk);
    collectIfDue();
    if (performance.now() - startedAt >= MIN_WORK_MS) {
      stream.pause();
      pauseAfter(startedAt, () => stream.resume());
    }
  });
}
