/** Reads the metadata of a wheel (PEP 427), for an index that does not have them beside it. The host reads nothing else of a wheel. */
import { inflateRawSync } from 'node:zlib';

/** The longest metadata have about 200 KB. */
export const MAX_METADATA_BYTES = 4 * 1024 * 1024;
const END = Buffer.from('PK\x05\x06', 'latin1');
const ENTRY = 0x02014b50;
const METADATA = /^[^/]+\.dist-info\/METADATA$/;

/** Undefined if there are none, or if it is not a wheel. */
export function metadataIn(wheel: Buffer): string | undefined {
  try {
    return contentOf(wheel)?.toString('utf8');
  } catch {
    // A number of the archive leads outside of it, or the content does not end.
    return undefined;
  }
}

/** Field offsets: APPNOTE of ZIP, sections 4.3.7, 4.3.12 and 4.3.16. */
function contentOf(wheel: Buffer): Buffer | undefined {
  const end = wheel.lastIndexOf(END);
  let at = wheel.readUInt32LE(end + 16);
  for (let left = wheel.readUInt16LE(end + 10); left > 0 && wheel.readUInt32LE(at) === ENTRY; left -= 1) {
    const [nameLength = 0, extraLength = 0, commentLength = 0] = [28, 30, 32].map((to) => wheel.readUInt16LE(at + to));
    if (METADATA.test(wheel.toString('utf8', at + 46, at + 46 + nameLength))) {
      const start = wheel.readUInt32LE(at + 42);
      const from = start + 30 + wheel.readUInt16LE(start + 26) + wheel.readUInt16LE(start + 28);
      const packed = wheel.subarray(from, from + wheel.readUInt32LE(at + 20));
      const isStored = wheel.readUInt16LE(at + 10) === 0;
      return isStored
        ? packed.subarray(0, MAX_METADATA_BYTES)
        : inflateRawSync(packed, { maxOutputLength: MAX_METADATA_BYTES });
    }
    at += 46 + nameLength + extraLength + commentLength;
  }
  return undefined;
}
