/**
 * Parses server-sent events of bounded length (WHATWG HTML, section "Server-sent events"). Works on bytes, so that a long
 * message is decoded only once, by its consumer.
 */
import { createPieces, type Pieces } from '../../../core/protocol/line-splitter.ts';

const CR = 0x0d;
const LF = 0x0a;
const COLON = 0x3a;
const SPACE = 0x20;
/** The longest id that is kept: it is sent back in a header, of which servers take 8 to 16 KiB in all. */
const MAX_ID_BYTES = 4_096;
/** The names that mean something are shorter. */
const MAX_NAME_BYTES = 64;

export interface SseEvent {
  /** `message` if the event has no name. */
  readonly name: string;
  /** Lines of data, joined with line feeds; empty for an event with only an id. */
  readonly data: Buffer;
  /** Its own id, if it has one; empty if that is too long to be sent back. */
  readonly id: string | undefined;
}

export interface SseHandlers {
  onEvent(event: SseEvent): void;
  /** The server's wait before the stream is reopened, in milliseconds. */
  onRetry(retryMs: number): void;
}

/** An event was longer than allowed. The rest of the stream cannot be read. */
export class EventTooLongError extends Error {
  constructor(maxBytes: number) {
    super(`an event of more than ${maxBytes} bytes`);
  }
}

export class SseParser {
  readonly #maxEventBytes: number;
  readonly #handlers: SseHandlers;
  /** Pieces of a line that is not complete yet. */
  #line: Pieces = createPieces();
  #data: Pieces = createPieces();
  #hasData = false;
  #eventBytes = 0;
  #name = '';
  #id: string | undefined;
  #endedWithCr = false;
  #isFirstLine = true;

  constructor(maxEventBytes: number, handlers: SseHandlers) {
    this.#maxEventBytes = maxEventBytes;
    this.#handlers = handlers;
  }

  /** Bytes of an event that is not complete yet. */
  get pendingBytes(): number {
    return this.#eventBytes;
  }

  /** Parses the next bytes. Throws `EventTooLongError`. */
  push(chunk: Buffer): void {
    if (chunk.length === 0) {
      return;
    }
    // If a CRLF is split across chunks, the LF is not a line of its own.
    let start = this.#endedWithCr && chunk[0] === LF ? 1 : 0;
    this.#endedWithCr = false;
    const ends = new LineEnds(chunk);
    for (let end = ends.after(start); end !== -1; end = ends.after(start)) {
      this.#count(end - start);
      const line = chunk.subarray(start, end);
      this.#onLine(this.#completeLine(line));
      const isCr = chunk[end] === CR;
      this.#endedWithCr = isCr && end + 1 === chunk.length;
      start = end + (isCr && chunk[end + 1] === LF ? 2 : 1);
    }
    if (start < chunk.length) {
      this.#count(chunk.length - start);
      addCopy(this.#line, chunk.subarray(start));
    }
  }

  #count(bytes: number): void {
    this.#eventBytes += bytes;
    if (this.#eventBytes > this.#maxEventBytes) {
      this.#line = createPieces();
      this.#data = createPieces();
      throw new EventTooLongError(this.#maxEventBytes);
    }
  }

  #completeLine(end: Buffer): Buffer {
    if (this.#line.bytes === 0) {
      return end;
    }
    addCopy(this.#line, end);
    return this.#line.takeAll();
  }

  #onLine(line: Buffer): void {
    const text = this.#isFirstLine && line.subarray(0, 3).equals(BYTE_ORDER_MARK) ? line.subarray(3) : line;
    this.#isFirstLine = false;
    if (text.length === 0) {
      this.#dispatch();
      return;
    }
    const colon = text.indexOf(COLON);
    const field = text.toString('latin1', 0, colon === -1 ? text.length : colon);
    const from = colon === -1 ? text.length : colon + (text[colon + 1] === SPACE ? 2 : 1);
    this.#onField(field, text.subarray(from));
  }

  /** A line that begins with a colon is a comment. Its field name is empty, so it is ignored like unknown fields. */
  #onField(field: string, value: Buffer): void {
    switch (field) {
      case 'data':
        if (this.#hasData) {
          this.#data.add(NEWLINE);
        }
        this.#hasData = true;
        addCopy(this.#data, value);
        break;
      case 'event':
        this.#name = value.toString('utf8', 0, MAX_NAME_BYTES);
        break;
      case 'id':
        if (value.length > MAX_ID_BYTES) {
          this.#id = '';
        } else if (!value.includes(0)) {
          this.#id = value.toString('utf8');
        }
        break;
      case 'retry':
        if (/^\d{1,9}$/.test(value.toString('latin1'))) {
          this.#handlers.onRetry(Number(value.toString('latin1')));
        }
        break;
      default:
    }
  }

  #dispatch(): void {
    const event = { name: this.#name === '' ? 'message' : this.#name, data: this.#data.takeAll(), id: this.#id };
    const isEmpty = !this.#hasData && this.#id === undefined;
    this.#hasData = false;
    this.#name = '';
    this.#id = undefined;
    this.#eventBytes = 0;
    if (!isEmpty) {
      this.#handlers.onEvent(event);
    }
  }
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const NEWLINE = Buffer.from([LF]);

/** Finds the line ends of a chunk in order. Each search goes on where the last one for the same byte ended. */
class LineEnds {
  readonly #chunk: Buffer;
  #lf = -1;
  #cr = -1;

  constructor(chunk: Buffer) {
    this.#chunk = chunk;
  }

  /** The first line end from `start` on; -1 if there is none. */
  after(start: number): number {
    this.#lf = this.#lf < start ? this.#find(LF, start) : this.#lf;
    this.#cr = this.#cr < start ? this.#find(CR, start) : this.#cr;
    const first = Math.min(this.#lf, this.#cr);
    return first === Number.POSITIVE_INFINITY ? -1 : first;
  }

  #find(byte: number, start: number): number {
    const at = this.#chunk.indexOf(byte, start);
    return at === -1 ? Number.POSITIVE_INFINITY : at;
  }
}

/** Copied, because a short piece would keep the buffer of a whole read alive. */
function addCopy(pieces: Pieces, piece: Buffer): void {
  pieces.add(Buffer.from(piece));
}
