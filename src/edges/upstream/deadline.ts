/** Deadlines and throttled calls. */
import { setMaxListeners } from 'node:events';
import { type CancelSignal, CancelSource } from '../../core/base/cancel.ts';
import { Countdown } from '../../core/base/countdown.ts';

/**
 * A time limit, starting now, that also ends when the caller aborts. Its signal is not an `AbortSignal.any` of
 * `AbortSignal.timeout`: Node 20 garbage-collects these while they are awaited, and then they never fire (seen as a start
 * that took 5 s instead of 0.7 s).
 */
export class Deadline {
  readonly timeoutMs: number;
  /** Aborted only by the caller. */
  readonly callerSignal: CancelSignal | undefined;
  readonly #clock: Countdown;
  #source: CancelSource | undefined;
  readonly #abort = (): void => this.#source?.abort();

  constructor(timeoutMs: number, callerSignal: CancelSignal | undefined) {
    this.timeoutMs = timeoutMs;
    this.callerSignal = callerSignal;
    this.#clock = new Countdown(timeoutMs);
  }

  /** Aborted at the deadline and by the caller. Created on first use, because most calls only need `leftMs`. */
  get signal(): CancelSignal {
    this.#source ??= this.#makeSource();
    return this.#source;
  }

  /** Remaining milliseconds; 0 after the deadline. */
  leftMs(): number {
    return this.#clock.leftMs();
  }

  /** Pauses the clock until the returned function is called. */
  hold(): () => void {
    return this.#clock.hold();
  }

  clear(): void {
    this.#clock.stop();
    this.callerSignal?.removeEventListener('abort', this.#abort);
  }

  #makeSource(): CancelSource {
    const source = new CancelSource();
    const { callerSignal } = this;
    if (callerSignal instanceof AbortSignal) {
      // A caller may share its signal among 1,000 calls, which Node would report as a leak.
      setMaxListeners(0, callerSignal);
    }
    callerSignal?.addEventListener('abort', this.#abort, { once: true });
    this.#clock.whenOver(this.#abort);
    if (callerSignal?.aborted === true || this.leftMs() === 0) {
      source.abort();
    }
    return source;
  }
}

/** Throttles `run`: the first call runs it at once, later ones at most once per interval, including one after the last call. */
export function atMostEvery(intervalMs: number, run: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isDue = false;
  return function call() {
    if (timer !== undefined) {
      isDue = true;
      return;
    }
    run();
    timer = setTimeout(() => {
      timer = undefined;
      if (isDue) {
        isDue = false;
        call();
      }
    }, intervalMs).unref();
  };
}

/** Whether the error was thrown because a signal aborted. */
export function isAbortError(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
