/** Reads the body of an answer as server-sent events, until it ends. */
import type { Readable } from 'node:stream';
import { readInSlices } from '../../base/slices.ts';
import { type SseEvent, SseParser } from './sse-events.ts';

/** A stream is not opened again sooner than this, whatever the server asks for, and not later than the other. */
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 60_000;

/** What a stream told about going on where it ended. */
export class StreamPosition {
  /** Id of the last event that had one; undefined when the server cannot go on from anywhere. */
  lastEventId: string | undefined;
  #retryMs = 0;
  #fruitless = 0;

  noteEvent(event: SseEvent): void {
    this.lastEventId = event.id ?? this.lastEventId;
    this.noteProgress();
  }

  /** The attempts so far were not in vain. */
  noteProgress(): void {
    this.#fruitless = 0;
  }

  noteRetry(retryMs: number): void {
    this.#retryMs = retryMs;
  }

  /** How many times in a row the stream was opened and gave nothing. */
  get fruitless(): number {
    return this.#fruitless;
  }

  /** How long to wait before the next attempt: what the server asked for, within bounds, doubled for each in vain. */
  nextWaitMs(): number {
    const waitMs = Math.max(this.#retryMs, MIN_RETRY_MS) * 2 ** this.#fruitless;
    this.#fruitless += 1;
    return Math.min(waitMs, MAX_RETRY_MS);
  }
}

/**
 * Hands on every event. Resolves at the end of the stream. Rejects with `EventTooLongError`, and with the error of the
 * network when it breaks off.
 */
export function readEvents(
  body: Readable,
  maxEventBytes: number,
  position: StreamPosition,
  onEvent: (event: SseEvent) => void,
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
      } catch (error) {
        body.destroy(error as Error);
      }
    });
    body.once('end', resolve);
    // An abort destroys the body without an error, after which there is only this.
    body.once('close', resolve);
    body.once('error', reject);
  });
}
