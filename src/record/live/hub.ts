/**
 * The local API of one process: it listens once a bridge is used, and no longer when the last bridge has ended. Modules for that are
 * loaded only then. That it cannot listen is no reason to fail.
 */
import { messageOf } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import type { WaitingQuestions } from '../../core/base/waiting-question.ts';
import type { Settings } from '../../edges/settings/settings.ts';
import { EventStreams } from './event-streams.ts';
import type { WatchedBridge } from './watched-bridge.ts';

/** After the bridge was made, which is when a client has listed the tools. One that only looks at them is gone by then. Chosen. */
const DELAY_MS = 1_500;
/** Servers do not report their state. */
const LOOK_MS = 500;

interface LiveHubOptions {
  readonly settings: Settings;
  readonly logger: Logger;
  readonly transport: 'stdio' | 'http';
  readonly waiting: WaitingQuestions;
}

export class LiveHub {
  readonly events: EventStreams;
  readonly #options: LiveHubOptions;
  readonly #bridges = new Set<WatchedBridge>();
  #listening: Promise<{ close(): Promise<void> } | undefined> | undefined;
  #delay: NodeJS.Timeout | undefined;
  #look: NodeJS.Timeout | undefined;

  constructor(options: LiveHubOptions) {
    this.#options = options;
    this.events = new EventStreams((isWatched) => this.#lookAtServers(isWatched));
  }

  join(bridge: WatchedBridge): void {
    this.#bridges.add(bridge);
    this.#delay ??= setTimeout(() => void this.open(), DELAY_MS).unref();
  }

  /** With the last one, the API ends. Never rejects. */
  async leave(bridge: WatchedBridge): Promise<void> {
    this.#bridges.delete(bridge);
    if (this.#bridges.size > 0) {
      return;
    }
    clearTimeout(this.#delay);
    this.#delay = undefined;
    const listening = this.#listening;
    this.#listening = undefined;
    this.events.close('the bridge has ended');
    await (await listening)?.close();
  }

  /** Listens, if it does not yet. Never rejects; undefined if it listens already. */
  open(): Promise<unknown> | undefined {
    if (this.#bridges.size === 0 || this.#listening !== undefined) {
      return this.#listening;
    }
    this.#listening = this.#listen();
    return this.#listening;
  }

  async #listen(): Promise<{ close(): Promise<void> } | undefined> {
    const { logger, settings, transport, waiting } = this.#options;
    try {
      const { listenLocally } = await import('./listen.ts');
      const bridges = (): WatchedBridge[] => [...this.#bridges];
      const startedAt = Math.round(performance.timeOrigin);
      return await listenLocally({ settings, transport, bridges, startedAt, waiting }, this.events);
    } catch (error) {
      logger.debug(`No one can watch this bridge: ${messageOf(error)}`);
      // The next cell tries again: the last bridge of another client may have removed the folder at this moment.
      this.#listening = undefined;
      return undefined;
    }
  }

  #lookAtServers(isWatched: boolean): void {
    clearInterval(this.#look);
    if (isWatched) {
      this.#look = setInterval(() => this.#bridges.forEach((bridge) => bridge.lookAtServers()), LOOK_MS).unref();
    }
  }
}
