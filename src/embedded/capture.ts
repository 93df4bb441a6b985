/**
 * What is written to descriptor 1 or 2 until the kernel takes it. Nobody else can take it while the writer runs (there
 * is one thread), so the buffer is bounded: it keeps the start and the end, and says between them what is left out.
 */
import type { Device } from './wasi/descriptors.ts';

/** Kept of the start, and the same again of the end. Together as much as a pipe of the container engines holds. */
const KEPT_BYTES = 512 * 1024;
/** Bytes taken from one call; a writer of more writes again. */
const MAX_WRITE_BYTES = 64 * 1024 * 1024;
const NEWLINE = 0x0a;

export class Capture {
  /** To be written by the program. */
  readonly writeEnd: Device = { write: (bytes) => this.#add(bytes) };
  /** To be read by the kernel; a read never waits, and 0 means that there is nothing now. */
  readonly readEnd: Device = { read: (target) => this.#take(target) };
  readonly #name: string;
  #head = new Uint8Array(0);
  #tail = new Uint8Array(0);
  #droppedBytes = 0;
  #droppedLines = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** Everything that nobody has read. */
  rest(): Uint8Array {
    const rest = this.#joined();
    this.#clear();
    return rest;
  }

  #add(written: Uint8Array): number {
    const bytes = written.subarray(0, MAX_WRITE_BYTES);
    const room = this.#droppedBytes + this.#tail.length === 0 ? KEPT_BYTES - this.#head.length : 0;
    this.#head = append(this.#head, bytes.subarray(0, room));
    const later = bytes.subarray(room);
    if (later.length > 0) {
      this.#addToTail(later);
    }
    return bytes.length;
  }

  #addToTail(bytes: Uint8Array): void {
    const fitting = bytes.subarray(-KEPT_BYTES);
    this.#drop(bytes.subarray(0, bytes.length - fitting.length));
    const surplus = Math.max(0, this.#tail.length + fitting.length - KEPT_BYTES);
    this.#drop(this.#tail.subarray(0, surplus));
    this.#tail = append(this.#tail.subarray(surplus), fitting);
  }

  #drop(bytes: Uint8Array): void {
    this.#droppedBytes += bytes.length;
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) {
      this.#droppedLines += 1;
    }
  }

  #take(target: Uint8Array): number {
    if (this.#tail.length > 0) {
      this.#head = this.#joined();
      this.#tail = new Uint8Array(0);
      this.#droppedBytes = 0;
      this.#droppedLines = 0;
    }
    const count = Math.min(target.length, this.#head.length);
    target.set(this.#head.subarray(0, count));
    this.#head = this.#head.slice(count);
    return count;
  }

  #joined(): Uint8Array<ArrayBuffer> {
    if (this.#droppedBytes === 0) {
      return append(this.#head, this.#tail);
    }
    const count = `${this.#droppedBytes.toLocaleString('en-US')} bytes (${this.#droppedLines.toLocaleString('en-US')} lines)`;
    const notice = Buffer.from(`\n[${count} written to ${this.#name} without a pause are left out here]\n`);
    return append(append(this.#head, notice), this.#tail);
  }

  #clear(): void {
    this.#head = new Uint8Array(0);
    this.#tail = new Uint8Array(0);
    this.#droppedBytes = 0;
    this.#droppedLines = 0;
  }
}

function append(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(first.length + second.length);
  joined.set(first);
  joined.set(second, first.length);
  return joined;
}
