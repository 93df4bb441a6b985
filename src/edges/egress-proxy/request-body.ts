/**
 * The body of a request, apart from Node's `IncomingMessage`: whoever destroys that ends the connection, so no answer could follow. Of this
 * one, the rest is read and dropped.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { BridgeError } from '../../core/base/errors.ts';

interface RequestBodyEvents {
  /** When the first byte is wanted. */
  readonly onFirstRead: () => void;
  /** For each piece. */
  readonly onProgress: () => void;
}

export class RequestBody extends Readable {
  readonly #request: IncomingMessage;
  readonly #onFirstRead: () => void;
  #isWanted = false;

  constructor(request: IncomingMessage, { onFirstRead, onProgress }: RequestBodyEvents) {
    super();
    this.#request = request;
    this.#onFirstRead = onFirstRead;
    request.pause();
    request.on('data', (piece: Buffer) => {
      onProgress();
      if (!this.destroyed && !this.push(piece)) {
        request.pause();
      }
    });
    request.once('end', () => this.push(null));
    request.once('close', () => this.#endEarly());
    // Without a listener, the error of a body that nobody reads would end the process.
    this.on('error', () => undefined);
  }

  override _read(): void {
    if (!this.#isWanted) {
      this.#isWanted = true;
      this.#onFirstRead();
    }
    this.#request.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#request.resume();
    done(error);
  }

  #endEarly(): void {
    if (!this.#request.complete && !this.destroyed) {
      this.destroy(new BridgeError('CALL_CANCELLED', 'the code ended the connection before its request was complete'));
    }
  }
}
