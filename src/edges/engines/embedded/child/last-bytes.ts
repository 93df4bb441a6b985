/** A ring buffer that keeps the last bytes of a stream and counts the bytes and lines before them. */

const NEWLINE = 0x0a;

export class LastBytes {
  droppedBytes = 0;
  droppedLines = 0;
  readonly #ring: Uint8Array;
  #start = 0;
  #length = 0;

  constructor(capacityBytes: number) {
    this.#ring = new Uint8Array(capacityBytes);
  }

  add(bytes: Uint8Array): void {
    const kept = bytes.subarray(-this.#ring.length);
    this.#dropOldest(Math.max(0, this.#length + kept.length - this.#ring.length));
    this.#count(bytes.subarray(0, bytes.length - kept.length));
    const at = (this.#start + this.#length) % this.#ring.length;
    const untilEnd = kept.subarray(0, this.#ring.length - at);
    this.#ring.set(untilEnd, at);
    this.#ring.set(kept.subarray(untilEnd.length), 0);
    this.#length += kept.length;
  }

  /** A copy of the kept bytes, in order. */
  bytes(): Uint8Array {
    return Buffer.concat(this.#spans(this.#length));
  }

  #dropOldest(count: number): void {
    for (const span of this.#spans(count)) {
      this.#count(span);
    }
    this.#start = (this.#start + count) % this.#ring.length;
    this.#length -= count;
  }

  /** The oldest `count` bytes, as two pieces because they may wrap; the second may be empty. */
  #spans(count: number): Uint8Array[] {
    const first = this.#ring.subarray(this.#start, this.#start + count);
    return [first, this.#ring.subarray(0, count - first.length)];
  }

  #count(dropped: Uint8Array): void {
    this.droppedBytes += dropped.length;
    for (let at = dropped.indexOf(NEWLINE); at >= 0; at = dropped.indexOf(NEWLINE, at + 1)) {
      this.droppedLines += 1;
    }
  }
}
