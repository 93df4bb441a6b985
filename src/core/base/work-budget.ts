/** Bounds work that is optional but takes the thread, such as suggestions for names that code made up. */

export class WorkBudget {
  readonly #maxMs: number;
  readonly #share: number;
  #leftMs: number;
  #at = performance.now();

  /** Allows `maxMs` of work at once, and `share` of the time in the long run. */
  constructor(maxMs: number, share: number) {
    this.#maxMs = maxMs;
    this.#share = share;
    this.#leftMs = maxMs;
  }

  /** Does the work and returns its result; returns undefined if the budget is used up. */
  spend<Result>(work: () => Result): Result | undefined {
    const startedAt = performance.now();
    this.#leftMs = Math.min(this.#maxMs, this.#leftMs + (startedAt - this.#at) * this.#share);
    this.#at = startedAt;
    if (this.#leftMs <= 0) {
      return undefined;
    }
    try {
      return work();
    } finally {
      this.#leftMs -= performance.now() - startedAt;
    }
  }
}
