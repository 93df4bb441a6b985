/** Reads a response body as server-sent events until it ends, and tracks where to resume it. */
import type { Readable } from 'node:stream';
import { readInSlices } from '../../../core/base/slices.ts';
import { type SseEvent, SseParser } from './sse-events.ts';

/** Bounds of the wait before a stream is reopened, whatever the server requests. */
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 60_000;

/** Where and when to resume a stream. */
export class StreamPosition {
  /** The last event id; undefined if the server sent none that can be sent back, so that the stream cannot be resumed. */
  lastEventId: string | undefined;
  #retryMs = 0;
  #fruitless = 0;

  noteEvent(event: SseEvent): void {
    if (event.id !== undefined) {
      this.lastEventId = event.id === '' ? undefined : event.id;
    }
    this.noteProgress();
  }

  /** Resets the count of fruitless attempts. */
  noteProgress(): void {
    this.#fruitless = 0;
  }

  noteRetry(retryMs: number): void {
    this.#retryMs = retryMs;
  }

  /** How many times in a row the stream was opened without receiving anything. */
  get fruitless(): number {
    return this.#fruitless;
  }

  /** How long to wait before the next attempt: the server's retry time, within bounds, doubled for each fruitless attempt. */
  nextWaitMs(): number {
    const waitMs = Math.max(this.#retryMs, MIN_RETRY_MS) * 2 ** this.#fruitless;
    this.#fruitless += 1;
    return Math.min(waitMs, MAX_RETRY_MS);
  }
}

export interface EventHandlers {
  readonly onEvent: (event: SseEvent) => void;
  /** Called with the bytes of the event that is not complete yet. */
  readonly onBytes?: (bytes: number) => void;
}

/**
 * Reads all events. Resolves at the end of the stream. Rejects with `EventTooLongError`, with what `onBytes` threw, or with the
 * network error that broke the stream.
 */
export function readEvents(
  body: Readable,
  maxEventBytes: number,
  position: StreamPosition,
  { onEvent, onBytes }: EventHandlers,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const parser = new SseParser(maxEventBytes, {
      onEvent(event) {
        position.noteEvent(event);
        onEvent(event);
      },
      onRetry: (retryMs) => position.noteRetry(retryMs),
    });
    readInSlices(body, (chunk) => {
      try {
        parser.push(chunk);
        onBytes?.(parser.pendingBytes);
      } catch (error) {
        body.destroy(error as Error);
      }
    });
    body.once('end', resolve);
    // An abort destroys the body without an error; only `close` follows.
    body.once('close', resolve);
    body.once('error', reject);
  });
}
