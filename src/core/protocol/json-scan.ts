/**
 * Reads a JSON-RPC response piece by piece as it arrives, and decides whether its result can be passed on as the bytes that came.
 * It can if parsing and writing it again would yield the same value for Python: no repeated keys, no keys that JavaScript reorders,
 * nothing beyond a limit. Whatever is in doubt, invalid or rare is refused, and the caller then parses the whole response as it
 * would without the scan. So errors have one source, and a mistake here costs time rather than data.
 */

import { MAX_JSON_DEPTH, MAX_RESULT_LONG_NUMBERS, MAX_RESULT_VALUES } from '../base/limits.ts';
import { isLongNumber } from './exact-json.ts';
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-bytes.ts';
import { KeySet } from './key-set.ts';
import { FRACTION, INTEGER, kindOfNumber, MAX_SHORT_DIGITS, OTHER, WHOLE_FRACTION } from './number-kind.ts';
import { skipPlainWords } from './plain-words.ts';
import { Utf8Check } from './utf8-check.ts';

/** A range of bytes of the response: from `start` up to but not including `end`. */
export interface Extent {
  readonly start: number;
  readonly end: number;
}

/** What is known about a response whose result can be passed on. */
export interface ScannedResponse {
  /** By name: where the members of the response are; `jsonrpc`, `id` and `result` in any order. */
  readonly members: ReadonlyMap<string, Extent>;
  /** Size of the result as the audit log counts it: without white space and escapes. */
  readonly plainBytes: number;
  /** Size of the result as `stringifyExact` writes it. */
  readonly writtenBytes: number;
  /** By name: where the members of the result are. */
  readonly result: ReadonlyMap<string, Extent>;
  /** Number of blocks in `content`; 0 if it is no array. */
  readonly blocks: number;
  /** By name: where the members of the first block are. */
  readonly firstBlock: ReadonlyMap<string, Extent>;
}

const SPACE = 0x20;
const POINT = 0x2e;
const SMALL_U = 0x75;

/** Where the scan is. */
const BETWEEN = 0;
const STRING = 1;
const ESCAPE = 2;
const TOKEN = 3;
const REFUSED = 4;

/** What may come next between tokens. */
const VALUE = 0;
const VALUE_OR_CLOSE = 1;
const KEY = 2;
const KEY_OR_CLOSE = 3;
const AFTER_KEY = 4;
const AFTER_VALUE = 5;
const NOTHING = 6;

/** Depths of the parts whose places are reported; depth 0 is outside the response. */
const IN_RESPONSE = 1;
const IN_RESULT = 2;
const IN_CONTENT = 3;
const IN_BLOCK = 4;

/** Keys of reported parts are short. Of a longer one, only the start is kept. */
const MAX_NAME_CHARS = 64;
/** From here on, JavaScript writes whole numbers with an exponent, so they are floats in Python, too. */
const FIRST_WITH_EXPONENT = 1e21;
/** The start of a line, which the log may show, is not changed before the response is accepted. */
const SHOWN_BYTES = 4 * 1024;

/** By byte: whether it stands for itself inside a string. */
const IS_PLAIN = tableOf((byte) => byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH);
/** The next bytes of a string are read one by one, and those of a longer one four at a time. Chosen. */
const SHORT_RUN = 64;

/** Where the plain bytes of a string end, not beyond `end`. */
function endOfPlain(piece: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end && IS_PLAIN[piece[at] as number] === 1) {
    at += 1;
  }
  return at;
}

/** By byte: whether it may stand between tokens. */
const IS_SPACE = tableOf((byte) => ' \t\n\r'.includes(String.fromCharCode(byte)));
/** By byte: whether it can be part of a number, `true`, `false` or `null`. */
const IS_OF_TOKEN = tableOf((byte) => /[\w.+-]/.test(String.fromCharCode(byte)));
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** By the byte after a backslash: the character that it stands for; 0 if there is none. */
const ESCAPED = Uint8Array.from({ length: 256 }, (_, byte) => {
  const index = '"\\/bfnrt'.indexOf(String.fromCharCode(byte));
  return index === -1 ? 0 : '"\\/\b\f\n\r\t'.charCodeAt(index);
});
/** By byte: the value of a hexadecimal digit; `NO_DIGIT` for all others. */
const NO_DIGIT = 16;
const DIGITS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), NO_DIGIT);
  return Number.isNaN(value) ? NO_DIGIT : value;
});
/** By character: whether `JSON.stringify` escapes it with two bytes. */
const HAS_SHORT_ESCAPE = tableOf((code) => '"\\\b\f\n\r\t'.includes(String.fromCharCode(code)));

