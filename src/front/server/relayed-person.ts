/** The person of a call that several requests wait for, one after the other. */
import { unlessAborted } from '../../core/base/cancel.ts';
import type { Person } from '../../core/base/cell.ts';
import { createDeferred } from '../../core/base/deferred.ts';

/** A request whose client can ask the person, and what to do while it does. */
interface Asking {
  readonly person: Person | undefined;
  /** Called before a question; what it returns is called after that. */
  readonly hold?: (() => (() => void) | undefined) | undefined;
}

/** Asks at the request that waits; if none does, at the next one. A question whose request is gone is asked again. */
export class RelayedPerson implements Person {
  readonly opensPages: boolean;
  #asking: Asking | undefined;
  #arrived = createDeferred<void>();
  #open = 0;

  constructor({ opensPages }: Pick<Person, 'opensPages'>) {
    this.opensPages = opensPages;
  }

  /** Whether a question has no reply yet. */
  get hasQuestion(): boolean {
    return this.#open > 0;
  }

  /** Undefined if no request waits any more. */
  attach(asking: Asking | undefined): void {
    this.#asking = asking;
    this.#arrived.resolve();
    this.#arrived = createDeferred();
  }

  async ask(...[question, signal]: Parameters<Person['ask']>): ReturnType<Person['ask']> {
    this.#open += 1;
    try {
      for (;;) {
        const asking = this.#asking;
        if (asking?.person === undefined) {
          await unlessAborted(this.#arrived.promise, signal);
          continue;
        }
        const resume = asking.hold?.();
        try {
          return await asking.person.ask(question, signal);
        } catch (error) {
          if (this.#asking === asking || signal.aborted) {
            throw error;
          }
        } finally {
          resume?.();
        }
      }
    } finally {
      this.#open -= 1;
    }
  }
}
