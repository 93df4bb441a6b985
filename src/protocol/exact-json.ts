/**
 * JSON whose numbers pass through the host unchanged. `JSON.parse` rounds integers beyond 2^53 (RFC 8259, section 6) and
 * makes infinity of 1e999; Python on one side and many servers on the other hold such numbers exactly, and identifiers
 * are often of this size. The host itself computes with none of them, so it carries their digits: a number it could not
 * hold is parsed to an object with one secret key, which `stringifyExact` writes as the number again.
 *
 * `JSON.rawJSON` and the source text that a reviver gets would do this; both need a newer Node than 20.
 */
import { randomUUID } from 'node:crypto';

/** Random, so that no data can hold it by chance or by intent. */
const KEY = `exact-number:${randomUUID()}`;
const CARRIED = new RegExp(`\\{"${KEY}":"([^"]+)"\\}`, 'g');

/** Whether a text may hold a number that a double does not: a long run of digits, or a large exponent. */
const SUSPICIOUS = /\d{16}|\d[eE]\+?\d{3}/;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * As `JSON.parse`, but numbers that JavaScript would change are carried. Throws `SyntaxError` as that does, and `RangeError`
 * when there are more than `maxCarried` of them: each becomes an object.
 */
export function parseExact(text: string, maxCarried = Number.POSITIVE_INFINITY): unknown {
  return JSON.parse(SUSPICIOUS.test(text) ? carryNumbers(text, maxCarried) : text);
}

/** As `JSON.stringify` of a JSON value, with carried numbers written as they came. */
export function stringifyExact(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes(KEY) ? text.replace(CARRIED, '$1') : text;
}

/** `value` with each carried number as a text of its digits, for code that takes plain JSON. */
export function carriedAsText(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null';
  return text.includes(KEY) ? JSON.parse(text.replace(CARRIED, '"$1"')) : value;
}

/** Whether an object of `parseExact` stands for a number. */
export function isCarriedNumber(value: object): boolean {
  return Object.hasOwn(value, KEY);
}

/** The text with the numbers outside strings replaced where they need it. What stays is copied in as few pieces as can be. */
function carryNumbers(text: string, maxCarried: number): string {
  let carried = 0;
  const replace = (number: string): string => {
    const kept = carry(number);
    carried += kept === number ? 0 : 1;
    if (carried > maxCarried) {
      throw new RangeError(`of more than ${maxCarried.toLocaleString('en-US')} numbers beyond 2^53`);
    }
    return kept;
  };
  const pieces: string[] = [];
  let copied = 0;
  let position = 0;
  while (position < text.length) {
    const quote = text.indexOf('"', position);
    const end = quote === -1 ? text.length : quote;
    const between = text.slice(position, end);
    if (SUSPICIOUS.test(between)) {
      pieces.push(text.slice(copied, position), between.replace(NUMBER, replace));
      copied = end;
    }
    position = quote === -1 ? end : endOfString(text, quote);
  }
  pieces.push(text.slice(copied));
  return pieces.join('');
}

function carry(number: string): string {
  const value = Number(number);
  const isKept = Number.isSafeInteger(value) || (Number.isFinite(value) && /[.eE]/.test(number));
  return isKept ? number : `{"${KEY}":"${number}"}`;
}

/** The position behind the string that begins at `quote`; the end of the text when it is not closed. */
function endOfString(text: string, quote: number): number {
  let end = text.indexOf('"', quote + 1);
  while (end !== -1 && isEscaped(text, end)) {
    end = text.indexOf('"', end + 1);
  }
  return end === -1 ? text.length : end + 1;
}

function isEscaped(text: string, position: number): boolean {
  let backslashes = 0;
  while (text[position - 1 - backslashes] === '\\') {
    backslashes += 1;
  }
  return backslashes % 2 === 1;
}
