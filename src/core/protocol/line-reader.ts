/**
 * Reads JSON-RPC messages as lines of limited length. Keeps the first and last bytes of a line that is too long, because they
 * usually contain its id: Python programs write the id first, TypeScript programs last.
 */
import { LineSplitter, type LongLines } from './line-splitter.ts';

const NEWLINE = 0x0a;
/** The limit for a line that does not begin like a message. Chosen: banners and debug output are shorter. */
const MAX_NOISE_BYTES = 1024 * 1024;
/** How a message begins, or a batch of messages (2025-03-26), as far as it is there. A log line such as `[INFO]` does not. */
const MESSAGE = /^[ \t\r]*(?:$|\{|\[[ \t\r]*(?:$|\{))/;
/** Enough for the version, an id and white space. */
const EDGE_BYTES = 256;

const ID = '"id"\\s*:\\s*("[^"\\\\]*"|-?\\d+)';
const VERSION = '"jsonrpc"\\s*:\\s*"2\\.0"';
/** The id as the first member of the line's object, or the second after the version. */
const AT_START = new RegExp(`^\\s*\\{\\s*(?:${VERSION}\\s*,\\s*)?${ID}\\s*,`);
/** The id as the last member, or the one before the version. The brace at the end of a line closes its outermost object. */
const AT_END = new RegExp(`,\\s*${ID}\\s*(?:,\\s*${VERSION}\\s*)?\\}\\s*$`);

export interface LineHandlers {
  onLine(line: Buffer): void;
  /** A line was dropped. */
  onOversize(line: DroppedLine): void;
  /** For lines that are worth reading while they arrive. */
  readonly longLines?: LongLines;
}

export interface DroppedLine {
  readonly bytes: number;
  /** The id of its message, if it is where servers write it. */
  readonly id: string | number | undefined;
  /** Whether it begins like a message; otherwise it is noise, for which the limit is lower. */
  readonly isMessage: boolean;
  /** Whether it ends like a message: an answer may have followed the noise. */
  readonly endsAsMessage: boolean;
}

export class LineReader {
  readonly #splitter: LineSplitter;
  /** The edges of a line that came in several chunks. A line in a single chunk (64 KiB) is never too long. */
  #first = Buffer.alloc(0);
  #last = Buffer.alloc(0);
  #isInLine = false;

  /** `maxLineBytes` may change while lines arrive. */
  constructor(maxLineBytes: () => number, handlers: LineHandlers) {
    this.#splitter = new LineSplitter(
      (firstBytes) => (isNoise(firstBytes) ? Math.min(MAX_NOISE_BYTES, maxLineBytes()) : maxLineBytes()),
      (line) => handlers.onLine(line),
      (bytes) => handlers.onOversize({ bytes, ...this.#lookAtEdges() }),
      handlers.longLines,
    );
  }

  /** Adds the next bytes. A line that came in several chunks ends by itself, so that the kept edges are of the line that is reported. */
  push(chunk: Buffer): void {
    const ofFirst = this.#isInLine ? chunk.indexOf(NEWLINE) + 1 : 0;
    const ofWhole = chunk.lastIndexOf(NEWLINE) + 1;
    if (ofFirst > 0) {
      this.#keepEdges(chunk.subarray(0, ofFirst - 1));
      this.#splitter.push(chunk.subarray(0, ofFirst));
      this.#isInLine = false;
    }
    if (ofWhole > ofFirst) {
      this.#splitter.push(chunk.subarray(ofFirst, ofWhole));
    }
    if (ofWhole < chunk.length) {
      this.#keepEdges(chunk.subarray(ofWhole));
      this.#splitter.push(chunk.subarray(ofWhole));
      this.#isInLine = true;
    }
  }

  #keepEdges(piece: Buffer): void {
    const first = this.#isInLine ? this.#first : Buffer.alloc(0);
    const last = this.#isInLine ? this.#last : Buffer.alloc(0);
    this.#first = Buffer.concat([first, piece.subarray(0, EDGE_BYTES - first.length)]);
    this.#last = Buffer.from(Buffer.concat([last, piece.subarray(-EDGE_BYTES)]).subarray(-EDGE_BYTES));
  }

  #lookAtEdges(): Omit<DroppedLine, 'bytes'> {
    return {
      id: idAtEdges(this.#first, this.#last),
      isMessage: !isNoise(this.#first),
      endsAsMessage: /\}\s*$/.test(this.#last.toString('latin1')),
    };
  }
}

/** Whether a line with this beginning is neither a message nor a batch of them. One may still follow within the line. */
export function isNoise(firstBytes: Buffer): boolean {
  return !MESSAGE.test(firstBytes.toString('latin1', 0, EDGE_BYTES));
}

/** The id of the message in a line, if it is where servers write it. */
export function idOfLine(line: Buffer): string | number | undefined {
  return idAtEdges(line.subarray(0, EDGE_BYTES), line.subarray(-EDGE_BYTES));
}

function idAtEdges(start: Buffer, end: Buffer): string | number | undefined {
  const first = AT_START.exec(start.toString('latin1'));
  const id = (first ?? AT_END.exec(end.toString('latin1')))?.[1];
  return id?.startsWith('"') === true ? id.slice(1, -1) : id === undefined ? undefined : Number(id);
}
