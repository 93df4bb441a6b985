/**
 * All sessions of one bridge, by name. Different sessions run in parallel; when there are too many, the one that has
 * been idle longest makes room, and its next answer says so.
 */
import { BridgeError } from '../errors.ts';
import { MAX_SESSIONS } from '../limits.ts';
import type { CellAnswer, CellRequest } from './cell.ts';
import { Session, type SessionOptions } from './session.ts';

export interface Sessions {
  /** Runs a cell in the session it names. Rejects with a `BridgeError` when no sandbox can be had. */
  run(request: CellRequest): Promise<CellAnswer>;
  /** Ends every session. */
  close(): Promise<void>;
}

/** Records of sessions without a sandbox that are kept, so that their next answer can tell what was lost. */
const MAX_REMEMBERED = 1_000;

export function createSessions(options: () => Promise<SessionOptions>): Sessions {
  const sessions = new Map<string, Session>();
  let ready: Promise<SessionOptions> | undefined;
  let closed = false;

  function makeRoom(): void {
    const live = [...sessions.values()].filter((session) => session.isLive || session.isBusy);
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
    void idle.end(`${MAX_SESSIONS} sessions are the limit and it had been idle longest`);
  }

  function forgetOldest(): void {
    for (const [name, session] of sessions) {
      if (sessions.size < MAX_REMEMBERED) {
        return;
      }
      if (!session.isLive && !session.isBusy) {
        sessions.delete(name);
      }
    }
  }

  /** A failed preparation is tried again with the next cell: the user may have mended the cause. */
  function prepare(): Promise<SessionOptions> {
    ready ??= options().catch((error: unknown) => {
      ready = undefined;
      throw error;
    });
    return ready;
  }

  return {
    async run(request) {
      const sessionOptions = await prepare();
      if (closed) {
        throw new BridgeError('CELL_CANCELLED', 'the bridge is shutting down');
      }
      let session = sessions.get(request.session);
      if (session === undefined || !(session.isLive || session.isBusy)) {
        makeRoom();
      }
      if (session === undefined) {
        forgetOldest();
        session = new Session(request.session, sessionOptions);
        sessions.set(request.session, session);
      }
      return session.run(request);
    },
    async close() {
      closed = true;
      await Promise.all([...sessions.values()].map((session) => session.end('the bridge was shut down')));
    },
  };
}
