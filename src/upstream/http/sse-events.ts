/**
 * Parses server-sent events of bounded length (WHATWG HTML, section "Server-sent events"). Works on bytes, so that a long
 * message is decoded only once, by its consumer.
 */
const CR = 0x0d;
const LF = 0x0a;
const COLON = 0x3a;
const SPACE = 0x20;

export interface SseEvent {
  /** `message` if the event has no name. */
  readonly name: string;
  /** Lines of data, joined with line feeds; empty for an event with only an id. */
  readonly data: Buffer;
  /** Its own id, if it has one. */
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
  #pieces: Buffer[] = [];
  #data: Buffer[] = [];
  #eventBytes = 0;
  #name = '';
  #id: string | undefined;
  #endedWithCr = false;
  #isFirstLine = true;

  constructor(maxEventBytes: number, handlers: SseHandlers) {
    this.#maxEventBytes = maxEventBytes;
    this.#handlers = handlers;
  }

  /** Parses the next bytes. Throws `EventTooLongError`. */
  push(chunk: Buffer): void {
    if (chunk.length === 0) {
      return;
    }
    // If a CRLF is split across chunks, the LF is not a line of its own.
    let start = this.#endedWithCr && chunk[0] === LF ? 1 : 0;
    this.#endedWithCr = false;
    for (let end = lineEnd(chunk, start); end !== -1; end = lineEnd(chunk, start)) {
      this.#count(end - start);
      const line = chunk.subarray(start, end);
      this.#onLine(this.#pieces.length === 0 ? line : Buffer.concat([...this.#pieces.splice(0), line]));
      const isCr = chunk[end] === CR;
      this.#endedWithCr = isCr && end + 1 === chunk.length;
      start = end + (isCr && chunk[end + 1] === LF ? 2 : 1);
    }
    if (start < chunk.length) {
      this.#count(chunk.length - start);
      // Copied, because the stream may reuse its buffer.
      this.#pieces.push(Buffer.from(chunk.subarray(start)));
    }
  }

  #count(bytes: number): void {
    this.#eventBytes += bytes;
    if (this.#eventBytes > this.#maxEventBytes) {
      this.#pieces = [];
      this.#data = [];
      throw new EventTooLongError(this.#maxEventBytes);
    }
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
        this.#data.push(Buffer.from(value));
        break;
      case 'event':
        this.#name = value.toString('utf8');
        break;
      case 'id':
        this.#id = value.includes(0) ? this.#id : value.toString('utf8');
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
    const event = { name: this.#name === '' ? 'message' : this.#name, data: joinLines(this.#data), id: this.#id };
    const isEmpty = this.#data.length === 0 && this.#id === undefined;
    this.#data = [];
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

function lineEnd(chunk: Buffer, start: number): number {
  const lf = chunk.indexOf(LF, start);
  const cr = chunk.subarray(start, lf === -1 ? chunk.length : lf).indexOf(CR);
  return cr === -1 ? lf : start + cr;
}

function joinLines(lines: readonly Buffer[]): Buffer {
  const [only] = lines;
  return lines.length === 1 && only !== undefined
    ? only
    : Buffer.concat(lines.flatMap((line, index) => (index === 0 ? [line] : [NEWLINE, line])));
}
