/**
 * The memory of the guest after `py_init` and before `py_run`. Its stack is empty then, so memory is its whole state. Only blocks
 * that differ from a fresh instance are kept.
 */
import { encodeIndexedFile, type IndexedFile } from './indexed-file.ts';
import { PAGE_BYTES } from './program.ts';

/** Unit of comparison. Chosen: small enough to skip unchanged memory, large enough for few runs. */
const BLOCK_BYTES = 4096;

interface SnapshotIndex {
  readonly pages: number;
  /** Offset in memory and length of each run. The data holds the runs one after the other. */
  readonly runs: readonly (readonly [number, number])[];
}

/** `fresh` is the memory of an instance of the same module that has run nothing. */
export function encodeSnapshot(memory: Uint8Array, fresh: Uint8Array): Uint8Array {
  const runs: [number, number][] = [];
  for (let at = 0; at < memory.length; at += BLOCK_BYTES) {
    if (isSame(memory, fresh, at)) {
      continue;
    }
    const last = runs.at(-1);
    if (last !== undefined && last[0] + last[1] === at) {
      last[1] += BLOCK_BYTES;
    } else {
      runs.push([at, BLOCK_BYTES]);
    }
  }
  const index: SnapshotIndex = { pages: memory.length / PAGE_BYTES, runs };
  return encodeIndexedFile(
    index,
    runs.map(([offset, length]) => memory.subarray(offset, offset + length)),
  );
}

function isSame(memory: Uint8Array, fresh: Uint8Array, at: number): boolean {
  const block = memory.subarray(at, at + BLOCK_BYTES);
  return at < fresh.length
    ? Buffer.compare(block, fresh.subarray(at, at + BLOCK_BYTES)) === 0
    : block.every((byte) => byte === 0);
}

/** How many pages the memory must have before `restoreSnapshot`. */
export function snapshotPages(snapshot: IndexedFile): number {
  return (snapshot.index as SnapshotIndex).pages;
}

/** Copies the snapshot into the memory of a fresh instance. */
export function restoreSnapshot(snapshot: IndexedFile, memory: WebAssembly.Memory): void {
  let position = 0;
  for (const [offset, length] of (snapshot.index as SnapshotIndex).runs) {
    snapshot.readData(new Uint8Array(memory.buffer, offset, length), position);
    position += length;
  }
}
