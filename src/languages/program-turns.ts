/** Whose program runs next. One session can start many without keeping others from theirs. */
import { BridgeError } from '../base/errors.ts';
import { limitConcurrency } from '../base/limit-concurrency.ts';
import { MAX_PROGRAMS_AT_ONCE, MAX_PROGRAMS_OF_SESSION, MAX_PROGRAMS_WAITING } from './limits.ts';

interface Line {
  readonly inTurn: ReturnType<typeof limitConcurrency>;
  /** Programs that wait or run. */
  count: number;
}

export class ProgramTurns {
  readonly #inTurn = limitConcurrency(MAX_PROGRAMS_AT_ONCE);
  readonly #lines = new Map<string, Line>();

  /** Runs `work` when it is the session's turn. Rejects with `CALL_REFUSED` if too many of its programs wait. */
  async take<Value>(session: string, work: () => Promise<Value>): Promise<Value> {
    const line = this.#lines.get(session) ?? { inTurn: limitConcurrency(MAX_PROGRAMS_OF_SESSION), count: 0 };
    if (line.count >= MAX_PROGRAMS_OF_SESSION + MAX_PROGRAMS_WAITING) {
      throw new BridgeError('CALL_REFUSED', `${line.count} programs of the session run or wait, which is the limit`, {
        hint: 'Await some of them before you start more.',
      });
    }
    this.#lines.set(session, line);
    line.count += 1;
    try {
      // Each session has few programs in the common line, so no session makes it long for the others.
      return await line.inTurn(() => this.#inTurn(work));
    } finally {
      line.count -= 1;
      if (line.count === 0) {
        this.#lines.delete(session);
      }
    }
  }
}
