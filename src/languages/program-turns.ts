/** Whose program runs next. One session can start many without keeping others from theirs, nor can one principal. */
import { BridgeError } from '../base/errors.ts';
import { limitConcurrency } from '../base/limit-concurrency.ts';
import { SharedTurns } from '../base/shared-turns.ts';
import { MAX_PROGRAMS_AT_ONCE, MAX_PROGRAMS_OF_SESSION, MAX_PROGRAMS_WAITING } from './limits.ts';

interface Line {
  readonly inTurn: ReturnType<typeof limitConcurrency>;
  /** Programs that wait or run. */
  count: number;
}

export class ProgramTurns {
  readonly #turns = new SharedTurns(MAX_PROGRAMS_AT_ONCE);
  /** By owner and session: every principal may have a session of the same name. */
  readonly #lines = new WeakMap<object, Map<string, Line>>();

  /**
   * Runs `work` when it is the session's turn. `owner` is the same object for all sessions of one principal. Rejects with
   * `CALL_REFUSED` if too many programs of the session wait.
   */
  async take<Value>(owner: object, session: string, work: () => Promise<Value>): Promise<Value> {
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
