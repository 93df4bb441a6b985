/**
 * Masks secrets in bytes that pass through, text or not, also where a secret is cut by the end of a chunk. Each byte of a secret becomes
 * `*`, so that lengths and offsets stay right: `Content-Length` has gone ahead by then. Only bytes that may begin a secret are held
 * back, so that an event of a stream is not kept until the next one comes. Like the mask of results, it is against APIs that
 * repeat a secret by accident.
 */

import { deliberateFormsOf, deliberateNeedlesOf, formsOf, isEscape, needlesOf } from '../secret-forms.ts';
import { createNeedleSearch } from './needle-search.ts';

const ASTERISK = 0x2a;
const PAIRS = 65_536;
/** A longer secret is masked in pieces. Chosen: so much at most is held back, times six if it is all escapes. */
const MAX_PIECE_CHARS = 1_024;
/** Results of `endOfForm`. */
const NOT_HERE = -1;
const CUT_OFF = -2;

export interface StreamMask {
  /** Whether there is anything to mask. */
  readonly isEmpty: boolean;
  /** A text whose characters are bytes, as in headers. */
  maskText(text: string): string;
  /** A masking of one body: returns what can be passed on of the bytes so far. It may change the bytes of the chunk. */
  begin(): (chunk: Buffer, isLast: boolean) => Buffer;
}

interface Spelling {
  readonly lower: Buffer;
  readonly upper: Buffer;
}

/** The spellings of each place. */
type ByteForm = readonly (readonly Spelling[])[];

/** `secrets`: as `secretsOf` finds them, so none of them is short. */
export function createStreamMask(secrets: readonly string[]): StreamMask {
  const pieces = [...new Set(secrets.flatMap(piecesOf))];
  const finder = new Finder(pieces);
  const isEmpty = pieces.length === 0;
  const begin = (): ((chunk: Buffer, isLast: boolean) => Buffer) => {
    const passage = new Passage(finder);
    return isEmpty ? (chunk) => chunk : (chunk, isLast) => passage.push(chunk, isLast);
  };
  return {
    isEmpty,
    begin,
    maskText: (text) => (isEmpty ? text : begin()(Buffer.from(text, 'latin1'), true).toString('latin1')),
  };
}

function piecesOf(secret: string): string[] {
  const count = Math.ceil(secret.length / MAX_PIECE_CHARS);
  const chars = Math.ceil(secret.length / Math.max(count, 1));
  return Array.from({ length: count }, (_, index) => secret.slice(index * chars, (index + 1) * chars));
}

/** One body. */
class Passage {
  readonly #finder: Finder;
  /** May begin a secret. */
  #held = Buffer.alloc(0);
  /** How many bytes of `#held`, and of what follows it, belong to a secret that has begun before. */
  #toMask = 0;

  constructor(finder: Finder) {
    this.#finder = finder;
  }

  push(chunk: Buffer, isLast: boolean): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const { spans, cut } = this.#finder.search(bytes);
    const end = isLast ? bytes.length : cut;
    // A copy, before anything is masked: a longer secret may include what is masked as a shorter one.
    this.#held = Buffer.from(bytes.subarray(end));
    let maskedTo = this.#toMask;
    bytes.fill(ASTERISK, 0, Math.min(maskedTo, end));
    for (const [from, to] of spans) {
      bytes.fill(ASTERISK, Math.min(from, end), Math.min(to, end));
      maskedTo = from < end ? Math.max(maskedTo, to) : maskedTo;
    }
    this.#toMask = Math.max(0, maskedTo - end);
    return bytes.subarray(0, end);
  }
}

interface Found {
  readonly spans: readonly (readonly [from: number, to: number])[];
  /** Where a secret may begin that is cut off; the length if there is none. */
  readonly cut: number;
}

class Finder {
  readonly #mayHold: (bytes: Buffer) => boolean;
  /** The forms that can begin with each byte, and the pairs of bytes with which one can: those decide most quickly. */
  readonly #beginning: readonly ByteForm[][];
  readonly #pairs: Uint8Array;
  readonly #maxBytes: number;

  constructor(secrets: readonly string[]) {
    const needles = new Set(secrets.flatMap((secret) => [...needlesOf(secret), ...deliberateNeedlesOf(secret)]));
    this.#mayHold = createNeedleSearch([...needles].map((needle) => Buffer.from(needle)));
    const forms = uniqueForms(secrets);
    this.#maxBytes = Math.max(0, ...forms.map(maxBytesOf));
    this.#beginning = Array.from({ length: 256 }, (_, byte) => forms.filter((form) => firstBytes(form, 0).has(byte)));
    this.#pairs = new Uint8Array(PAIRS);
    for (const pair of forms.flatMap(firstPairs)) {
      this.#pairs[pair] = 1;
    }
  }

  search(bytes: Buffer): Found {
    const mayHold = this.#mayHold(bytes);
    const spans: [number, number][] = [];
    let cut = bytes.length;
    for (let at = mayHold ? 0 : Math.max(0, bytes.length - this.#maxBytes); at < bytes.length; at += 1) {
      const pair = ((bytes[at] as number) << 8) | (bytes[at + 1] ?? 0);
      if (this.#pairs[pair] === 0 && at + 1 < bytes.length) {
        continue;
      }
      for (const form of this.#beginning[bytes[at] as number] as ByteForm[]) {
        const end = endOfForm(form, bytes, at);
        if (end === CUT_OFF) {
          cut = Math.min(cut, at);
        } else if (end !== NOT_HERE) {
          spans.push([at, end]);
        }
      }
    }
    return { spans, cut };
  }
}

function uniqueForms(secrets: readonly string[]): ByteForm[] {
  const all = secrets.flatMap((secret) => [...formsOf(secret), ...deliberateFormsOf(secret)]);
  const forms = new Map(all.map((form) => [JSON.stringify(form), form]));
  return [...forms.values()].map((form) => form.map((place) => place.map(spellingOf)));
}

function spellingOf(text: string): Spelling {
  const lower = Buffer.from(text);
  const other = isEscape(text) ? text.replace(/[a-f]/g, (digit) => digit.toUpperCase()) : text;
  return { lower, upper: Buffer.from(other) };
}

function firstBytes(form: ByteForm, place: number): Set<number> {
  return new Set(form[place]?.flatMap(({ lower, upper }) => [lower[0] ?? 0, upper[0] ?? 0]));
}

/** As numbers of two bytes. */
function firstPairs(form: ByteForm): number[] {
  const second = [...firstBytes(form, 1)];
  return (form[0] ?? []).flatMap(({ lower, upper }) => {
    const next = lower.length > 1 ? [lower[1] as number, upper[1] as number] : second;
    return next.map((byte) => ((lower[0] as number) << 8) | byte);
  });
}

function maxBytesOf(form: ByteForm): number {
  return form.reduce((sum, place) => sum + Math.max(...place.map(({ lower }) => lower.length)), 0);
}

/** Where the form ends that begins at `start`; `CUT_OFF` if it may go on after the end. */
function endOfForm(form: ByteForm, bytes: Buffer, start: number): number {
  let at = start;
  for (const place of form) {
    let next = NOT_HERE;
    for (const { lower, upper } of place) {
      const last = at + lower.length;
      let same = 0;
      while (same < lower.length && (bytes[at + same] === lower[same] || bytes[at + same] === upper[same])) {
        same += 1;
      }
      if (same === lower.length) {
        next = last;
        break;
      }
      if (at + same >= bytes.length) {
        return CUT_OFF;
      }
    }
    if (next === NOT_HERE) {
      return NOT_HERE;
    }
    at = next;
  }
  return at;
}
