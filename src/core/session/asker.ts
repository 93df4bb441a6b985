/**
 * Asks the person on behalf of the calls of one cell. Questions are asked one after the other, each with a time limit. While
 * any question is open, the clock of the cell is stopped.
 */
import type { CancelSignal } from '../base/cancel.ts';
import type { Person, Question, Reply } from '../base/cell.ts';
import type { Countdown } from '../base/countdown.ts';
import { BridgeError, messageOf } from '../base/errors.ts';
import { MAX_QUESTIONS_PER_CELL } from '../base/limits.ts';

/** Asks the person for the calls of one running cell. */
export interface Asker {
  /** Source code of the cell. */
  readonly code: string;
  /** Whether the client can open a page for a question. */
  readonly opensPages: boolean;
  /**
   * Asks a question and waits for the reply. Rejects with `APPROVAL_TIMEOUT`, with `APPROVAL_UNAVAILABLE` if the client
   * fails or the cell has asked too often, and with `CALL_CANCELLED` if `signal` aborts or the cell ends.
   */
  ask(question: Question, signal: CancelSignal): Promise<Reply>;
}

export interface AskerOptions {
  readonly person: Person;
  readonly code: string;
  /** The clock of the cell. */
  readonly clock: Countdown;
  /** How long one question waits for its reply. */
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
    const reply = this.#turn.then(() => this.#askNow(question, signal));
    this.#turn = reply.catch(() => undefined);
    try {
      return await reply;
    } finally {
      this.#waiting -= 1;
      release();
    }
  }

  /** Ends with the cell: withdraws open questions and asks no more. */
  close(): void {
    this.#closing.abort();
  }

  async #askNow(question: Question, signal: CancelSignal): Promise<Reply> {
    const { person, timeoutMs } = this.#options;
    const open = new AbortController();
    let reason: BridgeError | undefined;
    const withdraw = (why: BridgeError): void => {
      reason ??= why;
      open.abort();
    };
    const onCancel = (): void => withdraw(new BridgeError('CALL_CANCELLED', 'the call that asked was ended'));
    const ends = [signal, this.#closing.signal];
    if (ends.some(({ aborted }) => aborted)) {
      onCancel();
    } else if (this.#hasTimedOut) {
      withdraw(timedOut('an earlier question of this cell got no answer in time, so this one was not asked'));
    }
    const timer = setTimeout(() => {
      this.#hasTimedOut = true;
      withdraw(timedOut(`no one answered the question within ${timeoutMs / 1000} s`));
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

/** The same asker, which also stops `clock` while a question is open. */
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
    hint: 'Tell the person what will be asked, then run the cell again. MCP_BRIDGE_APPROVAL_TIMEOUT sets how long a question waits.',
  });
}

function failed(cause: unknown): BridgeError {
  return new BridgeError('APPROVAL_UNAVAILABLE', `the client could not ask the person: ${messageOf(cause)}`, { cause });
}

function tooMany(): BridgeError {
  return new BridgeError(
    'APPROVAL_UNAVAILABLE',
    `one cell may ask the person at most ${MAX_QUESTIONS_PER_CELL} times`,
    {
      hint: 'Do less in one cell, or ask the person to approve the calls for the whole cell or session.',
    },
  );
}
