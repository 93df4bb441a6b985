/**
 * The file format of the standard library and of the memory snapshot: the length of the index (32 bits, little-endian), the index
 * as JSON, and the data. Offsets in the index are relative to the start of the data.
 */
import { closeSync, openSync, readSync } from 'node:fs';

const LENGTH_BYTES = 4;
/** Chosen: a thousand times the size in our files. */
const MAX_INDEX_BYTES = 64 * 1024 * 1024;

export interface IndexedFile {
  /** Exactly what the file says; the caller checks it. */
  readonly index: unknown;
  /** Fills `target` from `offset` in the data. Throws if the file ends too early. */
  readData(target: Uint8Array, offset: number): void;
  close(): void;
}

/** Opens a file and reads its index. Throws if the file has another format. */
export function openIndexedFile(path: string): IndexedFile {
  const fd = openSync(path, 'r');
  const length = new DataView(readExactly(fd, LENGTH_BYTES, 0, path)).getUint32(0, true);
  if (length > MAX_INDEX_BYTES) {
    throw new Error(`${path} does not begin with an index`);
  }
  const index: unknown = JSON.parse(Buffer.from(readExactly(fd, length, LENGTH_BYTES, path)).toString('utf8'));
  return {
    index,
    readData: (target, offset) => fill(fd, target, LENGTH_BYTES + length + offset, path),
    close: () => closeSync(fd),
  };
}

export function encodeIndexedFile(index: unknown, pieces: readonly Uint8Array[]): Uint8Array {
  const text = Buffer.from(JSON.stringify(index));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text, ...pieces]);
}

function readExactly(fd: number, count: number, position: number, path: string): ArrayBuffer {
  const bytes = new Uint8Array(count);
  fill(fd, bytes, position, path);
  return bytes.buffer;
}

function fill(fd: number, target: Uint8Array, position: number, path: string): void {
  for (let at = 0; at < target.length; ) {
    const count = readSync(fd, target, at, target.length - at, position + at);
    if (count === 0) {
      throw new Error(`${path} ends too early`);
    }
    at += count;
  }
}
