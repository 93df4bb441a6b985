/** Places for calls that run at the same time; who finds none waits for one, in order. */
import type { CancelSignal } from '../../base/cancel.ts';
import { BridgeError } from '../../base/errors.ts';

export class InFlight {
  readonly #places: number;
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  constructor(places: number) {
    this.#places = places;
  }

  /** Takes a place: at once, when the answer is undefined. Rejects with `CALL_CANCELLED` when the call is given up. */
  take(signal: CancelSignal): Promise<void> | undefined {
    if (this.#taken < this.#places) {
      this.#taken += 1;
      return undefined;
    }
    return new Promise((resolve, reject) => {
      const given = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.delete(given);
        reject(new BridgeError('CALL_CANCELLED', 'the call was cancelled while it waited for others to end'));
      };
      if (signal.aborted) {
        giveUp();
        return;
      }
      this.#waiting.add(given);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  /** Gives a place back: to the one that waits longest, if any. */
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
