/**
 * The stream for notifications of servers up to 2025-11-25, opened with GET and kept open. Servers need not have one. If it
 * cannot be opened, only notifications such as changes of tools are missed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../core/base/errors.ts';
import { readEvents, StreamPosition } from './event-stream.ts';
import type { HttpResponse } from './http-client.ts';

/** Attempts in a row without an event. With doubling waits, the last is about 4 minutes after the first. Chosen. */
const MAX_FRUITLESS = 10;
/** An attempt whose stream stayed open for this long counts as successful even without an event. */
const FRUITFUL_MS = 60_000;
/** Notifications and pings are small. Chosen. */
const MAX_EVENT_BYTES = 4 * 1024 * 1024;

export interface NotificationStreamOptions {
  readonly open: (headers: Record<string, string>, signal: AbortSignal) => Promise<HttpResponse>;
  readonly onMessage: (data: Buffer) => void;
  /** The server no longer knows the session. */
  readonly onSessionLost: () => void;
  readonly log: (text: string) => void;
}

export class NotificationStream {
  readonly #options: NotificationStreamOptions;
  readonly #stopped = new AbortController();
  #wasOpen = false;

  constructor(options: NotificationStreamOptions) {
    this.#options = options;
  }

  /** Opens the stream in the background, and reopens it with growing waits. */
  start(): void {
    void this.#run().catch((error: unknown) => {
      if (!this.#stopped.signal.aborted) {
        this.#options.log(`its notification stream failed: ${messageOf(error)}`);
      }
    });
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    const position = new StreamPosition();
    while (!signal.aborted && position.fruitless < MAX_FRUITLESS) {
      if (!(await this.#readOnce(position, signal))) {
        return;
      }
      await sleep(position.nextWaitMs(), undefined, { signal, ref: false });
    }
  }

  /** Reads the stream once; resolves with whether to try again. */
  async #readOnce(position: StreamPosition, signal: AbortSignal): Promise<boolean> {
    const { lastEventId } = position;
    try {
      const response = await this.#options.open(
        lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
        signal,
      );
      if (response.status !== 200 || response.headers['content-type']?.startsWith('text/event-stream') !== true) {
        response.body.destroy();
        // Before the first stream, 404 only means that the server has none.
        if (response.status === 404 && this.#wasOpen) {
          this.#options.onSessionLost();
        }
        return response.status >= 500;
      }
      this.#wasOpen = true;
      const openedAt = performance.now();
      await readEvents(response.body, MAX_EVENT_BYTES, position, {
        onEvent: ({ name, data }) => {
          if (name === 'message' && data.length > 0) {
            this.#options.onMessage(data);
          }
        },
      });
      if (performance.now() - openedAt >= FRUITFUL_MS) {
        position.noteProgress();
      }
    } catch (error) {
      if (signal.aborted) {
        return false;
      }
      this.#options.log(`its notification stream broke: ${messageOf(error)}`);
    }
    return true;
  }
}
