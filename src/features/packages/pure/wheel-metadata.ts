/**
 * Reads what a wheel says about itself, for indexes that do not have it beside the file: one entry of a zip archive (APPNOTE.TXT
 * 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16). The wheel may be anything that an index sends.
 */
import { inflateRawSync } from 'node:zlib';
import { messageOf } from '../../../core/base/errors.ts';
import { FetchFailure } from './failure.ts';

const END = Buffer.from('PK\u0005\u0006', 'latin1');
const ENTRY = 0x02014b50;
const METADATA = /^[^/]+\.dist-info\/METADATA$/;
/** The end has 22 bytes and a comment of at most 65,535. */
const MAX_END_BYTES = 22 + 65_535;
/** Also beside the file; the longest have about 200 KB. */
export const MAX_METADATA_BYTES = 4 * 1024 * 1024;

/** Throws `FetchFailure`. */
export function wheelMetadata(wheel: Buffer, filename: string): string {
  try {
    return readEntry(wheel, METADATA).toString('utf8');
  } catch (error) {
    throw new FetchFailure('wheel', `${filename} is not a valid wheel: ${messageOf(error)}`);
  }
}

function readEntry(archive: Buffer, name: RegExp): Buffer {
  const tail = archive.subarray(-MAX_END_BYTES);
  const end = tail.subarray(tail.lastIndexOf(END));
  const count = end.readUInt16LE(10);
  for (let at = end.readUInt32LE(16), seen = 0; seen < count && archive.readUInt32LE(at) === ENTRY; seen += 1) {
    const nameLength = archive.readUInt16LE(at + 28);
    const nameAt = at + 46;
    if (name.test(archive.toString('utf8', nameAt, nameAt + nameLength))) {
      return contentOf(archive, at);
    }
    at = nameAt + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  throw new Error('it has no METADATA');
}

function contentOf(archive: Buffer, entryAt: number): Buffer {
  const isDeflated = archive.readUInt16LE(entryAt + 10) === 8;
  const length = archive.readUInt32LE(entryAt + 20);
  const at = archive.readUInt32LE(entryAt + 42);
  // Its lengths of the name and of extra fields may differ from those of the entry.
  const contentAt = at + 30 + archive.readUInt16LE(at + 26) + archive.readUInt16LE(at + 28);
  const content = archive.subarray(contentAt, contentAt + length);
  return isDeflated ? inflateRawSync(content, { maxOutputLength: MAX_METADATA_BYTES }) : content;
}
