/**
 * How many sandboxes a process may have at once, for all its bridges together. Over HTTP each principal has a bridge. If there is no
 * room, an idle session makes some: its state is saved, so this costs time, but loses nothing. Meanwhile its sandbox is no session, but it
 * counts as a sandbox: code decides how long it takes to save what it has made.
 */
import { createDeferred } from '../base/deferred.ts';
import { BridgeError } from '../base/errors.ts';
import type { Session } from './session.ts';

/** One bridge. */
export interface Tenancy {
  /** Of all bridges of its owner together. */
  readonly maxSessions: number;
  /** Equal for bridges of the same principal, which has one for each profile. */
  readonly owner: string | symbol;
  /** Its sessions with a sandbox or a cell. */
  active(): readonly Session[];
  /** Its sandboxes, also of sessions that are being saved or ended. */
  sandboxes(): number;
  /** Its sandboxes that were started ahead and that no session has taken. */
  ahead(): number;
}

/** Sandboxes for each session that there may be: one in use, and one that ends. An owner who has none need not wait for those of others. Chosen. */
const SANDBOXES_PER_SESSION = 2;
const SANDBOXES_FOR_FIRST = 3;

export class SessionRoom {
  readonly #maxSessions: number;
  #gone = createDeferred<void>();
  readonly #tenancies = new Set<Tenancy>();

  constructor(maxSessions: number) {
    this.#maxSessions = maxSessions;
  }

  join(tenancy: Tenancy): void {
    this.#tenancies.add(tenancy);
  }

  leave(tenancy: Tenancy): void {
    this.#tenancies.delete(tenancy);
  }

  /** Whether another sandbox may be started ahead. Those count less than sessions: no session waits for their room. */
  hasSpare(): boolean {
    const all = [...this.#tenancies].reduce((sum, one) => sum + one.active().length + one.ahead(), 0);
    return all < this.#maxSessions;
  }

  /** Makes room for another session of a bridge. Throws `SESSION_LIMIT` if all sessions that could end are busy. */
  makeRoom(tenancy: Tenancy): void {
    const byOwner = this.#byOwner();
    const own = byOwner.get(tenancy.owner) ?? [];
    const maxOwn = Math.min(tenancy.maxSessions, this.#maxSessions);
    if (own.length >= maxOwn) {
      if (!endIdlest(own, maxOwn)) {
        throw refusal(own, `${own.length} sessions are running cells, which is the limit`);
      }
      return;
    }
    // Those with the most sessions first, so that one bridge cannot displace the sessions of others.
    const all = [...byOwner.values()].toSorted((a, b) => b.length - a.length);
    const count = all.reduce((sum, { length }) => sum + length, 0);
    if (count >= this.#maxSessions && !all.some((sessions) => endIdlest(sessions, this.#maxSessions))) {
      throw refusal(own, `${count} sessions of all clients are running cells, which is the limit`);
    }
  }

  /** Undefined if a bridge may start a sandbox now; otherwise resolves when one has gone. */
  untilStart({ maxSessions, owner }: Tenancy): Promise<void> | undefined {
    const sum = (some: readonly Tenancy[]): number => some.reduce((count, one) => count + one.sandboxes(), 0);
    const all = [...this.#tenancies];
    const own = sum(all.filter((one) => one.owner === owner));
    const maxOwn = SANDBOXES_PER_SESSION * Math.min(maxSessions, this.#maxSessions);
    const maxAll = (own === 0 ? SANDBOXES_FOR_FIRST : SANDBOXES_PER_SESSION) * this.#maxSessions;
    return own < maxOwn && sum(all) < maxAll ? undefined : this.#gone.promise;
  }

  /** A sandbox is gone. */
  noteGone(): void {
    this.#gone.resolve();
    this.#gone = createDeferred<void>();
  }

  #byOwner(): ReadonlyMap<Tenancy['owner'], readonly Session[]> {
    const sessions = new Map<Tenancy['owner'], readonly Session[]>();
    for (const one of this.#tenancies) {
      sessions.set(one.owner, [...(sessions.get(one.owner) ?? []), ...one.active()]);
    }
    return sessions;
  }
}

/** Returns whether there was an idle one. */
function endIdlest(sessions: readonly Session[], limit: number): boolean {
  const idle = sessions.filter((session) => !session.isBusy).toSorted((a, b) => a.lastUsed - b.lastUsed);
  void endFirst(idle, `${limit} sessions are the limit and it had been idle longest`);
  return idle.length > 0;
}

/** Ends the first that can be saved. Only if none can, the first one loses its state, and its next answer says what. */
async function endFirst(idle: readonly Session[], reason: string): Promise<void> {
  for (const session of idle) {
    if (await session.hibernate(reason)) {
      return;
    }
  }
  await idle.find((session) => session.isLive && !session.isBusy)?.endIdle(reason);
}

/** Names only sessions of the same bridge: others may belong to someone else. */
function refusal(own: readonly Session[], message: string): BridgeError {
  const names = own.map(({ name }) => name).join(', ');
  const hint =
    own.length === 0
      ? 'Try again when one of them is done.'
      : `Use one of yours (${names}), or wait until one is done.`;
  return new BridgeError('SESSION_LIMIT', message, { hint });
}
