/**
 * Shares the host's one thread between sandboxes. What a sandbox makes the host do is followed by a pause of the same length, in
 * which the others have their turns; without work worth mentioning there is no pause. All sandboxes that make much work share
 * one pause: if each had its own, the work of one would fill the pause of another, and nothing would be left for the rest.
 */
import type { Readable } from 'node:stream';
import { collectIfDue } from '../base/garbage.ts';

/** Less work than this needs no pause: the frames of an honest cell take microseconds each. Chosen. */
const MIN_WORK_MS = 10;
/** The longest pause. The largest line takes 0.2 s to parse. */
const MAX_PAUSE_MS = 500;
/** How much is read before the work is measured. A line of one byte takes 15 µs. */
const PIECE_BYTES = 8 * 1024;
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
    if (notePause(startedAt)) {
      wait(resume);
    } else {
      resume();
    }
  });
}

/** Begins or extends the pause if there was much work since `startedAt`. Returns whether there was. */
function notePause(startedAt: number): boolean {
  const now = performance.now();
  const workMs = now - startedAt;
  if (workMs < MIN_WORK_MS) {
    return false;
  }
  pausedUntil = Math.max(pausedUntil, now + Math.min(workMs, MAX_PAUSE_MS));
  return true;
}

/**
 * Passes on what a sandbox writes, in pieces, and pauses after one that was much work. While there is a pause, sandboxes that made
 * much work wait, and those of which `isLarge` says that what comes next may be much. An interrupt does not wait: it goes the
 * other way.
 */
export function readFairly(
  stream: Readable,
  onPiece: (piece: Buffer) => void,
  isLarge: () => boolean = () => false,
): void {
  const reader = new FairReader(stream, onPiece, isLarge);
  stream.on('data', (chunk: Buffer) => reader.take(chunk));
  // A child that exits has its output read to the end; the answer must not miss what is held.
  stream.once('end', () => reader.passHeld());
}

class FairReader {
  readonly #stream: Readable;
  readonly #onPiece: (piece: Buffer) => void;
  readonly #isLarge: () => boolean;
  /** Until when it waits for the pauses of others. */
  #watchedUntil = 0;
  #turnStartedAt: number | undefined;
  #held: Buffer[] = [];
  #isHolding = false;

  constructor(stream: Readable, onPiece: (piece: Buffer) => void, isLarge: () => boolean) {
    this.#stream = stream;
    this.#onPiece = onPiece;
    this.#isLarge = isLarge;
  }

  take(chunk: Buffer): void {
    const now = performance.now();
    if (this.#isHolding) {
      // Whoever ends the sandbox lets it write on.
      this.#held.push(chunk);
      this.#stream.pause();
    } else if (now < pausedUntil && (now < this.#watchedUntil || this.#isLarge())) {
      this.#hold(chunk, wait);
    } else {
      this.#pass(chunk);
    }
  }

  passHeld(): void {
    const rest = this.#release();
    if (rest.length > 0) {
      this.#onPiece(rest);
    }
  }

  #pass(chunk: Buffer): void {
    const startedAt = this.#startOfTurn();
    for (let start = 0; start < chunk.length; start += PIECE_BYTES) {
      this.#onPiece(chunk.subarray(start, start + PIECE_BYTES));
      collectIfDue();
      if (notePause(startedAt)) {
        this.#watchedUntil = performance.now() + WATCHED_MS;
        this.#hold(chunk.subarray(start + PIECE_BYTES), (resume) => pauseAfter(startedAt, resume));
        return;
      }
    }
  }

  /**
   * When its first piece of this turn of the event loop was passed on: what that left to do runs before the next chunk is read,
   * and counts.
   */
  #startOfTurn(): number {
    if (this.#turnStartedAt === undefined) {
      this.#turnStartedAt = performance.now();
      setImmediate(() => {
        this.#turnStartedAt = undefined;
      });
    }
    return this.#turnStartedAt;
  }

  #hold(chunk: Buffer, untilFree: (resume: () => void) => void): void {
    this.#held = [chunk];
    this.#isHolding = true;
    this.#stream.pause();
    untilFree(() => {
      this.#pass(this.#release());
      if (!this.#isHolding) {
        this.#stream.resume();
      }
    });
  }

  #release(): Buffer {
    const all = Buffer.concat(this.#held);
    this.#held = [];
    this.#isHolding = false;
    return all;
  }
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
  setImmediate(() => {
    isScheduled = false;
    schedule();
  });
  start?.();
}
