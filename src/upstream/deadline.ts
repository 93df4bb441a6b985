/** Waiting with an end: deadlines, abort signals, and calls that come too often. */
import { setMaxListeners } from 'node:events';
import { type CancelSignal, CancelSource } from '../cancel.ts';
import { startCountdown } from '../countdown.ts';
import { messageOf } from '../errors.ts';

export interface Deadline {
  /** Aborted at the deadline and when the caller gives up. */
  readonly signal: CancelSignal;
  /** Aborted only when the caller gives up. */
  readonly callerSignal: CancelSignal | undefined;
  readonly timeoutMs: number;
  /** Milliseconds that are left; 0 when there are none. */
  leftMs(): number;
  /** Stops the clock until the function it gives is called. */
  hold(): () => void;
  clear(): void;
}

/**
 * A deadline `timeoutMs` from now that also ends with `signal`. Not `AbortSignal.any` of `AbortSignal.timeout`: Node 20
 * collects these while they are waited for, and then they never fire (seen as a start that took 5 s instead of 0.7 s).
 */
export function createDeadline(timeoutMs: number, signal: CancelSignal | undefined): Deadline {
  const controller = new CancelSource();
  const abort = (): void => controller.abort();
  const clock = startCountdown(timeoutMs, abort);
  if (signal instanceof AbortSignal) {
    // A caller may share its signal among 1,000 calls, which is no leak.
    setMaxListeners(0, signal);
  }
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) {
    abort();
  }
  return {
    signal: controller.signal,
    callerSignal: signal,
    timeoutMs,
    leftMs: () => clock.leftMs(),
    hold: () => clock.hold(),
    clear() {
      clock.stop();
      signal?.removeEventListener('abort', abort);
    },
  };
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
