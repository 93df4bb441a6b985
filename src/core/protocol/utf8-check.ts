/** Checks that bytes are UTF-8 while they arrive in pieces, which may be cut inside a character. */
import { isUtf8 } from 'node:buffer';

const NOTHING = Buffer.alloc(0);
const MAX_CHARACTER_BYTES = 4;

export class Utf8Check {
  /** The start of a character that the last piece cut. */
  #cut: Buffer = NOTHING;

  /** Whether the pieces so far end with a whole character. */
  get isComplete(): boolean {
    return this.#cut.length === 0;
  }

  /** Returns false if the bytes so far cannot be UTF-8. */
  push(piece: Buffer): boolean {
    let start = 0;
    if (this.#cut.length > 0) {
      start = Math.min(lengthOf(this.#cut[0]) - this.#cut.length, piece.length);
      const character = Buffer.concat([this.#cut, piece.subarray(0, start)]);
      const isWhole = character.length === lengthOf(character[0]);
      this.#cut = isWhole ? NOTHING : character;
      if (isWhole && !isUtf8(character)) {
        return false;
      }
    }
    const end = piece.length - cutBytes(piece.subarray(start));
    if (end < piece.length) {
      this.#cut = Buffer.from(piece.subarray(end));
    }
    return isUtf8(piece.subarray(start, end));
  }
}

/** How many bytes at the end are the start of a character whose other bytes are missing. */
function cutBytes(piece: Buffer): number {
  for (let count = 1; count < MAX_CHARACTER_BYTES && count <= piece.length; count += 1) {
    const length = lengthOf(piece.at(-count));
    if (length > 0) {
      return length > count ? count : 0;
    }
  }
  return 0;
}

/** Of the character that begins with this byte; 0 for a byte within a character. */
function lengthOf(byte = 0): number {
  if (byte < 0x80) {
    return 1;
  }
  return byte < 0xc0 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : MAX_CHARACTER_BYTES;
}
