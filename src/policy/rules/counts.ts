/** Counts of calls: of a cell, and of the last minute. */

const MINUTE_MS = 60_000;
/** Sessions that are counted apart; as many as the host remembers. */
const MAX_SESSIONS = 1_000;

/** What a count needs to know of who calls. */
export interface Caller {
  readonly session: string;
  /** 0 for a call of a job. */
  readonly cell: number;
}

/** Calls in the cell that a session runs now. */
export class CallsOfCell {
  readonly #bySession = new Map<string, { cell: number; calls: number }>();

  /** Calls counted so far. A job counts with the last cell of its session: as a cell of its own it would be a way around. */
  count({ session, cell }: Caller): number {
    const known = this.#bySession.get(session);
    return known === undefined || (cell !== 0 && cell !== known.cell) ? 0 : known.calls;
  }

  add({ session, cell }: Caller): void {
    const known = this.#bySession.get(session);
    const calls = this.count({ session, cell }) + 1;
    this.#bySession.delete(session);
    this.#bySession.set(session, { cell: cell === 0 ? (known?.cell ?? 0) : cell, calls });
    const [oldest] = this.#bySession.keys();
    if (this.#bySession.size > MAX_SESSIONS && oldest !== undefined) {
      this.#bySession.delete(oldest);
    }
  }
}

/** Calls in the 60 seconds before now, whatever the minute on the clock; exact, and as long as the limit is large. */
export class CallsOfMinute {
  readonly #times: Float64Array;
  #next = 0;

  constructor(limit: number) {
    this.#times = new Float64Array(limit).fill(Number.NEGATIVE_INFINITY);
  }

  /** Milliseconds until one more call fits; 0 when it does now. */
  waitMs(nowMs: number): number {
    return Math.max(0, (this.#times[this.#next] ?? 0) + MINUTE_MS - nowMs);
  }

  add(nowMs: number): void {
    this.#times[this.#next] = nowMs;
    this.#next = (this.#next + 1) % this.#times.length;
  }
}
