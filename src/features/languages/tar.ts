/**
 * Archives as `tar` reads and writes them (ustar, with GNU's entries for long names): only regular files. The sandbox that sends
 * one is not trusted: everything else in it is passed over.
 */
import type { ProgramFile } from '../../core/base/program.ts';
import { MAX_FILES, MAX_OUTPUT_FILES_BYTES, MAX_RETURNED_NAME_BYTES } from './limits.ts';

const BLOCK = 512;
const LONG_NAME = '././@LongLink';
/** What fits into the field of a header. */
const MAX_SHORT_NAME_BYTES = 100;

/** An archive of `files`, readable and writable for their owner. */
export function writeTar(files: readonly ProgramFile[]): Buffer {
  const pieces = files.flatMap(({ name, content }) => {
    const bytes = Buffer.from(name);
    const long =
      bytes.byteLength > MAX_SHORT_NAME_BYTES ? entryOf(Buffer.from(LONG_NAME), 'L', Buffer.from(`${name}\0`)) : [];
    return [...long, ...entryOf(bytes, '0', content)];
  });
  return Buffer.concat([...pieces, Buffer.alloc(2 * BLOCK)]);
}

function entryOf(name: Uint8Array, type: string, content: Uint8Array): Uint8Array[] {
  const header = Buffer.alloc(BLOCK);
  header.set(name.subarray(0, MAX_SHORT_NAME_BYTES), 0);
  const fields: readonly (readonly [string, number])[] = [
    ['0000600\0', 100],
    ['0000000\0', 108],
    ['0000000\0', 116],
    [`${content.byteLength.toString(8).padStart(11, '0')}\0`, 124],
    [
      `${Math.floor(Date.now() / 1000)
        .toString(8)
        .padStart(11, '0')}\0`,
      136,
    ],
    ['        ', 148],
    [type, 156],
    ['ustar  \0', 257],
  ];
  for (const [text, offset] of fields) {
    header.write(text, offset, 'latin1');
  }
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  const padding = (BLOCK - (content.byteLength % BLOCK)) % BLOCK;
  return [header, content, Buffer.alloc(padding)];
}

/** The regular files of an archive. */
export interface ReadFiles {
  readonly files: readonly ProgramFile[];
  /** Names of those beyond the limits. */
  readonly omitted: readonly string[];
  /** Whether the archive ends within a file, so that further ones may be missing. */
  readonly isCut: boolean;
}

export function readTar(archive: Buffer): ReadFiles {
  const files: ProgramFile[] = [];
  const omitted: string[] = [];
  let longName: string | undefined;
  let isCut = false;
  let room = MAX_OUTPUT_FILES_BYTES;
  for (let at = 0; at + BLOCK <= archive.byteLength; ) {
    const header = archive.subarray(at, at + BLOCK);
    const size = Number.parseInt(textOf(header.subarray(124, 136)).trim() || '0', 8);
    const end = at + BLOCK + size;
    if (header[0] === 0 || !Number.isSafeInteger(size) || size < 0) {
      break;
    }
    if (end > archive.byteLength) {
      isCut = true;
      break;
    }
    const content = archive.subarray(at + BLOCK, end);
    const type = String.fromCodePoint(header[156] ?? 0);
    if (type === 'L') {
      // A longer name is refused later. It is not read whole, because it can be as long as the archive.
      longName = textOf(content.subarray(0, MAX_RETURNED_NAME_BYTES + 1));
    } else {
      const name = (longName ?? textOf(header.subarray(0, MAX_SHORT_NAME_BYTES))).replace(/^(?:\.\/)+/, '');
      longName = undefined;
      if (type === '0' && (size > room || files.length === MAX_FILES)) {
        omitted.push(name);
      } else if (type === '0') {
        room -= size;
        files.push({ name, content });
      }
    }
    at = end + ((BLOCK - (size % BLOCK)) % BLOCK);
  }
  return { files, omitted, isCut };
}

function textOf(field: Uint8Array): string {
  const end = field.indexOf(0);
  return Buffer.from(field.subarray(0, end === -1 ? field.byteLength : end)).toString('utf8');
}
