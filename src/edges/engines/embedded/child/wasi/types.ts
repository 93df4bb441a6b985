/** The constants and structures of WASI preview 1 that are used here. */
import type { FileTreeNode } from '../files/node.ts';

export const FILE_TYPE = { CHARACTER_DEVICE: 2, DIRECTORY: 3, REGULAR_FILE: 4, SYMBOLIC_LINK: 7 } as const;
export type FileType = (typeof FILE_TYPE)[keyof typeof FILE_TYPE];

export const OPEN_FLAGS = { CREATE: 1, DIRECTORY: 2, EXCLUSIVE: 4, TRUNCATE: 8 } as const;
export const FD_FLAGS = { APPEND: 1 } as const;
export const LOOKUP_FOLLOW = 1;
export const RIGHTS = { FD_READ: 1n << 1n, FD_WRITE: 1n << 6n } as const;
/** Every right of preview 1. Each function decides by itself what is allowed. */
export const ALL_RIGHTS = 0x1fffffffn;
/** What a seek is relative to, as the third argument of lseek(2). */
export const SEEK_FROM = { SET: 0, CURRENT: 1, END: 2 } as const;
export const TIME_FLAGS = { ACCESSED: 1, ACCESSED_NOW: 2, MODIFIED: 4, MODIFIED_NOW: 8 } as const;
export const CLOCK = { REALTIME: 0, MONOTONIC: 1 } as const;

export const FILESTAT_BYTES = 64;
export const FDSTAT_BYTES = 24;

export function fileTypeOf(node: FileTreeNode): FileType {
  switch (node.kind) {
    case 'directory':
      return FILE_TYPE.DIRECTORY;
    case 'file':
      return FILE_TYPE.REGULAR_FILE;
    case 'link':
      return FILE_TYPE.SYMBOLIC_LINK;
  }
}

export function sizeOf(node: FileTreeNode): number {
  switch (node.kind) {
    case 'directory':
      return 0;
    case 'file':
      return node.content.size;
    case 'link':
      return Buffer.byteLength(node.target);
  }
}

/** Writes the 64 bytes of a `filestat` to `view`. Without a node, it describes a device. */
export function writeFilestat(view: DataView, node: FileTreeNode | undefined): void {
  view.setBigUint64(0, BigInt(node?.volume.device ?? 0), true);
  view.setBigUint64(8, node?.inode ?? 0n, true);
  view.setBigUint64(16, BigInt(node === undefined ? FILE_TYPE.CHARACTER_DEVICE : fileTypeOf(node)), true);
  view.setBigUint64(24, node?.isLinked === false ? 0n : 1n, true);
  view.setBigUint64(32, BigInt(node === undefined ? 0 : sizeOf(node)), true);
  view.setBigUint64(40, node?.times.accessed ?? 0n, true);
  view.setBigUint64(48, node?.times.modified ?? 0n, true);
  view.setBigUint64(56, node?.times.changed ?? 0n, true);
}
