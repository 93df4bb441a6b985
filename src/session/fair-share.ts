/**
 * Shares the host's one thread between sandboxes. What a sandbox makes the host do is followed by a pause of the same length, in
 * which the others have their turns; without work worth mentioning there is no pause. All sandboxes that make much work share
 * one pause: if each had its own, the work of one would fill the pause of another, and nothing would be left for the rest.
 */
import type { Readable } from 'node:stream';

/** Less work than this needs no pause: the frames of an honest cell take microseconds each. Chosen. */
const MIN_WORK_MS = 10;
/** The longest pause. The largest line takes 0.2 s to parse. */
const MAX_PAUSE_MS = 250;
/** How long a sandbox that made much work waits for the pauses of others. Chosen: longer than it takes to send the largest line. */
const WATCHED_MS = 2_000;

/** Until when nothing starts that may be much work, in ms of `performance.now()`. */
let pausedUntil = 0;
/** What starts then, one after the other. */
const waiting: (() => void)[] = [];
let isScheduled = false;

/** Calls `resume` in a later turn of the event loop, and after as much time as has passed from `startedAt` to that turn. */
export function pauseAfter(startedAt: number, resume: () => void): void {
  // By then, everything has run that the work left in the queue of this turn.
  setImmediate(() => {
    const now = performance.now();
    const workMs = now - startedAt;
    if (workMs < MIN_WORK_MS) {
      resume();
    } else {
      pausedUntil = Math.max(pausedUntil, now) + Math.min(workMs, MAX_PAUSE_MS);
      wait(resume);
    }
  });
}

/** Passes on what a sandbox writes, and pauses after a chunk that was much work. An interrupt does not wait: it goes the other way. */
export function readFairly(stream: Readable, onChunk: (chunk: Buffer) => void): void {
  let watchedUntil = 0;

  function pass(chunk: Buffer): void {
    const startedAt = performance.now();
    onChunk(chunk);
    const now = performance.now();
    if (now - startedAt >= MIN_WORK_MS) {
      watchedUntil = now + WATCHED_MS;
      stream.pause();
      pauseAfter(startedAt, () => stream.resume());
    } else if (stream.isPaused()) {
      stream.resume();
    }
  }

  stream.on('data', (chunk: Buffer) => {
    const now = performance.now();
    if (now < watchedUntil && now < pausedUntil) {
      stream.pause();
      wait(() => pass(chunk));
    } else {
      pass(chunk);
    }
  });
}

function wait(start: () => void): void {
  waiting.push(start);
  schedule();
}

function schedule(): void {
  if (isScheduled || waiting.length === 0) {
    return;
  }
  isScheduled = true;
  setTimeout(startNext, Math.max(0, pausedUntil - performance.now()));
}

/** Starts one, and the next when the work of this one has been measured. */
function startNext(): void {
  const start = performance.now() < pausedUntil ? undefined : waiting.shift();
  start?.();
  setImmediate(() => {
    isScheduled = false;
    schedule();
  });
}
