/** One connection of the sandbox: what it is at, whether it is still in use, and that its requests come one after the other. */
import type { Duplex } from 'node:stream';
import { BridgeError } from '../../core/base/errors.ts';
import type { Tunnel } from './target.ts';

/**
 * How long a connection may wait for the whole head of the next request, with all before it: CONNECT, the handshake of TLS, the rest of a
 * body that nobody wanted. Chosen: as servers do. A library that finds its connection closed opens another.
 */
const HEAD_WAIT_MS = 60_000;
/** How long no byte of a body may move. Chosen: the libraries of APIs for models wait 10 minutes for an answer. */
const STANDSTILL_MS = 15 * 60_000;
/** How long the rest of what code sends is read after the last answer, so that the answer is not lost with it. Chosen. */
const LINGER_MS = 2_000;
/** Requests that wait for the one before them. Chosen: libraries do not send the next before the answer. */
const MAX_WAITING_REQUESTS = 16;

export class EgressConnection {
  readonly stream: Duplex;
  /** After CONNECT. */
  tunnel: Tunnel | undefined;
  /** In the tunnel. */
  scheme: 'http' | 'https' = 'http';
  #isEnding = false;
  #waiting = 0;
  #turn: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #current: AbortController | undefined;

  constructor(stream: Duplex, onClosed: () => void) {
    this.stream = stream;
    this.waitForHead();
    stream.on('error', () => undefined);
    stream.once('close', () => {
      this.#isEnding = true;
      clearTimeout(this.#timer);
      this.#current?.abort(new BridgeError('CALL_CANCELLED', 'the code ended the connection before the answer'));
      onClosed();
    });
  }

  /** Whether nothing more may be asked on it. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Whether an answer is due. */
  get isBusy(): boolean {
    return this.#waiting > 0;
  }

  /** Handles a request after those before it, unless one of them was the last. `handle` never rejects. */
  queue(handle: (signal: AbortSignal) => Promise<void>): void {
    this.#waiting += 1;
    if (this.#waiting > MAX_WAITING_REQUESTS) {
      this.destroy();
      return;
    }
    this.#turn = this.#turn.then(async () => {
      if (!this.#isEnding) {
        this.#current = new AbortController();
        this.#endAfter(STANDSTILL_MS);
        await handle(this.#current.signal);
        this.#current = undefined;
      }
      this.#waiting -= 1;
      if (!this.#isEnding) {
        this.waitForHead();
      }
    });
  }

  waitForHead(): void {
    this.#endAfter(HEAD_WAIT_MS);
  }

  /** A byte of a body has moved. */
  readonly progress = (): void => {
    if (this.#current !== undefined && !this.#isEnding) {
      this.#timer?.refresh();
    }
  };

  /** No more requests; what was written still gets out. */
  end(): void {
    this.#isEnding = true;
    this.#endAfter(LINGER_MS);
  }

  destroy(): void {
    this.#isEnding = true;
    this.stream.destroy();
  }

  #endAfter(ms: number): void {
    clearTimeout(this.#timer);
    if (!this.stream.destroyed) {
      this.#timer = setTimeout(() => this.destroy(), ms).unref();
    }
  }
}
