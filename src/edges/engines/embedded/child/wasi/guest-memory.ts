/**
 * The guest's linear memory as the imports see it. Every pointer and length comes from the guest and is checked against the
 * current size of the memory. Views are never kept across calls, because growing the memory replaces the buffer.
 */
import { ERRNO, WasiError } from './errno.ts';

/** IOV_MAX of Linux, the most pieces in one call. */
const MAX_PIECES = 1024;
/** PATH_MAX of Linux, in bytes. */
const MAX_PATH_BYTES = 4096;

export class GuestMemory {
  readonly #memory: WebAssembly.Memory;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory;
  }

  /** A view of `length` bytes at `pointer`, valid until the guest runs again. Fails with FAULT if any byte is outside the memory. */
  bytes(pointer: number, length: number): Uint8Array {
    const start = pointer >>> 0;
    const count = length >>> 0;
    if (start + count > this.#memory.buffer.byteLength) {
      throw new WasiError(ERRNO.FAULT);
    }
    return new Uint8Array(this.#memory.buffer, start, count);
  }

  /** The same as a `DataView`, for structures. */
  view(pointer: number, length: number): DataView {
    const { buffer, byteOffset } = this.bytes(pointer, length);
    return new DataView(buffer, byteOffset, length >>> 0);
  }

  setUint32(pointer: number, value: number): void {
    this.view(pointer, 4).setUint32(0, value, true);
  }

  setUint64(pointer: number, value: bigint): void {
    this.view(pointer, 8).setBigUint64(0, value, true);
  }

  /** The pieces of an `iovec` or `ciovec` array, in order, without empty ones. */
  pieces(pointer: number, count: number): Uint8Array[] {
    if (count >>> 0 > MAX_PIECES) {
      throw new WasiError(ERRNO.INVAL);
    }
    const table = this.view(pointer, count * 8);
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < table.byteLength; at += 8) {
      const piece = this.bytes(table.getUint32(at, true), table.getUint32(at + 4, true));
      if (piece.length > 0) {
        pieces.push(piece);
      }
    }
    return pieces;
  }

  /** A path: UTF-8 without NUL, at most 4,096 bytes. */
  path(pointer: number, length: number): string {
    if (length >>> 0 > MAX_PATH_BYTES) {
      throw new WasiError(ERRNO.NAMETOOLONG);
    }
    const bytes = this.bytes(pointer, length);
    if (bytes.includes(0)) {
      throw new WasiError(ERRNO.INVAL);
    }
    try {
      return this.#decoder.decode(bytes);
    } catch {
      throw new WasiError(ERRNO.ILSEQ); // File names are text here, as on macOS.
    }
  }
}
