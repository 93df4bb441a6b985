/**
 * The jobs of one sandbox: work that a cell has started and whose calls may arrive while no cell runs. The sandbox says which
 * job makes a call; the host accepts only names that a running cell has started.
 */
import { BridgeError } from '../base/errors.ts';
import { MAX_CALLS_PER_CELL, MAX_JOBS } from '../base/limits.ts';

/** Of jobs and checkpoints. The kernel uses the same pattern. */
export const JOB_NAME = /^\w[\w.-]{0,63}$/;

export class Jobs {
  /** Number of calls of each running job. */
  readonly #calls = new Map<string, number>();

  /** Starts a job. Throws `CALL_REFUSED` for an invalid or used name, `LIMIT_CALLS` if too many jobs run. */
  start(name: unknown): null {
    if (typeof name !== 'string' || !JOB_NAME.test(name) || this.#calls.has(name)) {
      throw new BridgeError('CALL_REFUSED', whyNotNamed(name));
    }
    if (this.#calls.size >= MAX_JOBS) {
      throw new BridgeError('LIMIT_CALLS', `${MAX_JOBS} jobs are running in this session, which is the limit`, {
        hint: `Cancel one or wait for one: ${[...this.#calls.keys()].join(', ')}.`,
      });
    }
    this.#calls.set(name, 0);
    return null;
  }

  /** The one that has run longest; undefined if none runs. */
  first(): string | undefined {
    return this.#calls.keys().next().value;
  }

  isRunning(name: string): boolean {
    return this.#calls.has(name);
  }

  end(name: string): void {
    this.#calls.delete(name);
  }

  /** Counts a call. Returns the reason if it is refused. */
  reasonToRefuse(name: string): BridgeError | undefined {
    const calls = this.#calls.get(name);
    if (calls === undefined) {
      return new BridgeError(
        'CALL_REFUSED',
        `there is no running job${JOB_NAME.test(name) ? ` '${name}'` : ' of that name'}`,
      );
    }
    if (calls >= MAX_CALLS_PER_CELL) {
      return new BridgeError(
        'LIMIT_CALLS',
        `one job may make at most ${MAX_CALLS_PER_CELL.toLocaleString('en-US')} calls`,
      );
    }
    this.#calls.set(name, calls + 1);
    return undefined;
  }
}

/** Repeats only a valid name: others may be megabytes, or hold what the host must not show. */
function whyNotNamed(name: unknown): string {
  return typeof name === 'string' && JOB_NAME.test(name)
    ? `a job named '${name}' is running already`
    : 'the name of a job must have 1 to 64 letters, digits and "_.-"';
}
