/** The functions that describe descriptors and files, set file times, and list directories. */
import type { FileTreeNode } from '../files/node.ts';
import { existing, resolve } from '../files/tree.ts';
import type { OpenDirectory } from './descriptors.ts';
import { ERRNO, WasiError } from './errno.ts';
import type { ImportTable, WasiMachine } from './machine.ts';
import {
  ALL_RIGHTS,
  FD_FLAGS,
  FDSTAT_BYTES,
  FILE_TYPE,
  FILESTAT_BYTES,
  fileTypeOf,
  LOOKUP_FOLLOW,
  TIME_FLAGS,
  writeFilestat,
} from './types.ts';

/** Tag of the root in `prestat`. */
const PREOPENED_DIRECTORY = 0;
/** Any other tag: wasi-libc asks about each descriptor in turn and skips unknown tags. */
const NOT_PREOPENED = 0xff;
const DIRENT_BYTES = 24;
const ROOT = new TextEncoder().encode('/');

export function describeFunctions(machine: WasiMachine): ImportTable {
  const { memory, descriptors, clock } = machine;

  function setTimes(node: FileTreeNode, accessed: bigint, modified: bigint, flags: number): void {
    node.volume.checkWritable();
    const now = clock.realtime();
    if ((flags & TIME_FLAGS.ACCESSED) !== 0) {
      node.times.accessed = accessed;
    }
    if ((flags & TIME_FLAGS.ACCESSED_NOW) !== 0) {
      node.times.accessed = now;
    }
    if ((flags & TIME_FLAGS.MODIFIED) !== 0) {
      node.times.modified = modified;
    }
    if ((flags & TIME_FLAGS.MODIFIED_NOW) !== 0) {
      node.times.modified = now;
    }
    node.times.changed = now;
  }

  return {
    fd_fdstat_get(fd: number, result: number): void {
      const descriptor = descriptors.get(fd);
      const view = memory.view(result, FDSTAT_BYTES);
      const isAppending = descriptor.kind === 'file' && descriptor.isAppending;
      view.setUint8(0, descriptor.kind === 'device' ? FILE_TYPE.CHARACTER_DEVICE : fileTypeOf(descriptor.node));
      view.setUint16(2, isAppending ? FD_FLAGS.APPEND : 0, true);
      view.setBigUint64(8, ALL_RIGHTS, true);
      view.setBigUint64(16, ALL_RIGHTS, true);
    },

    fd_filestat_get(fd: number, result: number): void {
      const descriptor = descriptors.get(fd);
      const node = descriptor.kind === 'device' ? undefined : descriptor.node;
      writeFilestat(memory.view(result, FILESTAT_BYTES), node);
    },

    fd_filestat_set_times(fd: number, accessed: bigint, modified: bigint, flags: number): void {
      const descriptor = descriptors.get(fd);
      if (descriptor.kind === 'device') {
        throw new WasiError(ERRNO.BADF);
      }
      setTimes(descriptor.node, accessed, modified, flags);
    },

    path_filestat_get(fd: number, lookup: number, path: number, length: number, result: number): void {
      const { node: start } = descriptors.directory(fd);
      const place = resolve(start, memory.path(path, length), (lookup & LOOKUP_FOLLOW) !== 0);
      writeFilestat(memory.view(result, FILESTAT_BYTES), existing(place));
    },

    path_filestat_set_times(
      fd: number,
      lookup: number,
      path: number,
      length: number,
      accessed: bigint,
      modified: bigint,
      flags: number,
    ): void {
      const { node: start } = descriptors.directory(fd);
      const place = resolve(start, memory.path(path, length), (lookup & LOOKUP_FOLLOW) !== 0);
      setTimes(existing(place), accessed, modified, flags);
    },

    fd_prestat_get(fd: number, result: number): void {
      const descriptor = descriptors.get(fd);
      if (descriptor.kind === 'file') {
        throw new WasiError(ERRNO.BADF);
      }
      const isRoot = isRootDirectory(descriptor);
      const view = memory.view(result, 8);
      view.setUint32(0, isRoot ? PREOPENED_DIRECTORY : NOT_PREOPENED, true);
      view.setUint32(4, isRoot ? ROOT.length : 0, true);
    },

    fd_prestat_dir_name(fd: number, path: number, length: number): void {
      if (!isRootDirectory(descriptors.get(fd))) {
        throw new WasiError(ERRNO.BADF);
      }
      if (length >>> 0 < ROOT.length) {
        throw new WasiError(ERRNO.NAMETOOLONG);
      }
      memory.bytes(path, ROOT.length).set(ROOT);
    },

    fd_readdir(fd: number, buffer: number, length: number, cookie: bigint, result: number): void {
      const directory = descriptors.directory(fd);
      const target = memory.bytes(buffer, length);
      memory.setUint32(result, 0);
      memory.setUint32(result, writeEntries(directory, target, BigInt.asUintN(64, cookie)));
    },
  };
}

function isRootDirectory(descriptor: { readonly kind: string; readonly node?: FileTreeNode }): boolean {
  return descriptor.node?.kind === 'directory' && descriptor.node.parent === descriptor.node;
}

/** Writes the entries from index `cookie`. The last one may be cut, as the specification requires. Returns the bytes written. */
function writeEntries(directory: OpenDirectory, target: Uint8Array, cookie: bigint): number {
  if (cookie === 0n || directory.listing === undefined) {
    directory.listing = ['.', '..', ...directory.node.entries.keys()];
  }
  const { listing } = directory;
  let used = 0;
  for (let at = cookie < BigInt(listing.length) ? Number(cookie) : listing.length; at < listing.length; at += 1) {
    const name = listing[at] ?? '';
    const node = entryNode(directory, name);
    const entry = node === undefined ? undefined : encodeEntry(name, node, at + 1).subarray(0, target.length - used);
    if (entry !== undefined) {
      target.set(entry, used);
      used += entry.length;
    }
    if (used === target.length) {
      break;
    }
  }
  return used;
}

function entryNode({ node }: OpenDirectory, name: string): FileTreeNode | undefined {
  if (name === '.') {
    return node;
  }
  return name === '..' ? node.parent : node.entries.get(name);
}

function encodeEntry(name: string, node: FileTreeNode, next: number): Uint8Array {
  const text = Buffer.from(name);
  const entry = new Uint8Array(DIRENT_BYTES + text.length);
  const view = new DataView(entry.buffer);
  view.setBigUint64(0, BigInt(next), true);
  view.setBigUint64(8, node.inode, true);
  view.setUint32(16, text.length, true);
  view.setUint8(20, fileTypeOf(node));
  entry.set(text, DIRENT_BYTES);
  return entry;
}
