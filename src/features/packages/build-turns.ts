/** Who gets a builder next. One session can ask for many packages without keeping others from theirs, nor can one principal. */
import { BridgeError } from '../../core/base/errors.ts';
import { limitConcurrency } from '../../core/base/limit-concurrency.ts';
import { SharedTurns } from '../../core/base/shared-turns.ts';

/** Builders of one principal at once, and half of those of all. Chosen. */
export const MAX_BUILDERS = 2;
/** Requests of a session that wait or run, also those of cancelled cells. Chosen. */
export const MAX_WAITING_PER_SESSION = 16;

/** The requests of a session: one after the other. */
interface Line<Value> {
  readonly inTurn: ReturnType<typeof limitConcurrency>;
  readonly waiting: Map<string, Promise<Value>>;
}

/** Of the process: each principal has a bridge, and one for each profile. */
const builders = new SharedTurns(MAX_BUILDERS);

export class BuildTurns<Value> {
  readonly #owner: object;
  readonly #lines = new Map<string, Line<Value>>();
  readonly #running = new Map<string, Promise<Value>>();

  /** @param owner The same object for all bridges of one principal. */
  constructor(owner: object = {}) {
    this.#owner = owner;
  }

  /**
   * Runs `work` when it is the session's turn, unless the same request runs already, or waits in this session. It does not join
   * one that waits in another session, which may have many before it. Throws `CALL_REFUSED` if too many wait.
   */
  take(session: string, key: string, work: () => Promise<Value>): Promise<Value> {
    const line = this.#lines.get(session) ?? {
      inTurn: limitConcurrency(1),
      waiting: new Map<string, Promise<Value>>(),
    };
    const known = this.#running.get(key) ?? line.waiting.get(key);
    if (known !== undefined) {
      return known;
    }
    if (line.waiting.size >= MAX_WAITING_PER_SESSION) {
      const message = `the session already waits for ${MAX_WAITING_PER_SESSION} installations, which is the limit`;
      throw new BridgeError('CALL_REFUSED', message, {
        hint: 'Await them first, or name several packages in one runtime.install().',
      });
    }
    this.#lines.set(session, line);
    const result = line
      .inTurn(() => builders.take(this.#owner, () => this.#running.get(key) ?? this.#begin(key, work)))
      .finally(() => {
        line.waiting.delete(key);
        if (line.waiting.size === 0) {
          this.#lines.delete(session);
        }
      });
    line.waiting.set(key, result);
    // If every call that waited was cancelled, the next one reports the failure.
    result.catch(() => undefined);
    return result;
  }

  #begin(key: string, work: () => Promise<Value>): Promise<Value> {
    const running = work().finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }
}
