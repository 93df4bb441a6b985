/**
 * All sessions of one bridge, by name. Different sessions run in parallel. If there are too many, the one that has been
 * idle longest is ended, and its next answer says so.
 */
import { MAX_SESSIONS } from '../base/limits.ts';
import { Session, type SessionFacts, type SessionOptions, type SessionView, shuttingDown } from './session.ts';
import { SessionRoom, type Tenancy } from './session-room.ts';

/** Sessions without a sandbox that are kept, so that their next answer can report what was lost. */
const MAX_REMEMBERED = 1_000;

interface SessionsOptions extends SessionOptions {
  /** Shared by the bridges of a process; by default the bridge is alone. */
  readonly room?: SessionRoom | undefined;
  /** Whose bridge it is: `maxSessions` is for all bridges of one owner. By default it has no other. */
  readonly owner?: string | undefined;
  /** Sandboxes of this bridge at once; as many as there is room for by default. */
  readonly maxSessions?: number | undefined;
}

export class Sessions {
  readonly #options: SessionOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #room: SessionRoom;
  readonly #tenancy: Tenancy;
  /** The last sandbox of forgotten sessions: numbers are not given again, because records name cells by them. */
  #forgotten = 0;
  #isClosed = false;

  constructor({
    room = new SessionRoom(MAX_SESSIONS),
    maxSessions = MAX_SESSIONS,
    owner,
    ...options
  }: SessionsOptions) {
    this.#options = {
      ...options,
      untilStart: () => room.untilStart(this.#tenancy),
      onSandboxGone: () => room.noteGone(),
    };
    this.#room = room;
    this.#tenancy = {
      maxSessions,
      owner: owner ?? Symbol('alone'),
      sandboxes: () => [...this.#sessions.values()].reduce((count, session) => count + session.sandboxes, 0),
      ahead: () => options.standby?.size ?? 0,
      active: () => [...this.#sessions.values()].filter((session) => session.isLive || session.isBusy),
    };
    room.join(this.#tenancy);
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
      this.#room.makeRoom(this.#tenancy);
    }
    if (known !== undefined) {
      return known;
    }
    this.#forgetOldest();
    const session = new Session(name, this.#options, this.#forgotten);
    this.#sessions.set(name, session);
    return session;
  }

  /** Sessions with a sandbox or a cell, by name. Creates none. */
  list(): SessionFacts[] {
    return [...this.#sessions.values()]
      .flatMap((session) => session.facts() ?? [])
      .toSorted((a, b) => a.name.localeCompare(b.name));
  }

  /** Sessions with a sandbox or a cell, and those that are only saved, by name. */
  views(): SessionView[] {
    return [...this.#sessions.values()]
      .flatMap((session) => session.view() ?? [])
      .toSorted((a, b) => a.name.localeCompare(b.name));
  }

  /** Ends the sandbox of a session, and a cell that runs; false if there is none. */
  async kill(name: string, reason: string): Promise<boolean> {
    return (await this.#sessions.get(name)?.kill(reason)) ?? false;
  }

  /** Saves a session that is not busy and ends its sandbox. False if it is busy or cannot be saved, or has no sandbox. */
  async hibernate(name: string, reason: string): Promise<boolean> {
    return (await this.#sessions.get(name)?.hibernate(reason)) ?? false;
  }

  /** Keeps answers of a session that no client has taken for a later bridge, instead of those before. Never rejects. */
  async keepAnswers(name: string, texts: readonly string[]): Promise<void> {
    await this.#sessions.get(name)?.keepAnswers(texts);
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
    this.#room.leave(this.#tenancy);
  }

  #forgetOldest(): void {
    for (const [name, session] of this.#sessions) {
      if (this.#sessions.size < MAX_REMEMBERED) {
        return;
      }
      if (session.sandboxes === 0 && !session.isBusy) {
        this.#sessions.delete(name);
        this.#forgotten = Math.max(this.#forgotten, session.generation);
        void session.release();
      }
    }
  }
}
