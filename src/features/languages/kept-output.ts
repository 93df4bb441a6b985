/** The beginning of a stream, and how much of it is not kept. */
import { MAX_KEPT_STREAM_BYTES } from './limits.ts';

export class KeptOutput {
  readonly #pieces: Uint8Array[] = [];
  #room: number;
  #droppedBytes = 0;

  constructor(maxBytes: number = MAX_KEPT_STREAM_BYTES) {
    this.#room = maxBytes;
  }

  get droppedBytes(): number {
    return this.#droppedBytes;
  }

  take(data: Uint8Array): void {
    if (this.#room > 0) {
      this.#pieces.push(data.subarray(0, this.#room));
    }
    this.drop(Math.max(0, data.byteLength - this.#room));
    this.#room = Math.max(0, this.#room - data.byteLength);
  }

  /** Counts bytes that were dropped elsewhere. */
  drop(bytes: number): void {
    this.#droppedBytes += bytes;
  }

  text(): string {
    return Buffer.concat(this.#pieces).toString('utf8');
  }
}
