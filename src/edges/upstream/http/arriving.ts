/** Counts the bytes of responses that are being read, so that several large ones at once do not fill the memory. */
import { MAX_ARRIVING_BYTES } from '../../../core/base/limits.ts';
import { type HttpResponse, readBody } from './http-client.ts';

export class Arriving {
  /** The bytes of each response. */
  readonly #bytes = new Map<object, number>();
  #all = 0;

  /** Counts the bytes that one response has by now; 0 when it is complete. Throws `TooMuchAtOnceError`. */
  count(response: object, bytes: number): void {
    this.#all += bytes - (this.#bytes.get(response) ?? 0);
    if (bytes === 0) {
      this.#bytes.delete(response);
    } else {
      this.#bytes.set(response, bytes);
    }
    if (bytes > 0 && this.#all > MAX_ARRIVING_BYTES && this.#bytes.size > 1) {
      throw new TooMuchAtOnceError();
    }
  }

  /** The body of a response. Rejects with `TooMuchAtOnceError`, and as `readBody` does. */
  async read(response: HttpResponse, maxBytes: number): Promise<Buffer> {
    try {
      return await readBody(response, maxBytes, (bytes) => this.count(response, bytes));
    } finally {
      this.count(response, 0);
    }
  }
}

/** Together, the responses that are being read are too large. */
export class TooMuchAtOnceError extends Error {
  constructor() {
    super(`a result that, with others that arrive at once, is larger than ${MAX_ARRIVING_BYTES} bytes`);
  }
}
