/** What limits count: calls of one cell, calls in the last minute, and calls in flight. */
import type { CancelSignal } from '../../../core/base/cancel.ts';
import { CappedMap } from '../../../core/base/capped-map.ts';
import { BridgeError } from '../../../core/base/errors.ts';

const MINUTE_MS = 60_000;
/** Sessions without a sandbox, such as those of commands, whose calls are counted. Chosen. */
const MAX_SESSIONS = 1_000;
/** Cells of one sandbox whose calls are counted. Chosen: more than can have calls at the same time. */
const MAX_CELLS = 10_000;

export interface Caller {
  readonly session: string;
  /** That of the session; undefined for a caller that has none. */
  readonly sandbox?: object | undefined;
  /** 0 for a call from a background job. */
  readonly cell: number;
}

interface CountedCells {
  latest: number;
  readonly calls: CappedMap<number, number>;
}

/** Calls made by each cell. Those of an earlier cell can still arrive while another one makes its own. */
export class CallsOfCell {
  readonly #ofSandbox = new WeakMap<object, CountedCells>();
  readonly #ofSession = new CappedMap<string, CountedCells>(MAX_SESSIONS);

  /** Calls so far. A job counts toward the latest cell of its session; with a count of its own it could bypass the limit. */
  count(caller: Caller): number {
    const { calls, latest } = this.#cellsOf(caller);
    return calls.get(caller.cell || latest) ?? 0;
  }

  add(caller: Caller): void {
    const cells = this.#cellsOf(caller);
    cells.latest = Math.max(cells.latest, caller.cell);
    cells.calls.set(caller.cell || cells.latest, this.count(caller) + 1);
  }

  #cellsOf({ sandbox, session }: Caller): CountedCells {
    const known = sandbox === undefined ? this.#ofSession.get(session) : this.#ofSandbox.get(sandbox);
    const cells = known ?? { latest: 0, calls: new CappedMap<number, number>(MAX_CELLS) };
    if (sandbox === undefined) {
      this.#ofSession.set(session, cells);
    } else if (known === undefined) {
      this.#ofSandbox.set(sandbox, cells);
    }
    return cells;
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
