/**
 * What is prepared before the first cell, so that the cell need not wait for it. Clients start bridges and discard them, so it begins
 * only when the client has listed the tools and is still there a moment later.
 */
import type { AbsentPerson } from '../../core/base/cell.ts';
import { messageOf } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';

/** Chosen: a client that only looks at the tools is gone by then, and an agent has not written its first cell. */
const DELAY_MS = 1_500;

export interface WarmUpTask {
  /** For the log. */
  readonly name: string;
  run(person: AbsentPerson | undefined): Promise<void>;
}

export class WarmUp {
  readonly #tasks: readonly WarmUpTask[];
  readonly #logger: Logger;
  readonly #delayMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(tasks: readonly WarmUpTask[], logger: Logger, delayMs = DELAY_MS) {
    this.#tasks = tasks;
    this.#logger = logger;
    this.#delayMs = delayMs;
  }

  /** Runs each task once, some time after the first call. */
  toolsListed(person: AbsentPerson | undefined): void {
    if (this.#timer === undefined && !this.#isClosed) {
      this.#timer = setTimeout(
        () => this.#tasks.forEach((task) => void this.#run(task, person)),
        this.#delayMs,
      ).unref();
    }
  }

  /** Runs no task any more. A running one ends with the bridge. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #run(task: WarmUpTask, person: AbsentPerson | undefined): Promise<void> {
    try {
      await task.run(person);
    } catch (error) {
      // The first cell tries again and reports the failure to the client.
      this.#logger.debug(`Could not prepare ${task.name}: ${messageOf(error)}`);
    }
  }
}
