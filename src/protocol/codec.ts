/**
 * Converts bytes to frames and back. Only byte 0x0A ends a line. Lines are split before they are decoded, so that a character
 * cut by a read boundary is complete again. Nothing here does I/O, and no input from a sandbox makes it throw.
 */
import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { BridgeError } from '../base/errors.ts';
import {
  BYTES_PER_VALUE,
  MAX_JSON_DEPTH,
  MAX_LINE_LONG_NUMBERS,
  MAX_LINE_MEMBERS,
  MAX_LINE_VALUES,
} from '../base/limits.ts';
import { parseExact } from './exact-json.ts';
import { type JsonExtent, measureJson } from './json-extent.ts';

const NEWLINE = 0x0a;
/** The limit for the preview of a refused line, and for the reason, which may repeat names from it. */
const PREVIEW_CHARS = 200;
const SHORTEST_FRAME = '{}';
/** Smaller pieces are copied together. Node needs about 300 bytes for each buffer (measured). */
const SMALL_PIECE_BYTES = 4096;

/**
 * Splits a byte stream into lines of at most `maxLineBytes`, which may be a function of the first bytes of each line. A longer
 * line is discarded up to its end without being stored, and reported once with `onOversize`.
 */
export class LineSplitter {
  readonly #maxLineBytes: number | ((firstBytes: Buffer) => number);
  readonly #onLine: (line: Buffer) => void;
  readonly #onOversize: (bytes: number) => void;
  readonly #pieces = createPieces();
  #discarded = 0;
  #announced: { readonly count: number; readonly onBytes: (bytes: Buffer) => void } | undefined;

  constructor(
    maxLineBytes: number | ((firstBytes: Buffer) => number),
    onLine: (line: Buffer) => void,
    onOversize: (bytes: number) => void,
  ) {
    this.#maxLineBytes = maxLineBytes;
    this.#onLine = onLine;
    this.#onOversize = onOversize;
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
      this.#pieces.takeAll();
    } else if (piece.length > 0) {
      this.#pieces.add(piece);
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
    this.#discarded = 0;
    if (bytes > 0) {
      this.#onOversize(bytes);
    } else {
      this.#onLine(this.#pieces.takeAll());
    }
  }
}

export interface Pieces {
  readonly bytes: number;
  /** The beginning of the line, as far as it is in one buffer; undefined if there is none. */
  first(): Buffer | undefined;
  add(piece: Buffer): void;
  /** Removes all bytes and returns them in one buffer. */
  takeAll(): Buffer;
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

  return {
    get bytes() {
      return wholeBytes + smallBytes;
    },
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
      endSmall();
      const all = Buffer.concat(whole, wholeBytes);
      whole = [];
      wholeBytes = 0;
      return all;
    },
  };
}

export type Decoded<Frame> =
  | {
      readonly ok: true;
      readonly frame: Frame;
      /** About how much memory it needs: the bytes of its line, and what its values cost beyond them. */
      readonly bytes: number;
    }
  | {
      readonly ok: false;
      /** What the line is, to follow "the line is". */
      readonly reason: string;
      readonly preview: string;
      /** Whether it may be a valid frame that exceeds a limit. */
      readonly isTooMuch?: boolean;
    };

/** Decodes one line as a frame of `schema`. For an invalid line, returns the reason and a preview, each of at most 200 characters. */
export function decodeFrame<Schema extends z.ZodType>(schema: Schema, line: Buffer): Decoded<z.output<Schema>> {
  const text = line.toString('utf8');
  const refuse = (reason: string) => {
    return { ok: false, reason: reason.slice(0, PREVIEW_CHARS), preview: text.slice(0, PREVIEW_CHARS) } as const;
  };
  // A sandbox can write 65,536 of them at once, and an exception for each would take seconds.
  if (line.length < SHORTEST_FRAME.length) {
    return refuse('not JSON');
  }
  // `toString` replaces invalid bytes by U+FFFD. Python refuses such a line, and both sides must agree.
  if (!isUtf8(line)) {
    return refuse('not UTF-8');
  }
  const extent = measureJson(line);
  const excess = whatIsTooMuch(extent);
  if (excess !== undefined) {
    return { ...refuse(excess), isTooMuch: true };
  }
  let value: unknown;
  try {
    value = parseExact(text, MAX_LINE_LONG_NUMBERS);
  } catch (error) {
    return error instanceof RangeError ? { ...refuse(error.message), isTooMuch: true } : refuse('not JSON');
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return refuse(`not a known frame: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`);
  }
  return { ok: true, frame: parsed.data, bytes: bytesOfText(text, line) + extent.values * BYTES_PER_VALUE };
}

/** V8 stores two bytes for each character of a string that has one beyond Latin-1, which may be written as an escape. */
function bytesOfText(text: string, line: Buffer): number {
  return text.length === line.length && !line.includes('\\u') ? text.length : 2 * text.length;
}

function whatIsTooMuch({ depth, values, members }: JsonExtent): string | undefined {
  if (depth > MAX_JSON_DEPTH) {
    return `nested deeper than ${MAX_JSON_DEPTH} levels`;
  }
  if (values > MAX_LINE_VALUES) {
    return `too large: more than ${formatCount(MAX_LINE_VALUES)} values`;
  }
  return members > MAX_LINE_MEMBERS
    ? `too large: more than ${formatCount(MAX_LINE_MEMBERS)} object members`
    : undefined;
}

function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}

/**
 * A frame as one line. `undefined` members are left out, and lone surrogates are escaped (ECMA-262 25.5.2). Throws `INTERNAL`
 * for NaN and the infinities, which JSON cannot express; `JSON.stringify` would write null.
 */
export function encodeFrame(frame: object): string {
  const text = JSON.stringify(frame);
  if (text.includes('null') && holdsNonFinite(frame)) {
    throw new BridgeError('INTERNAL', 'a frame to the sandbox contains NaN or an infinity, which JSON cannot express');
  }
  return `${text}\n`;
}

function holdsNonFinite(value: unknown): boolean {
  if (typeof value === 'number') {
    return !Number.isFinite(value);
  }
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsNonFinite);
}

/** Whether arrays and objects are nested deeper than `limit`. Never recurses deeper than that itself. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  if (limit === 0) {
    return true;
  }
  if (Array.isArray(value)) {
    return value.some((item) => isDeeperThan(item, limit - 1));
  }
  // Runs for every message, and `Object.values` would create an array for each object.
  for (const key in value) {
    if (isDeeperThan((value as Record<string, unknown>)[key], limit - 1)) {
      return true;
    }
  }
  return false;
}
