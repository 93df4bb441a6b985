/**
 * The running bridges, as the page sees them: asked one by one, with their events merged into one stream. They are looked for again
 * every second while someone reads events. One that does not answer is left out.
 */
import { describeBridges, type LiveClient, type SeenBridge } from '../local-api/client.ts';
import { UiRefusal } from './refusal.ts';
import type { UiEvent } from './schema.ts';

const LOOK_MS = 1_000;
/** A bridge that has not let us read its events by then does not hold up the others. Chosen. */
const OPEN_MS = 2_000;

export type FindBridges = () => Promise<readonly LiveClient[]>;
export type ReadEvent = (event: UiEvent) => void;

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

  async describeAll(): Promise<SeenBridge[]> {
    return describeBridges(await this.#find());
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

function now(): string {
  return new Date().toISOString();
}
