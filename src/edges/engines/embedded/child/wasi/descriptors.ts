/** The table of file descriptors. The first seven are fixed devices, the eighth is the root directory. */
import type { DirectoryNode, FileNode } from '../files/node.ts';
import { ERRNO, WasiError } from './errno.ts';

/** Chosen: the default of macOS. Each open directory may hold a list of names. */
const MAX_DESCRIPTORS = 256;

/** A byte stream that is not a file. If `read` or `write` is missing, the call fails with BADF. */
export interface Device {
  /** Waits for data and copies it into `target`. Returns the number of bytes; 0 at the end. */
  read?(target: Uint8Array): number;
  /** Returns the number of bytes taken, at least one. */
  write?(bytes: Uint8Array): number;
}

/** Reads as empty and discards what is written. */
export const NULL_DEVICE: Device = { read: () => 0, write: (bytes) => bytes.length };

export interface OpenDevice {
  readonly kind: 'device';
  readonly device: Device;
}

export interface OpenFile {
  readonly kind: 'file';
  readonly node: FileNode;
  readonly canRead: boolean;
  readonly canWrite: boolean;
  position: number;
  isAppending: boolean;
}

export interface OpenDirectory {
  readonly kind: 'directory';
  readonly node: DirectoryNode;
  /** Names at the start of the listing, so changes during it neither skip nor repeat an entry. */
  listing?: readonly string[];
}

export type Descriptor = OpenDevice | OpenFile | OpenDirectory;

export class DescriptorTable {
  readonly #open: Map<number, Descriptor>;
  /** These stay open, so code that closes descriptors at random cannot close the kernel's channel. */
  readonly #fixedCount: number;

  constructor(fixed: readonly Descriptor[]) {
    this.#open = new Map(fixed.entries());
    this.#fixedCount = fixed.length;
  }

  get size(): number {
    return this.#open.size;
  }

  get(fd: number): Descriptor {
    const descriptor = this.#open.get(fd >>> 0);
    if (descriptor === undefined) {
      throw new WasiError(ERRNO.BADF);
    }
    return descriptor;
  }

  /** Fails with BADF if `fd` is closed, ISDIR for a directory, SPIPE for a device. */
  file(fd: number): OpenFile {
    const descriptor = this.get(fd);
    if (descriptor.kind !== 'file') {
      throw new WasiError(descriptor.kind === 'directory' ? ERRNO.ISDIR : ERRNO.SPIPE);
    }
    return descriptor;
  }

  directory(fd: number): OpenDirectory {
    const descriptor = this.get(fd);
    if (descriptor.kind !== 'directory') {
      throw new WasiError(ERRNO.NOTDIR);
    }
    return descriptor;
  }

  has(fd: number): boolean {
    return this.#open.has(fd >>> 0);
  }

  /** Fails with MFILE if the table is full. */
  checkRoom(): void {
    if (this.#open.size >= MAX_DESCRIPTORS) {
      throw new WasiError(ERRNO.MFILE);
    }
  }

  /** Assigns the lowest free number. Call `checkRoom` first. */
  add(descriptor: Descriptor): number {
    let fd = this.#fixedCount;
    while (this.#open.has(fd)) {
      fd += 1;
    }
    this.#open.set(fd, descriptor);
    return fd;
  }

  close(fd: number): void {
    const descriptor = this.get(fd);
    if (fd >>> 0 < this.#fixedCount) {
      throw new WasiError(ERRNO.NOTCAPABLE);
    }
    this.#open.delete(fd >>> 0);
    if (descriptor.kind === 'file') {
      descriptor.node.openCount -= 1;
      descriptor.node.releaseIfUnused();
    }
  }
}
