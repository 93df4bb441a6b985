/** How many requests one principal may send: a bucket that fills at a constant rate, so short bursts pass. */

/** A client that reconnects sends many requests at once. Chosen. */
const BURST_SECONDS = 5;

export class RequestRate {
  readonly #perSecond: number;
  readonly #now: () => number;
  #left: number;
  #filledAt: number;

  /** `perSecond` 0 is no limit. `now` is in ms. */
  constructor(perSecond: number, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond;
    this.#now = now;
    this.#left = perSecond * BURST_SECONDS;
    this.#filledAt = now();
  }

  /** Counts a request. Returns 0 if it may be made, otherwise after how many whole seconds to try again; that one is not counted. */
  take(): number {
    if (this.#perSecond === 0) {
      return 0;
    }
    const now = this.#now();
    const earned = ((now - this.#filledAt) / 1000) * this.#perSecond;
    this.#left = Math.min(this.#perSecond * BURST_SECONDS, this.#left + earned);
    this.#filledAt = now;
    if (this.#left < 1) {
      return Math.ceil((1 - this.#left) / this.#perSecond);
    }
    this.#left -= 1;
    return 0;
  }
}
