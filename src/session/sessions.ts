/**
 * All sessions of one bridge, by name. Different sessions run in parallel; when there are too many, the one that has
 * been idle longest makes room, and its next answer says so.
 */

import type { CellAnswer, CellRequest } from '../base/cell.ts';
import { BridgeError, toBridgeError } from '../base/errors.ts';
import { MAX_SESSIONS } from '../base/limits.ts';
import { Session, type SessionOptions } from './session.ts';

/** Records of sessions without a sandbox that are kept, so that their next answer can tell what was lost. */
const MAX_REMEMBERED = 1_000;

export class Sessions {
  readonly #options: SessionOptions;
  readonly #sessions = new Map<string, Session>();
  #isClosed = false;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Runs a cell in the session it names. Rejects with a `BridgeError` when no sandbox can be had. */
  async run(request: CellRequest): Promise<CellAnswer> {
    try {
      return await this.#run(request);
    } catch (error) {
      this.#options.recorder?.cellRefused(request, toBridgeError(error));
      throw error;
    }
  }

  async #run(request: CellRequest): Promise<CellAnswer> {
    if (this.#isClosed) {
      throw new BridgeError('CELL_CANCELLED', 'the bridge is shutting down');
    }
    let session = this.#sessions.get(request.session);
    if (session === undefined || !(session.isLive || session.isBusy)) {
      this.#makeRoom();
    }
    if (session === undefined) {
      this.#forgetOldest();
      session = new Session(request.session, this.#options);
      this.#sessions.set(request.session, session);
    }
    return session.run(request);
  }

  /** Ends every session; cells in flight are answered first, with the reason. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#sessions.values()].map((session) => session.end('the bridge was shut down')));
  }

  /** Ends the session that has been idle longest, when there are as many as may be. */
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
      }
    }
  }
}
