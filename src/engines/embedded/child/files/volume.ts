/**
 * A volume bounds what its files may use: bytes of content and number of files. Charged before memory is taken and
 * released after it was given back, so that a failure in between errs to the safe side.
 */
import { ERRNO, WasiError } from '../wasi/errno.ts';

/**
 * Files, directories and links per volume. Chosen: 10,000 files of an honest program fit; a JavaScript object of some
 * 500 bytes stands behind each.
 */
export const MAX_NODES_PER_VOLUME = 20_000;

export class Volume {
  /** `st_dev`: a rename between two volumes fails with XDEV, as between two mounts. */
  readonly device: number;
  readonly isReadOnly: boolean;
  readonly #maxBytes: number;
  #usedBytes = 0;
  #nodes = 0;
  #lastInode = 0n;

  /** `maxBytes` 0 makes a volume read-only. */
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

  /** ROFS when nothing on this volume may change. */
  checkWritable(): void {
    if (this.isReadOnly) {
      throw new WasiError(ERRNO.ROFS);
    }
  }

  /** A number that no other node of this volume has or had. */
  nextInode(): bigint {
    this.#lastInode += 1n;
    return this.#lastInode;
  }

  /** Bytes that may still be charged. */
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
