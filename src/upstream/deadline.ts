/** Waiting with an end: deadlines, abort signals, and calls that come too often. */
import { setMaxListeners } from 'node:events';
import { type CancelSignal, CancelSource } from '../base/cancel.ts';
import { Countdown } from '../base/countdown.ts';
import { messageOf } from '../base/errors.ts';

/**
 * A time limit from now on that also ends when the caller gives up. Its signal is not `AbortSignal.any` of `AbortSignal.timeout`: Node 20
 * collects these while they are waited for, and then they never fire (seen as a start that took 5 s instead of 0.7 s).
 */
export class Deadline {
  readonly timeoutMs: number;
  /** Aborted only when the caller gives up. */
  readonly callerSignal: CancelSignal | undefined;
  readonly #clock: Countdown;
  #source: CancelSource | undefined;
  readonly #abort = (): void => this.#source?.abort();

  constructor(timeoutMs: number, callerSignal: CancelSignal | undefined) {
    this.timeoutMs = timeoutMs;
    this.callerSignal = callerSignal;
    this.#clock = new Countdown(timeoutMs);
  }

  /** Aborted at the deadline and when the caller gives up. Made when it is asked for: most calls only want to know what is left. */
  get signal(): CancelSignal {
    this.#source ??= this.#makeSource();
    return this.#source;
  }

  /** Milliseconds that are left; 0 when there are none. */
  leftMs(): number {
    return this.#clock.leftMs();
  }

  /** Stops the clock until the function it gives is called. */
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
      // A caller may share its signal among 1,000 calls, which is no leak.
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

/** Gives up waiting with an `AbortError` when `signal` aborts; what was waited for goes on for others. */
export function unlessAborted<Value>(promise: Promise<Value>, signal: CancelSignal | undefined): Promise<Value> {
  if (signal === undefined) {
    return promise;
  }
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(new DOMException('aborted', 'AbortError'));
    const finish = (settle: () => void): void => {
      signal.removeEventListener('abort', abort);
      settle();
    };
    signal.addEventListener('abort', abort, { once: true });
    promise.then(
      (value) => finish(() => resolve(value)),
      (error: unknown) => finish(() => reject(toError(error))),
    );
    if (signal.aborted) {
      abort();
    }
  });
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(messageOf(thrown), { cause: thrown });
}

/** A function that calls `run` at once and then at most once per interval, the last time after the last call. */
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

/** Whether it was thrown because a signal was aborted. */
export function isAbortError(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}
