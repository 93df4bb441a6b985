/**
 * How much of its answers a client may leave unread. A request of 100 bytes can have an answer of megabytes, so what was made and is
 * not read counts for whoever asked. Beyond the limit, requests wait; one whose own message has such answers already, in a batch,
 * is refused, because those count until the last one is there.
 */
import type { RequestId, Result } from '@modelcontextprotocol/server';
import { createDeferred, type Deferred } from '../../core/base/deferred.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { isObject } from '../../core/base/is-object.ts';
import { type LargeText, largeTextsIn } from '../../core/base/large-text.ts';

/** What one value costs besides its characters. */
const BYTES_PER_VALUE = 16;

/** One message of the client, until its answer is written or the client is gone. */
export interface Exchange {
  /** What was made for it. */
  madeBytes: number;
  /** By token, with the id of the request. */
  readonly largeTexts: Map<string, { readonly text: LargeText; readonly id: RequestId }>;
}

export class AnswerRoom {
  readonly #maxBytes: number;
  readonly #exchanges = new Map<Exchange, () => number>();
  #isMaking = false;
  #changed: Deferred<void> | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @param unwrittenBytes what is written for it and not read yet. */
  open(unwrittenBytes: () => number): Exchange {
    const exchange: Exchange = { madeBytes: 0, largeTexts: new Map() };
    this.#exchanges.set(exchange, unwrittenBytes);
    return exchange;
  }

  close(exchange: Exchange): void {
    this.#exchanges.delete(exchange);
    exchange.largeTexts.clear();
    this.wake();
  }

  /** Something was read. */
  readonly wake = (): void => {
    this.#changed?.resolve();
    this.#changed = undefined;
  };

  /** Waits while too much is unread, unless `isOver`. Rejects with `HTTP_BUSY` if that is so for the message itself. */
  async untilRoom(own: Exchange | undefined, isOver: () => boolean): Promise<void> {
    while (!isOver() && this.#unreadBytes() > this.#maxBytes) {
      await this.#wait(own);
    }
  }

  /** Makes one answer after the other, each once there is room. */
  async make(own: Exchange, id: RequestId, isOver: () => boolean, work: () => Promise<Result>): Promise<Result> {
    while (!isOver() && (this.#isMaking || this.#unreadBytes() > this.#maxBytes)) {
      await this.#wait(this.#isMaking ? undefined : own);
    }
    this.#isMaking = true;
    try {
      const result = await work();
      this.note(own, id, result);
      return result;
    } finally {
      this.#isMaking = false;
      this.wake();
    }
  }

  /** Counts an answer until the exchange ends. */
  note(exchange: Exchange | undefined, id: RequestId, result: Result): void {
    if (exchange !== undefined && this.#exchanges.has(exchange)) {
      exchange.madeBytes += sizeOf(result);
      largeTextsIn(result).forEach((text) => exchange.largeTexts.set(text.token, { text, id }));
    }
  }

  async #wait(own: Exchange | undefined): Promise<void> {
    if (own !== undefined && own.madeBytes > 0) {
      const most = `${this.#maxBytes / 1024 / 1024} MiB`;
      throw new BridgeError(
        'HTTP_BUSY',
        `the answers to this batch and others that are not read have more than ${most}`,
        {
          hint: 'Send the requests one by one, and read each answer.',
        },
      );
    }
    this.#changed ??= createDeferred<void>();
    await this.#changed.promise;
  }

  #unreadBytes(): number {
    let bytes = 0;
    for (const [{ madeBytes }, unwrittenBytes] of this.#exchanges) {
      bytes += Math.max(madeBytes, unwrittenBytes());
    }
    return bytes;
  }
}

/** Roughly, and never more than the JSON has. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') {
    return value.length;
  }
  if (Array.isArray(value)) {
    return value.reduce((sum: number, each) => sum + sizeOf(each), BYTES_PER_VALUE);
  }
  return isObject(value)
    ? Object.values(value).reduce((sum: number, each) => sum + sizeOf(each), BYTES_PER_VALUE)
    : BYTES_PER_VALUE;
}
