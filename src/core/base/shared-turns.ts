/**
 * Work of which a process does only so much at once, for all its principals together. Each of them has at most half of it, so one that
 * starts much does not keep another waiting.
 */
import { limitConcurrency } from './limit-concurrency.ts';

export class SharedTurns {
  readonly #maxOfOne: number;
  readonly #all: ReturnType<typeof limitConcurrency>;
  readonly #byOwner = new WeakMap<object, ReturnType<typeof limitConcurrency>>();

  constructor(maxOfOne: number) {
    this.#maxOfOne = maxOfOne;
    this.#all = limitConcurrency(2 * maxOfOne);
  }

  /** Runs `work` when it is its turn. `owner` is the same object for everything of one principal. */
  take<Value>(owner: object, work: () => Promise<Value>): Promise<Value> {
    const own = this.#byOwner.get(owner) ?? limitConcurrency(this.#maxOfOne);
    this.#byOwner.set(owner, own);
    return own(() => this.#all(work));
  }
}