function tableOf(isIn: (byte: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) => (isIn(byte) ? 1 : 0));
}

export class JsonScan {
  readonly #utf8 = new Utf8Check();
  #state = BETWEEN;
  #expected = VALUE;
  #piece: Buffer = Buffer.alloc(0);
  /** Index of the next byte in `#piece`, and how many bytes came in earlier pieces. */
  #at = 0;
  #before = 0;

  #depth = 0;
  readonly #isArray = new Uint8Array(MAX_JSON_DEPTH + 2);
  readonly #keys: KeySet[] = [];
  #values = 0;
  #longNumbers = 0;

  #isKey = false;
  #hexLeft = 0;
  #code = 0;
  /** Where the last escaped high surrogate ended: a low one that follows at once makes one character with it. */
  #highEnd = -1;

  /** The start of a token, which may be in the piece before. */
  #tokenPiece: Buffer = this.#piece;
  #tokenAt = 0;
  #tokenHead = '';
  #changes: (() => void)[] = [];

  /** How much longer the sizes are than the bytes so far. */
  #plainExtra = 0;
  #writtenExtra = 0;

  /** By depth: the name of the member and the start of the value. */
  readonly #names: string[] = ['', '', '', '', ''];
  readonly #starts: number[] = [0, 0, 0, 0, 0];
  #keepsName = false;
  readonly #members = new Map<string, Extent>();
  readonly #result = new Map<string, Extent>();
  readonly #firstBlock = new Map<string, Extent>();
  #blocks = 0;
  #isContentArray = false;
  #isResultObject = false;
  #plainBytes = 0;
  #writtenBytes = 0;

  /** Reads the next piece. It may rewrite numbers in place, as JavaScript would write them. */
  push(piece: Buffer): void {
    // A token that fills a whole piece is too long to be rewritten.
    const isLongToken = this.#state === TOKEN && this.#tokenPiece !== this.#piece;
    if (this.#state === REFUSED || isLongToken || !this.#utf8.push(piece)) {
      this.#refuse();
      return;
    }
    this.#piece = piece;
    this.#at = 0;
    while (this.#at < piece.length) {
      this.#step();
    }
    this.#before += piece.length;
  }

  /** Call it after the last piece. Undefined if the response has to be parsed. */
  end(): ScannedResponse | undefined {
    const isWhole = this.#state === BETWEEN && this.#expected === NOTHING && this.#utf8.isComplete;
    if (!isWhole || this.#members.size !== 3 || !this.#isResultObject) {
      return undefined;
    }
    return {
      members: this.#members,
      plainBytes: this.#plainBytes,
      writtenBytes: this.#writtenBytes,
      result: this.#result,
      blocks: this.#blocks,
      firstBlock: this.#firstBlock,
    };
  }

  /** Rewrites numbers at a place that the log might show if the response were refused. */
  finishNumbers(): void {
    this.#changes.forEach((change) => change());
    this.#changes = [];
  }

