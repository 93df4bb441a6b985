/** The `path_…` functions, which open, create, rename and remove. All paths stay within the in-memory file tree. */
import {
  existing,
  makeDirectory,
  makeFile,
  makeLink,
  type ResolvedPath,
  removeDirectory,
  removeFile,
  rename,
  resolve,
} from '../files/tree.ts';
import type { Descriptor } from './descriptors.ts';
import { ERRNO, WasiError } from './errno.ts';
import type { ImportTable, WasiMachine } from './machine.ts';
import { FD_FLAGS, LOOKUP_FOLLOW, OPEN_FLAGS, RIGHTS } from './types.ts';

interface OpenRequest {
  readonly flags: number;
  readonly rights: bigint;
  readonly descriptorFlags: number;
}

export function pathFunctions({ memory, descriptors, clock }: WasiMachine): ImportTable {
  function placeOf(fd: number, path: number, length: number, followLast: boolean): ResolvedPath {
    return resolve(descriptors.directory(fd).node, memory.path(path, length), followLast);
  }

  function open(place: ResolvedPath, request: OpenRequest): Descriptor {
    const { flags, rights } = request;
    const node = place.node ?? create(place, flags);
    if ((flags & OPEN_FLAGS.EXCLUSIVE) !== 0 && place.node !== undefined && (flags & OPEN_FLAGS.CREATE) !== 0) {
      throw new WasiError(ERRNO.EXIST);
    }
    if (node.kind === 'link') {
      throw new WasiError(ERRNO.LOOP); // O_NOFOLLOW.
    }
    const canWrite = (rights & RIGHTS.FD_WRITE) !== 0n;
    const truncates = (flags & OPEN_FLAGS.TRUNCATE) !== 0;
    if (node.kind === 'directory') {
      if (canWrite || truncates) {
        throw new WasiError(ERRNO.ISDIR);
      }
      return { kind: 'directory', node };
    }
    if ((flags & OPEN_FLAGS.DIRECTORY) !== 0) {
      throw new WasiError(ERRNO.NOTDIR);
    }
    if (canWrite || truncates) {
      node.volume.checkWritable();
    }
    return {
      kind: 'file',
      node,
      canRead: (rights & RIGHTS.FD_READ) !== 0n,
      canWrite,
      position: 0,
      isAppending: (request.descriptorFlags & FD_FLAGS.APPEND) !== 0,
    };
  }

  function create(place: ResolvedPath, flags: number): ReturnType<typeof makeFile> {
    if ((flags & OPEN_FLAGS.CREATE) === 0 || (flags & OPEN_FLAGS.DIRECTORY) !== 0) {
      throw new WasiError(ERRNO.NOENT);
    }
    return makeFile(place, clock.realtime());
  }

  return {
    path_open(
      fd: number,
      lookup: number,
      path: number,
      length: number,
      flags: number,
      rights: bigint,
      _inheriting: bigint,
      descriptorFlags: number,
      result: number,
    ): void {
      // Checked before anything is created: a descriptor whose number cannot be returned would be lost.
      const answer = memory.view(result, 4);
      descriptors.checkRoom();
      const place = placeOf(fd, path, length, (lookup & LOOKUP_FOLLOW) !== 0);
      const descriptor = open(place, { flags, rights, descriptorFlags });
      if (descriptor.kind === 'file') {
        descriptor.node.openCount += 1;
        if ((flags & OPEN_FLAGS.TRUNCATE) !== 0) {
          descriptor.node.content.resize(0);
        }
      }
      answer.setUint32(0, descriptors.add(descriptor), true);
    },

    path_create_directory(fd: number, path: number, length: number): void {
      makeDirectory(placeOf(fd, path, length, false), clock.realtime());
    },

    path_remove_directory(fd: number, path: number, length: number): void {
      removeDirectory(placeOf(fd, path, length, false), clock.realtime());
    },

    path_unlink_file(fd: number, path: number, length: number): void {
      removeFile(placeOf(fd, path, length, false), clock.realtime());
    },

    path_rename(fd: number, path: number, length: number, newFd: number, newPath: number, newLength: number): void {
      const from = placeOf(fd, path, length, false);
      rename(from, placeOf(newFd, newPath, newLength, false), clock.realtime());
    },

    path_symlink(target: number, targetLength: number, fd: number, path: number, length: number): void {
      const text = memory.path(target, targetLength);
      makeLink(placeOf(fd, path, length, false), text, clock.realtime());
    },

    path_readlink(fd: number, path: number, length: number, buffer: number, size: number, result: number): void {
      const node = existing(placeOf(fd, path, length, false));
      if (node.kind !== 'link') {
        throw new WasiError(ERRNO.INVAL);
      }
      const text = Buffer.from(node.target).subarray(0, size >>> 0);
      const target = memory.bytes(buffer, text.length);
      memory.setUint32(result, text.length);
      target.set(text);
    },

    // Like link(2) on a file system without hard links.
    path_link(): void {
      throw new WasiError(ERRNO.PERM);
    },
  };
}
