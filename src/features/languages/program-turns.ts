/** Whose program runs next. One session can start many without keeping others from theirs, nor can one principal. */
import { BridgeError } from '../../core/base/errors.ts';
import { limitConcurrency } from '../../core/base/limit-concurrency.ts';
import { SharedTurns } from '../../core/base/shared-turns.ts';
import {
  MAX_PROGRAMS_AT_ONCE,
  MAX_PROGRAMS_OF_SESSION,
  MAX_PROGRAMS_WAITING,
  MAX_WAITING_INPUT_BYTES,
} from './limits.ts';

interface Line {
  readonly inTurn: ReturnType<typeof limitConcurrency>;
  /** Programs that wait or run. */
  count: number;
}

interface WaitingProgram {
  /** The same object for all sessions of one principal. */
  readonly owner: object;
  readonly session: string;
  /** Of its files. */
  readonly inputBytes: number;
}

export class ProgramTurns {
  readonly #turns = new SharedTurns(MAX_PROGRAMS_AT_ONCE);
  /** By owner and session: every principal may have a session of the same name. */
  readonly #lines = new WeakMap<object, Map<string, Line>>();
  /** Input of the programs that wait or run, by owner. */
  readonly #bytesOf = new WeakMap<object, number>();

  /** Runs `work` when it is its turn. Rejects with `CALL_REFUSED` if too many programs wait, or too much of their input. */
  async take<Value>(program: WaitingProgram, work: () => Promise<Value>): Promise<Value> {
    const { inputBytes, owner } = program;
    const before = this.#bytesOf.get(owner) ?? 0;
    if (before > 0 && before + inputBytes > MAX_WAITING_INPUT_BYTES) {
      const [all, limit] = [before + inputBytes, MAX_WAITING_INPUT_BYTES].map((one) => one.toLocaleString('en-US'));
      const message = `the files of programs that run or wait would have ${all} bytes, and the limit is ${limit} bytes`;
      throw new BridgeError('CALL_REFUSED', message, { hint: 'Await some of them before you start more.' });
    }
    this.#bytesOf.set(owner, before + inputBytes);
    try {
      return await this.#inLine(program, work);
    } finally {
      this.#bytesOf.set(owner, (this.#bytesOf.get(owner) ?? 0) - inputBytes);
    }
  }

  async #inLine<Value>({ owner, session }: WaitingProgram, work: () => Promise<Value>): Promise<Value> {
    const lines = this.#lines.get(owner) ?? new Map<string, Line>();
    const line = lines.get(session) ?? { inTurn: limitConcurrency(MAX_PROGRAMS_OF_SESSION), count: 0 };
    if (line.count >= MAX_PROGRAMS_OF_SESSION + MAX_PROGRAMS_WAITING) {
      throw new BridgeError('CALL_REFUSED', `${line.count} programs of the session run or wait, which is the limit`, {
        hint: 'Await some of them before you start more.',
      });
    }
    this.#lines.set(owner, lines.set(session, line));
    line.count += 1;
    try {
      // Each session has few programs in the common line, so no session makes it long for the others.
      return await line.inTurn(() => this.#turns.take(owner, work));
    } finally {
      line.count -= 1;
      if (line.count === 0) {
        lines.delete(session);
      }
    }
  }
}