  #refuse(): void {
    this.#state = REFUSED;
    this.#at = Number.POSITIVE_INFINITY;
  }

  #step(): void {
    switch (this.#state) {
      case STRING:
        return this.#isKey ? this.#readKey() : this.#readString();
      case ESCAPE:
        return this.#readEscape();
      case TOKEN:
        return this.#readToken();
      default:
        return this.#readBetween();
    }
  }

  #readBetween(): void {
    const byte = this.#piece[this.#at] as number;
    switch (byte) {
      case SPACE:
      case 0x09:
      case 0x0a:
      case 0x0d:
        return this.#passSpace();
      case QUOTE:
        return this.#beginString();
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        return this.#open(byte === OPEN_ARRAY);
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        return this.#close(byte === CLOSE_ARRAY);
      case COMMA:
        return this.#passComma();
      case COLON:
        this.#at += 1;
        return this.#expected === AFTER_KEY ? this.#expect(VALUE) : this.#refuse();
      default:
        return this.#beginToken();
    }
  }

  #passSpace(): void {
    const piece = this.#piece;
    const start = this.#at;
    let at = start + 1;
    while (at < piece.length && IS_SPACE[piece[at] as number] === 1) {
      at += 1;
    }
    this.#at = at;
    this.#plainExtra -= at - start;
    this.#writtenExtra -= at - start;
  }

  #expect(what: number): void {
    this.#expected = what;
  }

  /** Notes where a value begins. Returns false, and refuses the response, if no value may come here. */
  #beginValue(): boolean {
    if (this.#expected !== VALUE && this.#expected !== VALUE_OR_CLOSE) {
      this.#refuse();
      return false;
    }
    if (this.#depth <= IN_BLOCK) {
      this.#starts[this.#depth] = this.#before + this.#at;
      if (this.#depth === IN_RESPONSE && this.#names[IN_RESPONSE] === 'result') {
        this.#plainBytes = -this.#plainExtra;
        this.#writtenBytes = -this.#writtenExtra;
      }
    }
    return true;
  }

  #endValue(): void {
    if (this.#depth <= IN_BLOCK) {
      this.#noteExtent();
    }
    this.#expected = this.#depth === 0 ? NOTHING : AFTER_VALUE;
  }

  #noteExtent(): void {
    const extent = { start: this.#starts[this.#depth] ?? 0, end: this.#before + this.#at };
    const name = this.#names[this.#depth] ?? '';
    const isInResult = this.#names[IN_RESPONSE] === 'result';
    const isInContent = this.#isInContent();
    if (this.#depth === IN_RESPONSE) {
      if (name === 'result') {
        const bytes = extent.end - extent.start;
        this.#plainBytes += bytes + this.#plainExtra;
        this.#writtenBytes += bytes + this.#writtenExtra;
      } else if (name !== 'id' && name !== 'jsonrpc') {
        // A request, an error, or something that the caller should look at.
        this.#refuse();
      }
      this.#members.set(name, extent);
    } else if (this.#depth === IN_RESULT && isInResult) {
      this.#result.set(name, extent);
    } else if (this.#depth === IN_CONTENT && isInContent) {
      this.#blocks += 1;
    } else if (this.#depth === IN_BLOCK && isInContent && this.#blocks === 0) {
      this.#firstBlock.set(name, extent);
    }
  }

  /** Whether the values at depth `IN_CONTENT` are the blocks of `content`. */
  #isInContent(): boolean {
    return this.#names[IN_RESPONSE] === 'result' && this.#names[IN_RESULT] === 'content' && this.#isContentArray;
  }

  #open(isArray: boolean): void {
    if (!this.#beginValue()) {
      return;
    }
    const isResult = this.#depth === IN_RESPONSE && this.#names[IN_RESPONSE] === 'result';
    if (this.#depth === MAX_JSON_DEPTH || (isArray && (this.#depth === 0 || isResult))) {
      return this.#refuse();
    }
    this.#isResultObject ||= isResult;
    if (this.#depth === IN_RESULT) {
      this.#isContentArray = isArray;
    }
    this.#depth += 1;
    this.#isArray[this.#depth] = isArray ? 1 : 0;
    if (this.#depth <= IN_BLOCK) {
      this.#names[this.#depth] = '';
    }
    if (!isArray) {
      this.#keys[this.#depth] ??= new KeySet();
      this.#keys[this.#depth]?.clear();
    }
    this.#expected = isArray ? VALUE_OR_CLOSE : KEY_OR_CLOSE;
    this.#at += 1;
    this.#countValue();
  }

  #close(isArray: boolean): void {
    const isAllowed = this.#expected === AFTER_VALUE || this.#expected === (isArray ? VALUE_OR_CLOSE : KEY_OR_CLOSE);
    if (!isAllowed || this.#depth === 0 || (this.#isArray[this.#depth] === 1) !== isArray) {
      return this.#refuse();
    }
    this.#depth -= 1;
    this.#at += 1;
    this.#endValue();
  }

  #passComma(): void {
    if (this.#expected !== AFTER_VALUE) {
      return this.#refuse();
    }
    this.#expected = this.#isArray[this.#depth] === 1 ? VALUE : KEY;
    this.#at += 1;
    this.#countValue();
  }

  #countValue(): void {
    this.#values += 1;
    if (this.#values > MAX_RESULT_VALUES) {
      this.#refuse();
    }
  }

  #beginString(): void {
    this.#isKey = this.#expected === KEY || this.#expected === KEY_OR_CLOSE;
    if (this.#isKey) {
      this.#keys[this.#depth]?.beginKey();
      this.#keepsName = this.#depth <= IN_RESULT || (this.#depth === IN_BLOCK && this.#isInContent());
      if (this.#keepsName) {
        this.#names[this.#depth] = '';
      }
    } else if (!this.#beginValue()) {
      return;
    }
    this.#state = STRING;
    this.#at += 1;
  }

  #readString(): void {
    const piece = this.#piece;
    const short = Math.min(piece.length, this.#at + SHORT_RUN);
    let at = endOfPlain(piece, this.#at, short);
    if (at === short) {
      at = endOfPlain(piece, skipPlainWords(piece, at), piece.length);
    }
    this.#at = at;
    if (at < piece.length && this.#endsPlainRun(piece[at] as number)) {
      this.#endValue();
    }
  }

  #readKey(): void {
    const piece = this.#piece;
    const keys = this.#keys[this.#depth] as KeySet;
    let at = this.#at;
    while (at < piece.length && IS_PLAIN[piece[at] as number] === 1) {
      keys.addByte(piece[at] as number);
      at += 1;
    }
    const name = this.#keepsName ? (this.#names[this.#depth] ?? '') : '';
    if (this.#keepsName && name.length < MAX_NAME_CHARS) {
      const end = Math.min(at, this.#at + MAX_NAME_CHARS - name.length);
      this.#names[this.#depth] = name + piece.toString('latin1', this.#at, end);
    }
    this.#at = at;
    if (at < piece.length && this.#endsPlainRun(piece[at] as number)) {
      this.#expected = AFTER_KEY;
      if (!keys.endKey()) {
        this.#refuse();
      }
    }
  }

  /** Passes the byte that ends plain characters of a string. Returns whether it ends the string. */
  #endsPlainRun(byte: number): boolean {
    this.#at += 1;
    if (byte === QUOTE) {
      this.#state = BETWEEN;
      return true;
    }
    if (byte !== BACKSLASH || (this.#isKey && this.#keepsName)) {
      this.#refuse();
      return false;
    }
    this.#state = ESCAPE;
    return false;
  }

  #readEscape(): void {
    const byte = this.#piece[this.#at] as number;
    this.#at += 1;
    if (this.#hexLeft > 0) {
      const digit = DIGITS[byte] as number;
      this.#code = this.#code * NO_DIGIT + digit;
      this.#hexLeft -= 1;
      if (digit === NO_DIGIT) {
        this.#refuse();
      } else if (this.#hexLeft === 0) {
        this.#endEscape(6, this.#code);
      }
    } else if (byte === SMALL_U) {
      this.#hexLeft = 4;
      this.#code = 0;
    } else {
      const code = ESCAPED[byte] as number;
      if (code === 0) {
        return this.#refuse();
      }
      this.#endEscape(2, code);
    }
  }

  #endEscape(length: number, code: number): void {
    const isHigh = code >= 0xd800 && code <= 0xdbff;
    const isLow = code >= 0xdc00 && code <= 0xdfff;
    const end = this.#before + this.#at;
    let plain = code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
    let written = HAS_SHORT_ESCAPE[code] === 1 ? 2 : code < SPACE || isHigh || isLow ? 6 : plain;
    if (isHigh) {
      this.#highEnd = end;
    } else if (isLow && this.#highEnd === end - length) {
      // The pair has 4 bytes in all; 3 and 6 have been counted for the first.
      plain = 1;
      written = -2;
    }
    this.#plainExtra += plain - length;
    this.#writtenExtra += written - length;
    this.#state = STRING;
    if (this.#isKey) {
      if (isHigh || isLow) {
        // Equal keys may be written in two ways.
        return this.#refuse();
      }
      this.#keys[this.#depth]?.addCharacter(code);
    }
  }

  #beginToken(): void {
    if (this.#depth === 0) {
      return this.#refuse();
    }
    if (this.#beginValue()) {
      this.#state = TOKEN;
      this.#tokenPiece = this.#piece;
      this.#tokenAt = this.#at;
      this.#tokenHead = '';
    }
  }

  #readToken(): void {
    const piece = this.#piece;
    const start = this.#at;
    let at = start;
    while (at < piece.length && IS_OF_TOKEN[piece[at] as number] === 1) {
      at += 1;
    }
    this.#at = at;
    if (at === piece.length) {
      this.#tokenHead += piece.toString('latin1', start, at);
      return;
    }
    this.#state = BETWEEN;
    if (this.#tokenHead === '' && this.#endsPlainNumber(start, at)) {
      return;
    }
    const text = this.#tokenHead + piece.toString('latin1', start, at);
    if (text === 'true' || text === 'false' || text === 'null') {
      this.#endValue();
    } else if (NUMBER.test(text) && this.#depth > IN_RESPONSE) {
      this.#endNumber(text);
    } else {
      this.#refuse();
    }
  }

  /** Passes a number that needs no regular expression. Returns false for anything else. */
  #endsPlainNumber(start: number, end: number): boolean {
    const kind = kindOfNumber(this.#piece, start, end);
    if (kind === INTEGER) {
      this.#endValue();
      return true;
    }
    if (kind === OTHER || this.#depth <= IN_RESPONSE) {
      return false;
    }
    if (kind === FRACTION) {
      this.#endValue();
    } else if (kind === WHOLE_FRACTION && this.#before + start >= SHOWN_BYTES) {
      this.#cutFraction(end);
      this.#endValue();
    } else {
      this.#endNumber(this.#piece.toString('latin1', start, end));
    }
    return true;
  }

  /** Writes spaces over the point and the zeros at the end of a number. */
  #cutFraction(end: number): void {
    const piece = this.#piece;
    let at = end;
    for (let byte = 0; byte !== POINT; ) {
      at -= 1;
      byte = piece[at] as number;
      piece[at] = SPACE;
    }
    this.#plainExtra -= end - at;
    this.#writtenExtra -= end - at;
  }

  /** A number that needs a closer look, because JavaScript may write it in another way. */
  #endNumber(text: string): void {
    const point = text.indexOf('.');
    const hasExponent = text.includes('e') || text.includes('E');
    const isWhole = point === -1 && !hasExponent;
    const mayBeLong = hasExponent || (point === -1 ? text.length : point) > MAX_SHORT_DIGITS;
    if (mayBeLong && isLongNumber(text)) {
      this.#longNumbers += 1;
      if (this.#longNumbers > MAX_RESULT_LONG_NUMBERS) {
        return this.#refuse();
      }
    }
    const value = Number(text);
    // One that JavaScript cannot hold is carried, and keeps its digits.
    const isCarried = !Number.isFinite(value) || (isWhole && !Number.isSafeInteger(value));
    const written = isCarried ? text : String(value);
    this.#plainExtra += written.length - text.length;
    this.#writtenExtra += written.length - text.length;
    // Python makes a float of 1.0 and an int of 1, which is what JavaScript writes for both.
    if (!isWhole && !isCarried && Number.isInteger(value) && Math.abs(value) < FIRST_WITH_EXPONENT) {
      this.#rewrite(text, written);
    }
    if (this.#state !== REFUSED) {
      this.#endValue();
    }
  }

  /** Rewrites a number, followed by spaces. */
  #rewrite(text: string, written: string): void {
    if (written.length > text.length || !Number.isSafeInteger(Number(written))) {
      return this.#refuse();
    }
    const padded = written.padEnd(text.length);
    const [first, at, second] = [this.#tokenPiece, this.#tokenAt, this.#piece];
    const change = (): void => {
      const done = first.write(padded, at, first.length - at, 'latin1');
      second.write(padded.slice(done), 0, 'latin1');
    };
    if (this.#before + this.#at - text.length < SHOWN_BYTES) {
      this.#changes.push(change);
    } else {
      change();
    }
  }
}
