/** Converts lines of bytes to frames and back. Nothing here does I/O, and no input from a sandbox makes it throw. */
import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { BridgeError } from '../base/errors.ts';
import { BYTES_PER_VALUE } from '../base/limits.ts';
import { measureJson } from './json-extent.ts';
import { JSON_BOUNDS, parseMeasured } from './untrusted-json.ts';

/** The limit for the preview of a refused line, and for the reason, which may repeat names from it. */
const PREVIEW_CHARS = 200;
const SHORTEST_FRAME = '{}';

export type Decoded<Frame> =
  | {
      readonly ok: true;
      readonly frame: Frame;
      /** About how much memory it needs: the bytes of its line, and what its values cost beyond them. */
      readonly bytes: number;
    }
  | {
      readonly ok: false;
      /** What the line is, to follow "the line is". */
      readonly reason: string;
      readonly preview: string;
      /** Whether it may be a valid frame that exceeds a limit. */
      readonly isTooMuch?: boolean;
    };

/**
 * Decodes one line as a frame of `schema`. For an invalid line, returns the reason and a preview, each of at most 200 characters.
 * `isPlain` says of some valid frames that they are, faster than the schema; it may say nothing of the others.
 */
export function decodeFrame<Schema extends z.ZodType>(
  schema: Schema,
  line: Buffer,
  isPlain?: (value: unknown) => value is z.output<Schema>,
): Decoded<z.output<Schema>> {
  const text = line.toString('utf8');
  // A sandbox can write 65,536 of them at once, and an exception for each would take seconds.
  if (line.length < SHORTEST_FRAME.length) {
    return refuse('not JSON', text);
  }
  // `toString` replaces invalid bytes by U+FFFD. Python refuses such a line, and both sides must agree.
  if (!isUtf8(line)) {
    return refuse('not UTF-8', text);
  }
  // Measured here, because the values count as memory, too.
  const extent = measureJson(line, JSON_BOUNDS.frame);
  const read = parseMeasured(text, extent, JSON_BOUNDS.frame);
  if (!read.ok) {
    return { ...refuse(read.reason, text), ...(read.isTooMuch && { isTooMuch: true }) };
  }
  const { value } = read;
  const bytes = bytesOfText(text, line) + extent.values * BYTES_PER_VALUE;
  if (isPlain?.(value) === true) {
    return { ok: true, frame: value, bytes };
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return refuse(`not a known frame: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`, text);
  }
  return { ok: true, frame: parsed.data, bytes };
}

function refuse(reason: string, text: string) {
  return { ok: false, reason: reason.slice(0, PREVIEW_CHARS), preview: text.slice(0, PREVIEW_CHARS) } as const;
}

/** V8 stores two bytes for each character of a string that has one beyond Latin-1, which may be written as an escape. */
function bytesOfText(text: string, line: Buffer): number {
  return text.length === line.length && !line.includes('\\u') ? text.length : 2 * text.length;
}

/**
 * A frame as one line. `undefined` members are left out, and lone surrogates are escaped (ECMA-262 25.5.2). Throws `INTERNAL`
 * for NaN and the infinities, which JSON cannot express; `JSON.stringify` would write null.
 */
export function encodeFrame(frame: object): string {
  const text = JSON.stringify(frame);
  if (text.includes('null') && holdsNonFinite(frame)) {
    throw new BridgeError('INTERNAL', 'a frame to the sandbox contains NaN or an infinity, which JSON cannot express');
  }
  return `${text}\n`;
}

function holdsNonFinite(value: unknown): boolean {
  if (typeof value === 'number') {
    return !Number.isFinite(value);
  }
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsNonFinite);
}
