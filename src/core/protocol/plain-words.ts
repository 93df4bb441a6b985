/**
 * Skips the plain bytes of long JSON strings. Of 64 MiB, looking at each byte took 160 ms, at words of four 36 ms, and a search for the
 * end before looking only for control characters takes 23 ms (measured). That search has a price, so it comes after some words.
 */
import { BACKSLASH, QUOTE } from './json-bytes.ts';

const BYTES = 4;
/** A byte in each of the four places of a word. */
const each = (byte: number): number => (byte * 0x01010101) | 0;
const ONES = each(0x01);
const SPACES = each(0x20);
const QUOTES = each(QUOTE);
const BACKSLASHES = each(BACKSLASH);
const HIGH_BITS = each(0x80);
const NO_WORDS = new Int32Array(0);
/** Words of controls that are looked at together. */
const GROUP = 4;
/** How far words are looked at before the end is searched: texts with an escape in each line are not searched. Chosen. */
const NEAR_BYTES = 512;
/** How far the end is searched at once. Chosen: a text full of escapes must not be searched to the end of the piece for each. */
const WINDOW_BYTES = 8 * 1024;

/**
 * The index up to which all bytes from `from` on stand for themselves inside a JSON string (RFC 8259). It may be a little too small,
 * never too large.
 */
export function skipPlainWords(piece: Buffer, from: number): number {
  const { start, words } = wordsIn(piece, from, from + NEAR_BYTES);
  if (words.length === 0 || !areAllPlain(piece, from, start)) {
    return from;
  }
  let index = 0;
  while (index < words.length && !hasSpecial(words[index] as number)) {
    index += 1;
  }
  const near = start + index * BYTES;
  return index < words.length ? near : skipWindows(piece, near);
}

/** Whole words between two indices, and where the first of them begins. */
function wordsIn(piece: Buffer, from: number, end: number): { readonly start: number; readonly words: Int32Array } {
  const start = from + ((BYTES - ((piece.byteOffset + from) % BYTES)) % BYTES);
  const count = Math.floor((Math.min(end, piece.length) - start) / BYTES);
  return { start, words: count > 0 ? new Int32Array(piece.buffer, piece.byteOffset + start, count) : NO_WORDS };
}

function areAllPlain(piece: Buffer, from: number, end: number): boolean {
  const bytes = piece.subarray(from, end);
  return bytes.every((byte) => byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH);
}

/**
 * The high bit of a byte of `(word - SPACES) & ~word` is set if the byte is a control character; that of a byte beside it may be set as
 * well. With an exclusive or before, the same tells whether a byte is a quote or a backslash.
 */
function hasSpecial(word: number): boolean {
  const quotes = word ^ QUOTES;
  const backslashes = word ^ BACKSLASHES;
  const special = controlBits(word) | ((quotes - ONES) & ~quotes) | ((backslashes - ONES) & ~backslashes);
  return (special & HIGH_BITS) !== 0;
}

function controlBits(word: number): number {
  return (word - SPACES) & ~word;
}

/** The same from the beginning of a word on. */
function skipWindows(piece: Buffer, from: number): number {
  let at = from;
  while (at < piece.length) {
    const end = at + lengthOfRun(piece.subarray(at, at + WINDOW_BYTES));
    const plain = skipWithoutControls(piece, at, end);
    if (plain < at + WINDOW_BYTES) {
      return plain;
    }
    at = plain;
  }
  return at;
}

/** How many bytes are neither a quote nor a backslash. */
function lengthOfRun(window: Buffer): number {
  const quote = window.indexOf(QUOTE);
  const run = quote < 0 ? window : window.subarray(0, quote);
  const backslash = run.indexOf(BACKSLASH);
  return backslash < 0 ? run.length : backslash;
}

/** The index up to which whole words have no control character. */
function skipWithoutControls(piece: Buffer, from: number, end: number): number {
  const { words } = wordsIn(piece, from, end);
  let index = 0;
  while (index + GROUP <= words.length && !hasControl(words, index)) {
    index += GROUP;
  }
  while (index < words.length && (controlBits(words[index] as number) & HIGH_BITS) === 0) {
    index += 1;
  }
  return from + index * BYTES;
}

function hasControl(words: Int32Array, index: number): boolean {
  const first = controlBits(words[index] as number) | controlBits(words[index + 1] as number);
  const second = controlBits(words[index + 2] as number) | controlBits(words[index + 3] as number);
  return ((first | second) & HIGH_BITS) !== 0;
}
