/**
 * JSON whose numbers pass through the host unchanged. `JSON.parse` rounds integers beyond 2^53 (RFC 8259, section 6) and turns
 * 1e999 into infinity, but Python and many servers hold such numbers exactly, and ids are often that large. The host does not
 * compute with them, so it carries their digits: a number that JavaScript cannot hold is parsed to an object with one secret
 * key, which `stringifyExact` writes as the number again.
 *
 * `JSON.rawJSON` and a reviver's access to the source text would do the same, but Node 20 has neither.
 */
import { randomUUID } from 'node:crypto';

/** Random, so data never contains it by accident. It must not become known: `withoutMarker` removes it from errors. */
const KEY = `exact-number:${randomUUID()}`;
/** Only a number: whoever learns the key must not be able to write anything else to a server. */
const CARRIED = new RegExp(`\\{"${KEY}":"(-?(?:0|[1-9]\\d*)(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)"\\}`, 'g');

/** Matches if a text may contain a number that a double cannot hold: a long run of digits or a large exponent. */
const SUSPICIOUS = /\d{16}|\d[eE]\+?\d{3}/;
/**
 * The numbers that may be such: those with 16 digits or more before a point, and those with a large exponent. Not every number,
 * because a text of 8 MiB that is not JSON can have 8,000,000, which took 1 s.
 */
const LONG_NUMBER =
  /(?<![\d.eE+-])-?(?:[1-9]\d{15}\d*(?:\.\d+)?(?:[eE][+-]?\d+)?|(?:0|[1-9]\d*)(?:\.\d+)?[eE]\+?\d{3,})/g;

const LONG_START = /^-?\d{16}|[eE]\+?\d{3}/;

/**
 * Like `JSON.parse`, but carries numbers that JavaScript would change. Each becomes an object, so more than `maxCarried` of them
 * throw `RangeError`. Invalid JSON throws `SyntaxError`.
 */
export function parseExact(text: string, maxCarried = Number.POSITIVE_INFINITY): unknown {
  return JSON.parse(SUSPICIOUS.test(text) ? carryNumbers(text, maxCarried) : text);
}

/** Like `JSON.stringify` for a JSON value, but writes carried numbers as they were received. */
export function stringifyExact(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes(KEY) ? text.replace(CARRIED, '$1') : text;
}

/** `value` with the digits of each carried number as a string, for code that needs plain JSON. */
export function carriedAsText(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null';
  return text.includes(KEY) ? JSON.parse(text.replace(CARRIED, '"$1"')) : value;
}

/** A text for people and code, without the secret key. Carried numbers in it may be JSON of a value that was shown. */
export function withoutMarker(text: string): string {
  return text.replaceAll(KEY, 'number');
}

/** Whether an object from `parseExact` is a carried number. */
export function isCarriedNumber(value: object): boolean {
  return Object.hasOwn(value, KEY);
}

/** Whether a number may be one of those that must be carried. */
export function isLongNumber(number: string): boolean {
  return LONG_START.test(number);
}

/** The text with the numbers that must be carried replaced; strings are skipped. The rest is copied in as few pieces as possible. */
function carryNumbers(text: string, maxCarried: number): string {
  let carried = 0;
  let examined = 0;
  const replace = (number: string): string => {
    const kept = carry(number);
    carried += kept === number ? 0 : 1;
    examined += 1;
    if (carried > maxCarried || examined > EXAMINED_PER_CARRIED * maxCarried) {
      throw new RangeError(`too large: more than ${maxCarried.toLocaleString('en-US')} numbers beyond 2^53`);
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
      pieces.push(text.slice(copied, position), between.replace(LONG_NUMBER, replace));
      copied = end;
    }
    position = quote === -1 ? end : endOfString(text, quote);
  }
  pieces.push(text.slice(copied));
  return pieces.join('');
}

/** A text that is not JSON can have more of them than values. */
const EXAMINED_PER_CARRIED = 10;

function carry(number: string): string {
  const value = Number(number);
  const isKept = Number.isSafeInteger(value) || (Number.isFinite(value) && /[.eE]/.test(number));
  return isKept ? number : `{"${KEY}":"${number}"}`;
}

/** The position after the string that begins at `quote`; the end of the text if it is not closed. */
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

/** JSON with sorted keys: the same for objects that differ only in the order of their members. Empty for undefined. */
export function canonicalJson(value: unknown): string {
  return value === undefined ? '' : stringifyExact(sorted(value));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(sorted);
  }
  if (typeof value !== 'object' || value === null || isCarriedNumber(value)) {
    return value;
  }
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sorted(member)]));
}
