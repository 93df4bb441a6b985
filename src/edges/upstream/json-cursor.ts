/**
 * Walks through JSON in a buffer and parses only the requested parts. `JSON.parse` of a list of 50,000 tools blocks for
 * 0.5 s; with a cursor it is read tool by tool. Checks that `JSON.parse` makes on the parts are not repeated here.
 */
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../../core/protocol/json-bytes.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';

/** Members skipped in one value: half a million take 15 to 30 ms. The largest of 1,084 real tools has 8,000. */
const MAX_SKIPPED_MEMBERS = 500_000;
/** Bytes skipped in one value, or as white space before it: some take 30 ns each. The largest real tool has 0.1 MB. */
const MAX_SKIPPED_BYTES = 16 * 1024 * 1024;
/** By byte: whether it can be part of a number, `true`, `false` or `null`. */
const IS_OF_WORD = Array.from({ length: 256 }, (_, byte) => /[\w.+-]/.test(String.fromCharCode(byte)));
/** Members that a cursor steps through, of all objects that it enters: each takes 2 µs. The largest real tool has nine. */
const MAX_KEYS = 10_000;
/** Keys of interest are short. Longer ones are returned as an empty string. */
const MAX_KEY_BYTES = 256;

/** The bytes of a value, from `start` up to but not including `end`. */
export interface JsonRange {
  readonly start: number;
  readonly end: number;
}

/** Reading a value would block for too long. The message says what the value is, to follow "is". */
export class TooMuchError extends Error {}

/** Every method throws a `SyntaxError` if the text ends early or is not JSON. */
export class JsonCursor {
  readonly #json: Buffer;
  #at: number;
  #keys = 0;
  readonly #parsed: { values: number };

  constructor(json: Buffer, at = 0, parsed = { values: 0 }) {
    this.#json = json;
    this.#at = at;
    this.#parsed = parsed;
  }

  /** How many values it and cursors made by `at` have parsed. */
  get parsedValues(): number {
    return this.#parsed.values;
  }

