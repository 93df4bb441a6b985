/**
 * The person as the calls of one cell reach them. Questions are put one after the other, each waits only so long, and
 * from the first to the last of them the clock of the cell stands still.
 */
import type { CancelSignal } from '../base/cancel.ts';
import type { Person, Question, Reply } from '../base/cell.ts';
import type { Countdown } from '../base/countdown.ts';
import { BridgeError, messageOf } from '../base/errors.ts';
import { MAX_QUESTIONS_PER_CELL } from '../base/limits.ts';

/** What a call of a running cell may use. One object for each cell. */
export interface Asker {
  /** Source of the cell. */
  readonly code: string;
  /** Whether a question may be a page to open. */
  readonly opensPages: boolean;
  /**
   * Puts a question and waits for the reply. Rejects with `APPROVAL_TIMEOUT`, with `APPROVAL_UNAVAILABLE` when the client
   * fails or the cell has asked too often, and with `CALL_CANCELLED` when `signal` aborts or the cell ends.
   */
  ask(question: Question, signal: CancelSignal): Promise<Reply>;
}

export interface AskerOptions {
  readonly person: Person;
  readonly code: string;
  /** Of the cell. */
  readonly clock: Countdown;
  /** How long one question waits. */
  readonly timeoutMs: number;
}

export class CellAsker implements Asker {
  readonly #options: AskerOptions;
  readonly #closing = new AbortController();
  #turn: Promise<unknown> = Promise.resolve();
  #asked = 0;
  #waiting = 0;
  #hasTimedOut = false;

  constructor(options: AskerOptions) {
    this.#options = options;
  }

  get code(): string {
    return this.#options.code;
  }

  get opensPages(): boolean {
    return this.#options.person.opensPages;
  }

  /** Whether a question is open. */
  get isWaiting(): boolean {
    return this.#waiting > 0;
  }

  async ask(question: Question, signal: CancelSignal): Promise<Reply> {
    this.#asked += 1;
    if (this.#asked > MAX_QUESTIONS_PER_CELL) {
      throw tooMany();
    }
    const release = this.#options.clock.hold();
    this.#waiting += 1;
    const reply = this.#turn.then(() => this.#put(question, signal));
    this.#turn = reply.catch(() => undefined);
    try {
      return await reply;
    } finally {
      this.#waiting -= 1;
      release();
    }
  }

  /** The cell has ended: questions that are open are taken back, and no more are put. */
  close(): void {
    this.#closing.abort();
  }

  async #put(question: Question, signal: CancelSignal): Promise<Reply> {
    const { person, timeoutMs } = this.#options;
    const open = new AbortController();
    let reason: BridgeError | undefined;
    const takeBack = (why: BridgeError): void => {
      reason ??= why;
      open.abort();
    };
    const onCancel = (): void => takeBack(new BridgeError('CALL_CANCELLED', 'the call that asked was ended'));
    const ends = [signal, this.#closing.signal];
    if (ends.some(({ aborted }) => aborted)) {
      onCancel();
    } else if (this.#hasTimedOut) {
      takeBack(timedOut('an earlier question of this cell got no answer in time, so no further one is put'));
    }
    const timer = setTimeout(() => {
      this.#hasTimedOut = true;
      takeBack(timedOut(`nobody answered the question within ${timeoutMs / 1000} s`));
    }, timeoutMs);
    ends.forEach((end) => end.addEventListener('abort', onCancel, { once: true }));
    try {
      open.signal.throwIfAborted();
      return await person.ask(question, open.signal);
    } catch (error) {
      throw reason ?? failed(error);
    } finally {
      clearTimeout(timer);
      ends.forEach((end) => end.removeEventListener('abort', onCancel));
    }
  }
}

/** The same way to the person, on which a further clock stands still. */
export function holdWhileAsking(asker: Asker, clock: Countdown): Asker {
  return {
    code: asker.code,
    opensPages: asker.opensPages,
    async ask(question, signal) {
      const release = clock.hold();
      try {
        return await asker.ask(question, signal);
      } finally {
        release();
      }
    },
  };
}

function timedOut(message: string): BridgeError {
  return new BridgeError('APPROVAL_TIMEOUT', message, {
    hint: 'Tell the person what will be asked, then run it again; MCP_BRIDGE_APPROVAL_TIMEOUT is how long a question waits.',
  });
}

function failed(cause: unknown): BridgeError {
  return new BridgeError('APPROVAL_UNAVAILABLE', `the client could not ask the person: ${messageOf(cause)}`, { cause });
}

function tooMany(): BridgeError {
  return new BridgeError('APPROVAL_UNAVAILABLE', `one cell may ask the person ${MAX_QUESTIONS_PER_CELL} times`, {
    hint: 'Do less in one cell, or ask for an answer that holds for the whole cell or session.',
  });
}
