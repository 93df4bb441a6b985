/**
 * Measures a JSON text without parsing it. A short text can be crafted so that parsing it, or traversing the result, takes
 * seconds; so it is measured first. For a text that is not JSON the numbers mean nothing, but then parsing fails.
 */
import { randomInt } from 'node:crypto';
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-bytes.ts';

export interface JsonExtent {
  /** How deeply arrays and objects are nested. */
  readonly depth: number;
  /** Commas and opening brackets outside strings: about one for each value. */
  readonly values: number;
  /** Members of all objects. */
  readonly members: number;
  /**
   * About how many different keys the members have. V8 needs 0.3 µs for a member whose key it has met in such an object, and 4 µs
   * for one with a new key (measured). In a short text each member counts as one.
   */
  readonly keys: number;
}

/** A shorter text has room for 1,400 members, fewer than any bound, so its keys are not compared. */
const SHORT_BYTES = 8 * 1024;
/** One bit for each hash of a key. With 200,000 keys, one in twenty falls on another. */
const HASH_BITS = 21;
const SEED = randomInt(0x7fff_ffff);
let seen: Uint8Array | undefined;

/**
 * The extent of a text in UTF-8. Takes 1 to 5 ms per MiB, 10 if it has nothing but keys. Ends soon after a number is above that of `most`,
 * so the others are then too small.
 */
export function measureJson(text: Buffer, most: JsonExtent = NO_BOUNDS): JsonExtent {
  const hashes = text.length <= SHORT_BYTES ? undefined : emptyHashes();
  let depth = 0;
  let deepest = 0;
  let values = 0;
  let members = 0;
  let keys = 0;
  let start = 0;
  let lookAt = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case QUOTE:
        start = at + 1;
        at = endOfString(text, start);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        depth += 1;
        values += 1;
        deepest = depth > deepest ? depth : deepest;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
        if (values >= lookAt) {
          lookAt = values + LOOKED_AFTER;
          if (values > most.values || members > most.members || keys > most.keys) {
            return { depth: deepest, values, members, keys };
          }
        }
        break;
      case COLON:
        members += 1;
        keys += hashes === undefined || isNew(hashes, hashOf(text, start, at)) ? 1 : 0;
        break;
      default:
        break;
    }
  }
  return { depth: deepest, values, members, keys };
}

const NO_BOUNDS: JsonExtent = { depth: Infinity, values: Infinity, members: Infinity, keys: Infinity };
/** Chosen: looking at the bounds after each value would take as long as the rest. */
const LOOKED_AFTER = 1024;

function emptyHashes(): Uint8Array {
  seen = seen?.fill(0) ?? new Uint8Array(2 ** (HASH_BITS - 3));
  return seen;
}

/** FNV-1a, from a start that nobody outside knows. */
function hashOf(text: Buffer, start: number, end: number): number {
  let hash = SEED;
  for (let at = start; at < end; at += 1) {
    hash = Math.imul(hash ^ (text[at] ?? 0), 0x0100_0193);
  }
  return (hash ^ (hash >>> 15)) & (2 ** HASH_BITS - 1);
}

function isNew(hashes: Uint8Array, hash: number): boolean {
  const at = hash >>> 3;
  const bit = 1 << (hash & 7);
  const before = hashes[at] ?? 0;
  hashes[at] = before | bit;
  return (before & bit) === 0;
}

/** Strings are read byte by byte for so long, which is faster for short ones; then the end is searched. Chosen. */
const SEARCHED_AFTER = 32;
/** The same behind an escape, as there will be more. Chosen. */
const SEARCHED_AFTER_ESCAPE = 4096;
const SEARCHED_AT_ONCE = 16 * 1024;

/** The index of the quote that ends a string. */
function endOfString(text: Buffer, start: number): number {
  let at = start;
  let searchAt = start + SEARCHED_AFTER;
  while (at < text.length) {
    const byte = text[at];
    if (byte === QUOTE) {
      return at;
    }
    if (byte === BACKSLASH) {
      at += 2;
    } else if (at < searchAt) {
      at += 1;
    } else {
      // Not to the end of the text: a string without an end would be searched again behind each escape.
      const part = text.subarray(at, at + SEARCHED_AT_ONCE);
      const quote = part.indexOf(QUOTE);
      const escape = part.subarray(0, quote === -1 ? part.length : quote).indexOf(BACKSLASH);
      if (escape !== -1) {
        at += escape;
        searchAt = at + SEARCHED_AFTER_ESCAPE;
      } else {
        at += quote === -1 ? part.length : quote;
      }
    }
  }
  return at;
}
