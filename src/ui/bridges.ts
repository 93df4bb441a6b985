/**
 * The running bridges, as the page sees them: asked one by one, with their events merged into one stream. They are looked for again
 * every second while someone reads events. One that does not answer is left out.
 */
import type { LiveClient } from '../local-api/client.ts';
import type { BridgeInfo, LiveApproval, LiveServer, LiveSession } from '../local-api/schema.ts';
import { UiRefusal } from './refusal.ts';
import type { UiEvent } from './schema.ts';

const LOOK_MS = 1_000;
/** A bridge that has not let us read its events by then does not hold up the others. Chosen. */
const OPEN_MS = 2_000;

export type FindBridges = () => Promise<readonly LiveClient[]>;
export type ReadEvent = (event: UiEvent) => void;

/** A bridge and what it does now. */
export interface SeenBridge {
  readonly id: string;
  readonly info: BridgeInfo;
  readonly sessions: readonly LiveSession[];
  readonly approvals: readonly LiveApproval[];
  readonly servers: readonly LiveServer[];
}

export class Bridges {
  readonly #find: FindBridges;
  readonly #readers = new Set<ReadEvent>();
  /** Those whose events are read. */
  readonly #streams = new Map<string, AbortController>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(find: FindBridges) {
    this.#find = find;
  }

  /** Bridges that do not answer have just ended, or are stopped. */
  async describeAll(): Promise<SeenBridge[]> {
    const clients = await this.#find();
    const seen = await Promise.all(clients.map(async (client) => describe(client).catch(() => undefined)));
    return seen.filter((one) => one !== undefined);
  }

  /** Throws if there is none. */
  async get(id: string): Promise<LiveClient> {
    const found = (await this.#find()).find((client) => client.id === id);
    if (found === undefined) {
      throw new UiRefusal(404, 'This bridge no longer runs.', 'Read the overview again.');
    }
    return found;
  }

  /** Resolves when no event from now on is missed. Call what it resolves with to stop. */
  async read(reader: ReadEvent): Promise<() => void> {
    this.#readers.add(reader);
    this.#timer ??= setInterval(() => void this.#look(true), LOOK_MS).unref();
    // Whoever reads already has seen these come.
    await this.#look(this.#readers.size > 1);
    return () => {
      this.#readers.delete(reader);
      if (this.#readers.size === 0) {
        this.close();
      }
    };
  }

  /** Reads no more events. */
  close(): void {
    this.#readers.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const stream of this.#streams.values()) {
      stream.abort();
    }
    this.#streams.clear();
  }

  #look(isNews: boolean): Promise<void> {
    this.#looking ??= this.#openNew(isNews).finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #openNew(isNews: boolean): Promise<void> {
    const clients = await this.#find().catch(() => []);
    const added = clients.filter(({ id }) => !this.#streams.has(id));
    await Promise.all(added.map((client) => this.#open(client, isNews)));
  }

  /** Never rejects. One whose events cannot be read is tried again. */
  async #open(client: LiveClient, isNews: boolean): Promise<void> {
    const { id } = client;
    const stop = new AbortController();
    const limit = setTimeout(() => stop.abort(), OPEN_MS);
    try {
      const events = await client.events(stop.signal);
      if (this.#readers.size === 0) {
        stop.abort();
        return;
      }
      this.#streams.set(id, stop);
      if (isNews) {
        this.#emit({ type: 'bridge_started', at: now(), bridge: id });
      }
      void this.#follow(id, events, stop);
    } catch {
      // It has just ended, is stopped, or has too many readers.
    } finally {
      clearTimeout(limit);
    }
  }

  async #follow(id: string, events: Awaited<ReturnType<LiveClient['events']>>, stop: AbortController): Promise<void> {
    try {
      for await (const event of events) {
        // The stream ends with it, which is reported below.
        if (event.type !== 'end') {
          this.#emit({ ...event, bridge: id });
        }
      }
    } catch {
      // Killed, or no longer read.
    }
    if (this.#streams.get(id) === stop) {
      this.#streams.delete(id);
      this.#emit({ type: 'bridge_ended', at: now(), bridge: id });
    }
  }

  #emit(event: UiEvent): void {
    this.#readers.forEach((read) => read(event));
  }
}

async function describe(client: LiveClient): Promise<SeenBridge> {
  const [info, sessions, approvals, servers] = await Promise.all(
    ['bridge', 'sessions', 'approvals', 'servers'].map((name) => client.get(`/v1/${name}`)),
  );
  return {
    id: client.id,
    // A bridge of the same user; tests validate what it sends.
    info: info as BridgeInfo,
    sessions: sessions as readonly LiveSession[],
    approvals: approvals as readonly LiveApproval[],
    servers: servers as readonly LiveServer[],
  };
}

function now(): string {
  return new Date().toISOString();
}
