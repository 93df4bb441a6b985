/**
 * The jobs of one sandbox: work that code declared in a cell, so that its calls may come while no cell runs. The sandbox
 * says which job calls; it is believed only for names that were declared while somebody waited for an answer.
 */
import { BridgeError } from '../base/errors.ts';
import { MAX_CALLS_PER_CELL, MAX_JOBS } from '../base/limits.ts';

/** The kernel has the same pattern. */
const NAME = /^\w[\w.-]{0,63}$/;

export class Jobs {
  /** Calls that each running job has made. */
  readonly #calls = new Map<string, number>();

  /** Declares a job. Throws `CALL_REFUSED` for its name, `LIMIT_CALLS` when there are too many. */
  start(name: unknown): null {
    if (typeof name !== 'string' || !NAME.test(name) || this.#calls.has(name)) {
      throw new BridgeError('CALL_REFUSED', `a job cannot be started under the name ${JSON.stringify(name)}`);
    }
    if (this.#calls.size >= MAX_JOBS) {
      throw new BridgeError('LIMIT_CALLS', `${MAX_JOBS} jobs are running in this session, which is the limit`, {
        hint: `Cancel one, or wait for one: ${[...this.#calls.keys()].join(', ')}.`,
      });
    }
    this.#calls.set(name, 0);
    return null;
  }

  end(name: string): void {
    this.#calls.delete(name);
  }

  /** Counts a call; why it is refused, or undefined. */
  reasonToRefuse(name: string): BridgeError | undefined {
    const calls = this.#calls.get(name);
    if (calls === undefined) {
      return new BridgeError('CALL_REFUSED', `there is no running job ${JSON.stringify(name)}`);
    }
    if (calls >= MAX_CALLS_PER_CELL) {
      return new BridgeError('LIMIT_CALLS', `one job may make ${MAX_CALLS_PER_CELL.toLocaleString('en-US')} calls`);
    }
    this.#calls.set(name, calls + 1);
    return undefined;
  }
}
