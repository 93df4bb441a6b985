/** Decodes bodies that are compressed although no request allows it (RFC 9110, section 8.4). */
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};
/** Codings on top of each other. Chosen: each costs memory and time, and no API uses more than one. */
const MAX_CODINGS = 3;

/**
 * Streams that decode a body with this `Content-Encoding`, in the order in which it passes through them: none if it is not coded;
 * undefined if that cannot be decoded. What comes out must be counted: a small body can become a large one.
 */
export function decodersOf(contentEncoding: string | undefined): Transform[] | undefined {
  const codings = (contentEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  const isKnown = codings.length <= MAX_CODINGS && codings.every((coding) => Object.hasOwn(DECODERS, coding));
  return isKnown ? codings.toReversed().map((coding) => (DECODERS[coding] as () => Transform)()) : undefined;
}
