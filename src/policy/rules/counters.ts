/** What limits count: calls of one cell, calls in the last minute, and calls in flight. */
import type { CancelSignal } from '../../base/cancel.ts';
import { CappedMap } from '../../base/capped-map.ts';
import { BridgeError } from '../../base/errors.ts';

const MINUTE_MS = 60_000;
/** Sessions whose calls are counted; the host remembers as many. */
const MAX_SESSIONS = 1_000;

export interface Caller {
  readonly session: string;
  /** 0 for a call from a background job. */
  readonly cell: number;
}

/** Calls made by the current cell of each session. */
export class CallsOfCell {
  readonly #bySession = new CappedMap<string, { cell: number; calls: number }>(MAX_SESSIONS);

  /** Calls so far. A job counts toward the latest cell of its session; with a count of its own it could bypass the limit. */
  count({ session, cell }: Caller): number {
    const known = this.#bySession.get(session);
    return known === undefined || (cell !== 0 && cell !== known.cell) ? 0 : known.calls;
  }

  add({ session, cell }: Caller): void {
    const known = this.#bySession.get(session);
    const calls = this.count({ session, cell }) + 1;
    this.#bySession.set(session, { cell: cell === 0 ? (known?.cell ?? 0) : cell, calls });
  }
}

/** Calls in the last 60 seconds. Exact: a ring buffer with one time per call that the limit allows. */
export class CallsOfMinute {
  readonly #times: Float64Array;
  #next = 0;

  constructor(limit: number) {
    this.#times = new Float64Array(limit).fill(Number.NEGATIVE_INFINITY);
  }

  /** Milliseconds until the next call is allowed; 0 if it is allowed now. */
  waitMs(nowMs: number): number {
    return Math.max(0, (this.#times[this.#next] ?? 0) + MINUTE_MS - nowMs);
  }

  add(nowMs: number): void {
    this.#times[this.#next] = nowMs;
    this.#next = (this.#next + 1) % this.#times.length;
  }
}

/** A semaphore: slots for concurrent calls, handed out in the order of the requests. */
export class InFlight {
  readonly #slots: number;
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  constructor(slots: number) {
    this.#slots = slots;
  }

  /** Takes a slot, at once if the result is undefined. Rejects with `CALL_CANCELLED` if `signal` aborts first. */
  take(signal: CancelSignal): Promise<void> | undefined {
    if (this.#taken < this.#slots) {
      this.#taken += 1;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const proceed = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.delete(proceed);
        reject(new BridgeError('CALL_CANCELLED', 'the call was cancelled while it waited for other calls to finish'));
      };
      if (signal.aborted) {
        giveUp();
        return;
      }
      this.#waiting.add(proceed);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Frees a slot, or hands it to the call that has waited longest. */
  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#taken -= 1;
    } else {
      this.#waiting.delete(next);
      next();
    }
  }
}
