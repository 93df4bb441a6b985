/** The nodes of the in-memory file tree: directories, files and symbolic links. None of them has a path on the host. */
import { ERRNO, WasiError } from '../wasi/errno.ts';
import type { Volume } from './volume.ts';

/** Below this size a file's buffer doubles when it grows; above, it grows by a quarter, so little is left unused. */
const DOUBLING_BYTES = 1024 * 1024;
const FIRST_CAPACITY_BYTES = 256;

/** Times are nanoseconds since 1970. */
export interface Times {
  accessed: bigint;
  modified: bigint;
  changed: bigint;
}

abstract class BaseNode {
  readonly inode: bigint;
  readonly volume: Volume;
  readonly times: Times;
  /** Whether a directory still contains it. */
  isLinked = true;

  constructor(volume: Volume, now: bigint) {
    this.inode = volume.nextInode();
    this.volume = volume;
    this.times = { accessed: now, modified: now, changed: now };
  }
}

/** The content of a file. */
export interface Content {
  readonly size: number;
  /** Copies the bytes from `position` into `target`. Returns how many; 0 at the end. */
  readAt(target: Uint8Array, position: number): number;
  /** Copies all of `bytes` to `position`. If the volume is full, fails with NOSPC and changes nothing. */
  writeAt(bytes: Uint8Array, position: number): void;
  resize(size: number): void;
}

export class FileNode extends BaseNode {
  readonly kind = 'file';
  readonly content: Content;
  /** Open descriptors. An unlinked file keeps its content while one is open. */
  openCount = 0;

  constructor(volume: Volume, now: bigint, content: Content) {
    super(volume, now);
    this.content = content;
  }

  /** Call this after removing a link or closing a descriptor. */
  releaseIfUnused(): void {
    if (!this.isLinked && this.openCount === 0) {
      this.content.resize(0);
    }
  }
}

export class LinkNode extends BaseNode {
  readonly kind = 'link';
  readonly target: string;

  constructor(volume: Volume, now: bigint, target: string) {
    super(volume, now);
    this.target = target;
  }
}

export class DirectoryNode extends BaseNode {
  readonly kind = 'directory';
  /** The root is its own parent. */
  parent: DirectoryNode;
  readonly #entries = new Map<string, FileNode | LinkNode | DirectoryNode>();
  #fill: ((directory: DirectoryNode) => void) | undefined;

  /** `fill` adds the entries on first access. */
  constructor(volume: Volume, now: bigint, parent?: DirectoryNode, fill?: (directory: DirectoryNode) => void) {
    super(volume, now);
    this.parent = parent ?? this;
    this.#fill = fill;
  }

  get entries(): Map<string, FileNode | LinkNode | DirectoryNode> {
    const fill = this.#fill;
    this.#fill = undefined;
    fill?.(this);
    return this.#entries;
  }
}

export type FileTreeNode = FileNode | LinkNode | DirectoryNode;

/** Content in memory; its size is charged to a volume. */
export class MemoryContent implements Content {
  readonly #volume: Volume;
  #bytes = new Uint8Array(0);
  #size = 0;

  constructor(volume: Volume) {
    this.#volume = volume;
  }

  get size(): number {
    return this.#size;
  }

  readAt(target: Uint8Array, position: number): number {
    const count = Math.max(0, Math.min(target.length, this.#size - position));
    if (count > 0) {
      target.set(this.#bytes.subarray(position, position + count));
    }
    return count;
  }

  writeAt(bytes: Uint8Array, position: number): void {
    if (position + bytes.length > this.#size) {
      this.resize(position + bytes.length);
    }
    this.#bytes.set(bytes, position);
  }

  resize(size: number): void {
    const growth = size - this.#size;
    if (growth > 0) {
      this.#volume.chargeBytes(growth);
      this.#reserve(size);
      this.#size = size;
      return;
    }
    if (size === 0) {
      this.#bytes = new Uint8Array(0);
    } else {
      this.#bytes.fill(0, size, this.#size);
    }
    this.#size = size;
    this.#volume.releaseBytes(-growth);
  }

  #reserve(size: number): void {
    if (size <= this.#bytes.length) {
      return;
    }
    const ahead = size < DOUBLING_BYTES ? size : size >> 2;
    const larger = new Uint8Array(Math.max(FIRST_CAPACITY_BYTES, size + ahead));
    larger.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = larger;
  }
}

/** Content that cannot change. `read` is called only for positions within `size`. */
export class ReadOnlyContent implements Content {
  readonly size: number;
  readonly #read: (target: Uint8Array, position: number) => number;

  constructor(size: number, read: (target: Uint8Array, position: number) => number) {
    this.size = size;
    this.#read = read;
  }

  readAt(target: Uint8Array, position: number): number {
    const count = Math.max(0, Math.min(target.length, this.size - position));
    return count === 0 ? 0 : this.#read(target.subarray(0, count), position);
  }

  writeAt(): void {
    throw new WasiError(ERRNO.ROFS);
  }

  resize(): void {
    throw new WasiError(ERRNO.ROFS);
  }
}

/** Of `/dev/null`: takes everything and has nothing. */
export class NoContent implements Content {
  readonly size = 0;

  readAt(): number {
    return 0;
  }

  writeAt(): void {
    // Nothing is kept.
  }

  resize(): void {
    // It has no size.
  }
}