  /** Returns another cursor on the same text. */
  at(start: number): JsonCursor {
    return new JsonCursor(this.#json, start, this.#parsed);
  }

  /** Enters the next value if it is an object; returns whether it is. */
  enterObject(): boolean {
    return this.#take(OPEN_OBJECT);
  }

  /** Enters the next value if it is an array; returns whether it is. */
  enterArray(): boolean {
    return this.#take(OPEN_ARRAY);
  }

  /** Reads the next key of the entered object, up to its value; undefined at the end of the object. Throws `TooMuchError`. */
  nextKey(): string | undefined {
    if (!this.#nextMember(CLOSE_OBJECT)) {
      return undefined;
    }
    this.#keys += 1;
    if (this.#keys > MAX_KEYS) {
      throw new TooMuchError(`too large: more than ${MAX_KEYS.toLocaleString('en-US')} members`);
    }
    const { start, end } = this.skip();
    const isKey = this.#json[start] === QUOTE;
    if (!isKey || !this.#take(COLON)) {
      throw new SyntaxError(`expected a member of an object at byte ${start}`);
    }
    return end - start > MAX_KEY_BYTES ? '' : String(this.parse({ start, end }));
  }

  /** Whether the entered array has another element. */
  nextElement(): boolean {
    return this.#nextMember(CLOSE_ARRAY);
  }

  /** Skips the next value. Throws `TooMuchError`, after which the cursor must not be used. */
  skip(): JsonRange {
    const start = this.#skipSpace();
    const byte = this.#json[start];
    if (byte === QUOTE) {
      this.#at = this.#endOfString(start);
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      this.#at = this.#endOfNested(start);
    } else {
      this.#at = this.#endOfWord(start);
    }
    return { start, end: this.#at };
  }

  /** Reads and parses the next value. */
  value(): unknown {
    return this.parse(this.skip());
  }

  isText({ start }: JsonRange): boolean {
    return this.#json[start] === QUOTE;
  }

  /** The unparsed bytes of a value. */
  bytes({ start, end }: JsonRange): Buffer {
    return this.#json.subarray(start, end);
  }

  /** Throws `TooMuchError` for what is no description of a tool. */
  parse(range: JsonRange): unknown {
    const read = readUntrusted(this.bytes(range), JSON_BOUNDS.serverPart);
    if (!read.ok) {
      throw read.isTooMuch
        ? new TooMuchError(read.reason)
        : new SyntaxError(`a value at byte ${range.start} is not JSON`);
    }
    this.#parsed.values += read.values;
    return read.value;
  }

  /** Parses the first `maxBytes` of a string. */
  parseTextStart({ start, end }: JsonRange, maxBytes: number): string {
    let cut = Math.min(end - 1, start + maxBytes);
    // Never cut inside a character or an escape, which has at most five bytes after the backslash.
    while (cut < end - 1 && ((this.#json[cut] ?? 0) & 0xc0) === 0x80) {
      cut -= 1;
    }
    const text = this.#json.toString('utf8', start, cut);
    const whole = cut < end - 1 ? text.replace(/(?<!\\)((?:\\\\)*)\\(?:u[\da-f]{0,3})?$/i, '$1') : text;
    const read = readUntrusted(`${whole}"`, JSON_BOUNDS.serverPart);
    if (!read.ok) {
      throw new SyntaxError(`a text at byte ${start} is not JSON`);
    }
    return String(read.value);
  }

  #nextMember(close: number): boolean {
    this.#take(COMMA);
    return !this.#take(close);
  }

  #take(byte: number): boolean {
    if (this.#json[this.#skipSpace()] !== byte) {
      return false;
    }
    this.#at += 1;
    return true;
  }

  /** Moves to the next byte that is not white space, and returns its offset. */
  #skipSpace(): number {
    const start = this.#at;
    let byte = this.#json[start];
    while (byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d) {
      this.#at += 1;
      byte = this.#json[this.#at];
      checkLength(this.#at - start);
    }
    if (byte === undefined) {
      throw new SyntaxError('the text ends early');
    }
    return this.#at;
  }

  #endOfString(start: number): number {
    for (let quote = start; ; ) {
      quote = this.#json.indexOf(QUOTE, quote + 1);
      if (quote === -1) {
        throw new SyntaxError('a string is not closed');
      }
      checkLength(quote - start);
      let backslashes = 0;
      while (this.#json[quote - 1 - backslashes] === BACKSLASH) {
        backslashes += 1;
      }
      if (backslashes % 2 === 0) {
        return quote + 1;
      }
    }
  }

  #endOfNested(start: number): number {
    const json = this.#json;
    let depth = 0;
    let members = 0;
    for (let at = start; at < json.length; at += 1) {
      const byte = json[at];
      checkLength(at - start);
      if (byte === COMMA) {
        members += 1;
        if (members > MAX_SKIPPED_MEMBERS) {
          throw new TooMuchError(`too large: more than ${MAX_SKIPPED_MEMBERS.toLocaleString('en-US')} members`);
        }
      }
      if (byte === QUOTE) {
        at = this.#endOfString(at) - 1;
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        depth += 1;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        depth -= 1;
        if (depth === 0) {
          return at + 1;
        }
      }
    }
    throw new SyntaxError('an object or array is not closed');
  }

  #endOfWord(start: number): number {
    let end = start;
    while (IS_OF_WORD[this.#json[end] ?? 0] === true) {
      end += 1;
      checkLength(end - start);
    }
    if (end === start) {
      throw new SyntaxError(`no value at byte ${start}`);
    }
    return end;
  }
}

function checkLength(bytes: number): void {
  if (bytes > MAX_SKIPPED_BYTES) {
    throw new TooMuchError(`too large: more than ${MAX_SKIPPED_BYTES / 1024 / 1024} MiB`);
  }
}
