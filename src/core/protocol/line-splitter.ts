/**
 * Splits bytes into lines. Only byte 0x0A ends a line. Lines are split before they are decoded, so that a character cut by a read
 * boundary is complete again.
 */

const NEWLINE = 0x0a;
/** Smaller pieces are copied together. Node needs about 300 bytes for each buffer (measured). */
const SMALL_PIECE_BYTES = 4096;

/** Reads a long line while it arrives. */
export interface LongLineReader {
  /** Takes the next bytes, which it may change. */
  read(piece: Buffer): void;
  /** Takes the whole line, instead of `onLine`. Not called for a line that exceeds the limit. */
  end(pieces: readonly Buffer[]): void;
}

export interface LongLines {
  /** Lines with fewer bytes are passed to `onLine`. */
  readonly minBytes: number;
  /** Called for each long line; undefined if `onLine` should get this one too. */
  begin(): LongLineReader | undefined;
}

/**
 * Splits a byte stream into lines of at most `maxLineBytes`, which may be a function of the first bytes of each line. A longer
 * line is discarded up to its end without being stored, and reported once with `onOversize`.
 */
export class LineSplitter {
  readonly #maxLineBytes: number | ((firstBytes: Buffer) => number);
  readonly #onLine: (line: Buffer) => void;
  readonly #onOversize: (bytes: number) => void;
  readonly #longLines: LongLines | undefined;
  readonly #pieces = createPieces();
  /** Who reads the current line, and how many of its pieces; undefined before it is long. */
  #long: { readonly reader: LongLineReader | undefined; count: number } | undefined;
  #discarded = 0;
  #announced: { readonly count: number; readonly onBytes: (bytes: Buffer) => void } | undefined;

  constructor(
    maxLineBytes: number | ((firstBytes: Buffer) => number),
    onLine: (line: Buffer) => void,
    onOversize: (bytes: number) => void,
    longLines?: LongLines,
  ) {
    this.#maxLineBytes = maxLineBytes;
    this.#onLine = onLine;
    this.#onOversize = onOversize;
    this.#longLines = longLines;
  }

  /** Bytes of a line that is not complete yet. */
  get pendingBytes(): number {
    return this.#announced === undefined ? this.#pieces.bytes : 0;
  }

  /** Adds the next bytes and calls `onLine` for each line that they complete. */
  push(chunk: Buffer): void {
    for (let start = 0; start < chunk.length; ) {
      if (this.#announced !== undefined) {
        start += this.#takeAnnounced(this.#announced, chunk.subarray(start));
        continue;
      }
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) {
        this.#take(chunk.subarray(start));
        return;
      }
      this.#endLine(chunk.subarray(start, end));
      start = end + 1;
    }
  }

  /** Call it from `onLine`: `count` bytes and a line feed follow the line, whatever they contain. Passes on the bytes. */
  takeBytes(count: number, onBytes: (bytes: Buffer) => void): void {
    this.#announced = { count, onBytes };
  }

  /** Returns how much of the chunk belongs to the bytes that were announced. */
  #takeAnnounced({ count, onBytes }: { count: number; onBytes: (bytes: Buffer) => void }, chunk: Buffer): number {
    const taken = Math.min(count + 1 - this.#pieces.bytes, chunk.length);
    this.#pieces.add(chunk.subarray(0, taken));
    if (this.#pieces.bytes > count) {
      this.#announced = undefined;
      onBytes(this.#pieces.takeAll().subarray(0, count));
    }
    return taken;
  }

  #limitOf(piece: Buffer): number {
    const limit = this.#maxLineBytes;
    return typeof limit === 'number' ? limit : limit(this.#pieces.first() ?? piece);
  }

  #take(piece: Buffer): void {
    const bytes = this.#pieces.bytes + piece.length;
    if (this.#discarded > 0) {
      this.#discarded += piece.length;
    } else if (bytes > this.#limitOf(piece)) {
      this.#discarded = bytes;
      this.#long = undefined;
      // Not `takeAll`: copying 160 MiB to drop them blocks the loop.
      this.#pieces.takeList();
    } else if (piece.length > 0) {
      this.#pieces.add(piece);
      this.#readLong();
    }
  }

  /** Shows the pieces that have come since the last call to the reader of a long line. */
  #readLong(): void {
    const longLines = this.#longLines;
    if (longLines === undefined || this.#pieces.bytes < longLines.minBytes) {
      return;
    }
    this.#long ??= { reader: longLines.begin(), count: 0 };
    const { reader } = this.#long;
    if (reader !== undefined) {
      const { whole } = this.#pieces;
      for (; this.#long.count < whole.length; this.#long.count += 1) {
        reader.read(whole[this.#long.count] as Buffer);
      }
    }
  }

  #endLine(last: Buffer): void {
    // A line that arrived in one piece is not copied.
    if (this.#discarded === 0 && this.#pieces.bytes === 0 && last.length <= this.#limitOf(last)) {
      this.#onLine(last);
      return;
    }
    this.#take(last);
    const bytes = this.#discarded;
    const reader = this.#long?.reader;
    this.#discarded = 0;
    if (bytes > 0) {
      this.#onOversize(bytes);
    } else if (reader !== undefined) {
      this.#pieces.endSmall();
      this.#readLong();
      this.#long = undefined;
      reader.end(this.#pieces.takeList());
    } else {
      this.#long = undefined;
      this.#onLine(this.#pieces.takeAll());
    }
  }
}

export interface Pieces {
  readonly bytes: number;
  /** The beginning of the line, as far as it is in one buffer; undefined if there is none. */
  first(): Buffer | undefined;
  add(piece: Buffer): void;
  /** The pieces so far, without the small ones at the end, which are still copied together. */
  readonly whole: readonly Buffer[];
  /** Moves small pieces to `whole`. */
  endSmall(): void;
  /** Removes all bytes and returns them in one buffer. */
  takeAll(): Buffer;
  /** Removes all bytes and returns them as they are. */
  takeList(): Buffer[];
}

/**
 * The pieces of an incomplete line or body. A sandbox or server may write single bytes; with one buffer for each, a line of
 * 8 MiB would cost the host gigabytes.
 */
export function createPieces(): Pieces {
  let whole: Buffer[] = [];
  let wholeBytes = 0;
  const small = Buffer.alloc(SMALL_PIECE_BYTES);
  let smallBytes = 0;

  function endSmall(): void {
    if (smallBytes > 0) {
      whole.push(Buffer.from(small.subarray(0, smallBytes)));
      wholeBytes += smallBytes;
      smallBytes = 0;
    }
  }

  function takeList(): Buffer[] {
    endSmall();
    const list = whole;
    whole = [];
    wholeBytes = 0;
    return list;
  }

  return {
    get bytes() {
      return wholeBytes + smallBytes;
    },
    get whole() {
      return whole;
    },
    endSmall,
    takeList,
    first: () => whole[0] ?? (smallBytes === 0 ? undefined : small.subarray(0, smallBytes)),
    add(piece) {
      if (smallBytes + piece.length <= SMALL_PIECE_BYTES) {
        smallBytes += piece.copy(small, smallBytes);
        return;
      }
      endSmall();
      if (piece.length < SMALL_PIECE_BYTES) {
        smallBytes = piece.copy(small);
      } else {
        whole.push(piece);
        wholeBytes += piece.length;
      }
    },
    takeAll() {
      const bytes = wholeBytes + smallBytes;
      return Buffer.concat(takeList(), bytes);
    },
  };
}
