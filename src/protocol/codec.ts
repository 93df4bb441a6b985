/**
 * Bytes to frames and back. A line ends at byte 0x0A and at nothing else; decoding comes after splitting, so a
 * character cut by a read boundary is whole again. Nothing here does I/O, and nothing a sandbox sends makes it throw.
 */
import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { BridgeError } from '../errors.ts';
import { MAX_JSON_DEPTH } from '../limits.ts';
import { parseExact } from './exact-json.ts';

const NEWLINE = 0x0a;
const PREVIEW_CHARS = 200;

export interface LineSplitter {
  /** Takes the next bytes and calls `onLine` for each whole line among them. */
  push(chunk: Buffer): void;
  /** Bytes held that do not end a line yet. */
  readonly pendingBytes: number;
}

/**
 * Splits a byte stream into lines of at most `maxLineBytes`; a function gives that by the first bytes of each line. A
 * longer line is discarded up to its end, without being stored, and reported once with `onOversize`.
 */
export function createLineSplitter(
  maxLineBytes: number | ((firstBytes: Buffer) => number),
  onLine: (line: Buffer) => void,
  onOversize: (bytes: number) => void,
): LineSplitter {
  let pieces: Buffer[] = [];
  let held = 0;
  let discarded = 0;

  function limitOf(piece: Buffer): number {
    return typeof maxLineBytes === 'number' ? maxLineBytes : maxLineBytes(pieces[0] ?? piece);
  }

  function take(piece: Buffer): void {
    if (discarded > 0) {
      discarded += piece.length;
    } else if (held + piece.length > limitOf(piece)) {
      discarded = held + piece.length;
      pieces = [];
      held = 0;
    } else if (piece.length > 0) {
      pieces.push(piece);
      held += piece.length;
    }
  }

  function endLine(): void {
    if (discarded > 0) {
      const bytes = discarded;
      discarded = 0;
      onOversize(bytes);
      return;
    }
    const line = pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces, held);
    pieces = [];
    held = 0;
    onLine(line);
  }

  return {
    push(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE, start); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        take(chunk.subarray(start, end));
        endLine();
        start = end + 1;
      }
      take(chunk.subarray(start));
    },
    get pendingBytes() {
      return held;
    },
  };
}

export type Decoded<Frame> =
  | { readonly ok: true; readonly frame: Frame }
  | { readonly ok: false; readonly reason: string; readonly preview: string };

/** One line as a frame of `schema`; a line that is none gives the reason and its first 200 characters. */
export function decodeFrame<Schema extends z.ZodType>(schema: Schema, line: Buffer): Decoded<z.output<Schema>> {
  const text = line.toString('utf8');
  const refuse = (reason: string) => ({ ok: false, reason, preview: text.slice(0, PREVIEW_CHARS) }) as const;
  // `toString` has put U+FFFD where bytes were wrong; Python refuses such a line, and both sides must agree.
  if (!isUtf8(line)) {
    return refuse('not UTF-8');
  }
  let value: unknown;
  try {
    value = parseExact(text);
  } catch {
    return refuse('not JSON');
  }
  if (isDeeperThan(value, MAX_JSON_DEPTH)) {
    return refuse(`nested deeper than ${MAX_JSON_DEPTH} levels`);
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return refuse(`not a known frame: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`);
  }
  return { ok: true, frame: parsed.data };
}

/**
 * A frame as one line. `undefined` members are left out; lone surrogates become escapes (ECMA-262 25.5.2). NaN and the
 * infinities raise `INTERNAL`: JSON has no word for them, and `JSON.stringify` would write null instead.
 */
export function encodeFrame(frame: object): string {
  const text = JSON.stringify(frame);
  if (text.includes('null') && holdsNonFinite(frame)) {
    throw new BridgeError('INTERNAL', 'A frame to the sandbox holds NaN or an infinity, which JSON cannot express.');
  }
  return `${text}\n`;
}

function holdsNonFinite(value: unknown): boolean {
  if (typeof value === 'number') {
    return !Number.isFinite(value);
  }
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsNonFinite);
}

/** Whether arrays and objects are nested deeper than `limit`; itself never recurses deeper than that. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  if (limit === 0) {
    return true;
  }
  const members = Array.isArray(value) ? value : Object.values(value);
  return members.some((member) => isDeeperThan(member, limit - 1));
}
