/** `setTimeout` and the like. The host wakes the guest for the next one. */

interface Timer {
  readonly run: () => void;
  dueMs: number;
  readonly everyMs: number | undefined;
  isReferenced: boolean;
}

/** The largest delay of Node; larger ones become 1 ms there too. */
const MAX_DELAY_MS = 2_147_483_647;

export class GuestTimers {
  readonly #timers = new Map<number, Timer>();
  readonly #wake: (delayMs: number) => void;
  readonly #fail: (error: unknown) => void;
  #lastId = 0;

  constructor(wake: (delayMs: number) => void, fail: (error: unknown) => void) {
    this.#wake = wake;
    this.#fail = fail;
  }

  get isWaiting(): boolean {
    return [...this.#timers.values()].some(({ isReferenced }) => isReferenced);
  }

  start(run: unknown, delay: unknown, args: readonly unknown[], isRepeated = false): object {
    if (typeof run !== 'function') {
      throw new TypeError('The "callback" argument must be of type function');
    }
    const wished = Number(delay);
    const delayMs = wished >= 1 && wished <= MAX_DELAY_MS ? Math.trunc(wished) : 1;
    this.#lastId += 1;
    const id = this.#lastId;
    const timer: Timer = {
      run: () => Reflect.apply(run, undefined, [...args]),
      dueMs: performance.now() + delayMs,
      everyMs: isRepeated ? delayMs : undefined,
      isReferenced: true,
    };
    this.#timers.set(id, timer);
    this.schedule();
    const handle = {
      [Symbol.toPrimitive]: () => id,
      ref: () => {
        timer.isReferenced = true;
        return handle;
      },
      unref: () => {
        timer.isReferenced = false;
        return handle;
      },
      hasRef: () => timer.isReferenced,
    };
    return handle;
  }

  stop(handle: unknown): void {
    this.#timers.delete(Number(handle ?? 0));
  }

  /** Runs one due timer, because jobs must run between two, and asks to be woken for the next. */
  fire(): void {
    const now = performance.now();
    const [id, timer] = this.#next() ?? [];
    if (id !== undefined && timer !== undefined && timer.dueMs <= now) {
      if (timer.everyMs === undefined) {
        this.#timers.delete(id);
      } else {
        timer.dueMs = now + timer.everyMs;
      }
      try {
        timer.run();
      } catch (error) {
        this.#fail(error);
      }
    }
    this.schedule();
  }

  schedule(): void {
    const next = this.#next();
    if (next !== undefined) {
      this.#wake(Math.max(0, Math.ceil(next[1].dueMs - performance.now())));
    }
  }

  /** The timer that is due first; of those due together, the one that was started first. */
  #next(): [number, Timer] | undefined {
    let first: [number, Timer] | undefined;
    for (const entry of this.#timers) {
      if (first === undefined || entry[1].dueMs < first[1].dueMs) {
        first = entry;
      }
    }
    return first;
  }
}
