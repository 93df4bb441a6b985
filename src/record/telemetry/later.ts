/**
 * Work of telemetry that no answer has to wait for: attributes, ends of spans and measured values, in their order. It is done many at
 * a time, because a client that gets its answer may send the next request at once.
 */
export class Later {
  readonly #report: (error: unknown) => void;
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param report gets what a piece of work throws; nothing else happens then. */
  constructor(report: (error: unknown) => void) {
    this.#report = report;
  }

  do(work: () => void): void {
    if (this.#waiting.push(work) >= MOST_AT_ONCE) {
      this.finish();
      return;
    }
    this.#timer ??= setTimeout(() => this.finish(), DELAY_MS).unref();
  }

  /** Does at once what waits, and what that leaves for later. */
  finish(): void {
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      waiting.forEach((work) => this.#try(work));
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #try(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#report(error);
    }
  }
}

/** Chosen: far shorter than the intervals at which the SDK sends. */
const DELAY_MS = 100;
/** Chosen: bounds the turn of the event loop and the memory. */
const MOST_AT_ONCE = 1_000;
