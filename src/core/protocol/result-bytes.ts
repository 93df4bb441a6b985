/**
 * A large result of a tool as the bytes that the server wrote. It goes through the gates to the sandbox without being parsed; what
 * they ask most often was found by the scan. Whoever needs the object gets it, for the price of parsing it each time.
 */
import { isObject, type JsonObject } from '../base/is-object.ts';
import { parseExact } from './exact-json.ts';
import type { Extent, ScannedResponse } from './json-scan.ts';

const QUOTE = Buffer.from('"');
const BACKSLASH = 0x5c;
/** Values of `isError` that deny a failure. What a server means by any other is not certain, and no failure may pass as a success. */
const NO_FAILURE: readonly unknown[] = [undefined, null, false, 'false', 0];
/** The longest JSON text of one of them: `"false"` with every character escaped. */
const MAX_DENIAL_BYTES = 32;
/** The longest escape of one character, as in `\u00e9`. */
const ESCAPE_BYTES = 6;

const TEXT_TYPE = Buffer.from('"text"');

export class ResultBytes {
  /** The result, cut anywhere. */
  readonly pieces: readonly Buffer[];
  /** Number of bytes. */
  readonly length: number;
  readonly #scanned: ScannedResponse;
  /** Where the result begins in the response. */
  readonly #start: number;

  /** `pieces` hold the whole response. No one may write to them. */
  constructor(pieces: readonly Buffer[], scanned: ScannedResponse) {
    const whole = scanned.members.get('result') ?? { start: 0, end: 0 };
    this.pieces = cut(pieces, whole);
    this.length = whole.end - whole.start;
    this.#scanned = scanned;
    this.#start = whole.start;
  }

  /** Size without white space and escapes, as the audit log counts it. */
  get plainBytes(): number {
    return this.#scanned.plainBytes;
  }

  /** Size of the text, with its escapes, if a text is the only block; otherwise undefined. */
  get onlyTextBytes(): number | undefined {
    const { blocks, firstBlock } = this.#scanned;
    const text = firstBlock.get('text');
    return blocks !== 1 || text === undefined ? undefined : Math.max(0, text.end - text.start - 2);
  }

  /**
   * The JSON of what code gets from a tool that did not fail, not copied: structured content, or the text if it is the only block.
   * Undefined if it is neither.
   */
  valueBytes(): { readonly member: 'value' | 'text'; readonly json: readonly Buffer[] } | undefined {
    const { blocks, firstBlock, result } = this.#scanned;
    const [structured, type, text] = [result.get('structuredContent'), firstBlock.get('type'), firstBlock.get('text')];
    const isText = blocks === 1 && type !== undefined && this.#bytes(type).equals(TEXT_TYPE);
    const found = structured ?? (isText ? text : undefined);
    return found && { member: structured === undefined ? 'text' : 'value', json: this.#cut(found) };
  }

  /** Size as `stringifyExact` writes it. */
  get writtenBytes(): number {
    return this.#scanned.writtenBytes;
  }

  /** The JSON text of a member; undefined if there is none. */
  textOf(name: string): string | undefined {
    const member = this.#scanned.result.get(name);
    return member && this.#bytes(member).toString('utf8');
  }

  /** As `isFailure`. A text longer than any denial is a failure, so a server cannot make the host parse more. */
  get hasFailed(): boolean {
    const member = this.#scanned.result.get('isError');
    return (
      member !== undefined &&
      (member.end - member.start > MAX_DENIAL_BYTES ||
        !NO_FAILURE.includes(parseExact(this.#bytes(member).toString('utf8'))))
    );
  }

  /** The result as an object, parsed again for each call. */
  toObject(): JsonObject {
    return parseExact(Buffer.concat(this.pieces).toString('utf8')) as JsonObject;
  }

  /** `JSON.stringify` writes the object. */
  toJSON(): JsonObject {
    return this.toObject();
  }

  /**
   * The same object, but a long text is cut after at least `minTextChars` characters if it is the only block: its length and its
   * start are often all that matters.
   */
  toOutline(minTextChars: number): JsonObject {
    const { blocks, firstBlock } = this.#scanned;
    const text = firstBlock.get('text');
    const keptBytes = (minTextChars + 2) * ESCAPE_BYTES;
    if (blocks !== 1 || text === undefined || text.end - text.start <= keptBytes + ESCAPE_BYTES) {
      return this.toObject();
    }
    const before = this.#bytes({ start: this.#start, end: text.start + 1 + keptBytes });
    if (before[text.start - this.#start] !== QUOTE[0]) {
      return this.toObject();
    }
    const after = this.#bytes({ start: text.end, end: this.#start + this.length });
    const outline = Buffer.concat([before.subarray(0, safeEnd(before)), QUOTE, after]);
    return parseExact(outline.toString('utf8')) as JsonObject;
  }

  #bytes(extent: Extent): Buffer {
    return Buffer.concat(this.#cut(extent));
  }

  #cut({ start, end }: Extent): Buffer[] {
    return cut(this.pieces, { start: start - this.#start, end: end - this.#start });
  }
}

/** A result as an object, whichever way it came. */
export function objectOfResult(result: JsonObject | ResultBytes): JsonObject;
export function objectOfResult(result: unknown): unknown;
export function objectOfResult(result: unknown): unknown {
  return result instanceof ResultBytes ? result.toObject() : result;
}

/** Whether a `CallToolResult` reports that the tool failed. `values.py` raises for code by the same rule. */
export function isFailure(result: unknown): boolean {
  return result instanceof ResultBytes ? result.hasFailed : isObject(result) && !NO_FAILURE.includes(result['isError']);
}

/** The bytes of an extent in the pieces, not copied. */
export function cut(pieces: readonly Buffer[], { start, end }: Extent): Buffer[] {
  const found: Buffer[] = [];
  let before = 0;
  for (const piece of pieces) {
    const part = piece.subarray(Math.max(0, start - before), Math.max(0, end - before));
    if (part.length > 0) {
      found.push(part);
    }
    before += piece.length;
  }
  return found;
}

/** Where a string whose end is cut off can end: not inside a character or an escape. */
function safeEnd(bytes: Buffer): number {
  let end = bytes.length;
  while (((bytes[end - 1] ?? 0) & 0xc0) === 0x80) {
    end -= 1;
  }
  end -= (bytes[end - 1] ?? 0) >= 0xc0 ? 1 : 0;
  for (let at = Math.max(0, end - ESCAPE_BYTES); at < end; at += 1) {
    if (bytes[at] === BACKSLASH) {
      // In a row of backslashes, every second one begins an escape.
      let first = at;
      while (bytes[first - 1] === BACKSLASH) {
        first -= 1;
      }
      return at - ((at - first) % 2);
    }
  }
  return end;
}
