/**
 * A volume limits its files: bytes of content, and number of nodes. It is charged before memory is allocated and credited after
 * memory is freed, so a failure in between never exceeds the limit.
 */
import { ERRNO, WasiError } from '../wasi/errno.ts';

/**
 * Files, directories and links per volume. Chosen: room for a program with 10,000 files. Each node is a JavaScript object of
 * about 500 bytes.
 */
export const MAX_NODES_PER_VOLUME = 20_000;

export class Volume {
  /** `st_dev`. A rename between volumes fails with XDEV, as between mounts. */
  readonly device: number;
  readonly isReadOnly: boolean;
  readonly #maxBytes: number;
  #usedBytes = 0;
  #nodes = 0;
  #lastInode = 0n;

  /** A volume with `maxBytes` 0 is read-only. */
  constructor(device: number, maxBytes: number) {
    this.device = device;
    this.isReadOnly = maxBytes === 0;
    this.#maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get nodes(): number {
    return this.#nodes;
  }

  /** Fails with ROFS if the volume is read-only. */
  checkWritable(): void {
    if (this.isReadOnly) {
      throw new WasiError(ERRNO.ROFS);
    }
  }

  /** A number that no other node of this volume has ever had. */
  nextInode(): bigint {
    this.#lastInode += 1n;
    return this.#lastInode;
  }

  /** Bytes that can still be charged. */
  get freeBytes(): number {
    return this.#maxBytes - this.#usedBytes;
  }

  chargeBytes(count: number): void {
    if (count > this.freeBytes) {
      throw new WasiError(ERRNO.NOSPC);
    }
    this.#usedBytes += count;
  }

  releaseBytes(count: number): void {
    this.#usedBytes -= count;
  }

  chargeNode(): void {
    this.checkWritable();
    if (this.#nodes >= MAX_NODES_PER_VOLUME) {
      throw new WasiError(ERRNO.NOSPC);
    }
    this.#nodes += 1;
  }

  releaseNode(): void {
    this.#nodes -= 1;
  }
}
