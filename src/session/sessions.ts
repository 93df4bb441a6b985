/**
 * All sessions of one bridge, by name. Different sessions run in parallel. If there are too many, the one that has been
 * idle longest is ended, and its next answer says so.
 */
import { BridgeError } from '../base/errors.ts';
import { MAX_SESSIONS } from '../base/limits.ts';
import { Session, type SessionFacts, type SessionOptions, shuttingDown } from './session.ts';

/** Sessions without a sandbox that are kept, so that their next answer can report what was lost. */
const MAX_REMEMBERED = 1_000;

export class Sessions {
  readonly #options: SessionOptions;
  readonly #sessions = new Map<string, Session>();
  #isClosed = false;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /**
   * The session of this name, with room for its sandbox: run a cell in it at once. Throws `SESSION_LIMIT` if every session
   * is busy, and `CELL_CANCELLED` after `close`.
   */
  get(name: string): Session {
    if (this.#isClosed) {
      throw shuttingDown();
    }
    const known = this.#sessions.get(name);
    if (known === undefined || !(known.isLive || known.isBusy)) {
      this.#makeRoom();
    }
    if (known !== undefined) {
      return known;
    }
    this.#forgetOldest();
    const session = new Session(name, this.#options);
    this.#sessions.set(name, session);
    return session;
  }

  /** Sessions with a sandbox or a cell, by name. Creates none. */
  list(): SessionFacts[] {
    return [...this.#sessions.values()]
      .flatMap((session) => session.facts() ?? [])
      .toSorted((a, b) => a.name.localeCompare(b.name));
  }

  /** Resets a session; false if this bridge has run no cell in one of this name. Creates none. */
  async reset(name: string): Promise<boolean> {
    const session = this.#sessions.get(name);
    await session?.reset();
    return session !== undefined;
  }

  /** Ends every session. Cells that run or wait are answered first, with the reason. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#sessions.values()].map((session) => session.end('the bridge was shut down')));
  }

  /** Ends the session that has been idle longest if the limit is reached. */
  #makeRoom(): void {
    const live = [...this.#sessions.values()].filter((session) => session.isLive || session.isBusy);
    if (live.length < MAX_SESSIONS) {
      return;
    }
    const idle = live.filter((session) => !session.isBusy).toSorted((a, b) => a.lastUsed - b.lastUsed)[0];
    if (idle === undefined) {
      const names = live.map(({ name }) => name).join(', ');
      throw new BridgeError('SESSION_LIMIT', `${live.length} sessions are running cells, which is the limit`, {
        hint: `Use one of them (${names}), or wait until one is done.`,
      });
    }
    void idle.endIdle(`${MAX_SESSIONS} sessions are the limit and it had been idle longest`);
  }

  #forgetOldest(): void {
    for (const [name, session] of this.#sessions) {
      if (this.#sessions.size < MAX_REMEMBERED) {
        return;
      }
      if (!session.isLive && !session.isBusy) {
        this.#sessions.delete(name);
        void session.release();
      }
    }
  }
}
