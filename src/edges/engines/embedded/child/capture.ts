/**
 * Buffers what the program writes to descriptor 1 or 2 until the kernel reads it. There is only one thread, so the kernel cannot
 * read while the program writes. The buffer is therefore bounded: it keeps the start and the end, with a notice between them.
 */
import { counted } from '../../../../core/base/units.ts';
import { LastBytes } from './last-bytes.ts';
import type { Device } from './wasi/descriptors.ts';

/** Bytes kept of the start, and again of the end. Together as much as a pipe holds with a container engine. */
const KEPT_BYTES = 512 * 1024;
/** Bytes taken by one call; the program writes the rest with the next. */
const MAX_WRITE_BYTES = 64 * 1024 * 1024;
const FIRST_CAPACITY_BYTES = 4096;

export class Capture {
  /** The program writes here. */
  readonly writeEnd: Device = { write: (bytes) => this.#add(bytes.subarray(0, MAX_WRITE_BYTES)) };
  /** The kernel reads here. A read never waits; 0 means that the buffer is empty now. */
  readonly readEnd: Device = { read: (target) => this.#take(target) };
  readonly #name: string;
  /** The start of the output; bytes `#from` to `#to` have not been read. */
  #first = new Uint8Array(0);
  #from = 0;
  #to = 0;
  /** Output after the start was full. */
  #last: LastBytes | undefined;

  /** `name` is the name of the stream in the notice about omitted output. */
  constructor(name: string) {
    this.#name = name;
  }

  /** Everything that has not been read. */
  rest(): Uint8Array {
    this.#join();
    return this.#first.slice(this.#from, this.#to);
  }

  #add(bytes: Uint8Array): number {
    const room = this.#last === undefined ? Math.max(0, KEPT_BYTES - (this.#to - this.#from)) : 0;
    this.#append(bytes.subarray(0, room));
    if (bytes.length > room) {
      this.#last ??= new LastBytes(KEPT_BYTES);
      this.#last.add(bytes.subarray(room));
    }
    return bytes.length;
  }

  #append(bytes: Uint8Array): void {
    if (this.#to + bytes.length > this.#first.length) {
      const held = this.#to - this.#from;
      const larger = new Uint8Array(Math.max(FIRST_CAPACITY_BYTES, 2 * (held + bytes.length)));
      larger.set(this.#first.subarray(this.#from, this.#to));
      this.#first = larger;
      this.#from = 0;
      this.#to = held;
    }
    this.#first.set(bytes, this.#to);
    this.#to += bytes.length;
  }

  #take(target: Uint8Array): number {
    this.#join();
    const count = Math.min(target.length, this.#to - this.#from);
    target.set(this.#first.subarray(this.#from, this.#from + count));
    this.#from += count;
    if (this.#from === this.#to) {
      this.#first = new Uint8Array(0);
      this.#from = 0;
      this.#to = 0;
    }
    return count;
  }

  /** Joins start, notice and end. */
  #join(): void {
    const last = this.#last;
    if (last === undefined) {
      return;
    }
    this.#last = undefined;
    if (last.droppedBytes > 0) {
      const size = `${counted(last.droppedBytes, 'byte')} (${counted(last.droppedLines, 'line')})`;
      const notice = `\n[${size} written to ${this.#name} left out here]\n`;
      this.#append(Buffer.from(notice));
    }
    this.#append(last.bytes());
  }
}
