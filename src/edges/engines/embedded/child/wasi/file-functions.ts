/** The `fd_…` functions that move bytes and positions. */
import type { Descriptor, OpenFile } from './descriptors.ts';
import { ERRNO, WasiError } from './errno.ts';
import type { ImportTable, WasiMachine } from './machine.ts';
import { FD_FLAGS, SEEK_FROM } from './types.ts';

export function fileFunctions({ memory, descriptors, clock }: WasiMachine): ImportTable {
  function readPieces(file: OpenFile, pieces: readonly Uint8Array[], position: number): number {
    if (!file.canRead) {
      throw new WasiError(ERRNO.BADF);
    }
    let total = 0;
    for (const piece of pieces) {
      const count = file.node.content.readAt(piece, position + total);
      total += count;
      if (count < piece.length) {
        break;
      }
    }
    return total;
  }

  function writePieces(file: OpenFile, pieces: readonly Uint8Array[], position: number): number {
    if (!file.canWrite) {
      throw new WasiError(ERRNO.BADF);
    }
    let total = 0;
    for (const piece of pieces) {
      const room = file.node.volume.freeBytes + file.node.content.size - position - total;
      const fitting = room >= piece.length ? piece : piece.subarray(0, Math.max(0, room));
      if (fitting.length === 0) {
        break;
      }
      file.node.content.writeAt(fitting, position + total);
      total += fitting.length;
    }
    if (total === 0 && pieces.length > 0) {
      throw new WasiError(ERRNO.NOSPC);
    }
    touch(file);
    return total;
  }

  function touch(file: OpenFile): void {
    const now = clock.realtime();
    file.node.times.modified = now;
    file.node.times.changed = now;
  }

  return {
    fd_read(fd: number, pieces: number, count: number, result: number): void {
      const descriptor = descriptors.get(fd);
      const targets = memory.pieces(pieces, count);
      memory.setUint32(result, 0);
      if (descriptor.kind === 'device') {
        memory.setUint32(result, readDevice(descriptor, targets[0]));
        return;
      }
      const file = descriptors.file(fd);
      const total = readPieces(file, targets, file.position);
      file.position += total;
      memory.setUint32(result, total);
    },

    fd_pread(fd: number, pieces: number, count: number, offset: bigint, result: number): void {
      const position = toPosition(offset);
      memory.setUint32(result, readPieces(descriptors.file(fd), memory.pieces(pieces, count), position));
    },

    fd_write(fd: number, pieces: number, count: number, result: number): void {
      const descriptor = descriptors.get(fd);
      const sources = memory.pieces(pieces, count);
      memory.setUint32(result, 0);
      if (descriptor.kind === 'device') {
        memory.setUint32(result, writeDevice(descriptor, sources[0]));
        return;
      }
      const file = descriptors.file(fd);
      const position = file.isAppending ? file.node.content.size : file.position;
      const total = writePieces(file, sources, position);
      file.position = position + total;
      memory.setUint32(result, total);
    },

    fd_pwrite(fd: number, pieces: number, count: number, offset: bigint, result: number): void {
      const position = toPosition(offset);
      memory.setUint32(result, writePieces(descriptors.file(fd), memory.pieces(pieces, count), position));
    },

    fd_seek(fd: number, offset: bigint, from: number, result: number): void {
      const file = descriptors.file(fd);
      const position = BigInt(seekBase(file, from)) + offset;
      const target = toPosition(position);
      memory.setUint64(result, position);
      file.position = target;
    },

    fd_tell(fd: number, result: number): void {
      memory.setUint64(result, BigInt(descriptors.file(fd).position));
    },

    fd_close(fd: number): void {
      descriptors.close(fd);
    },

    fd_filestat_set_size(fd: number, size: bigint): void {
      const file = descriptors.file(fd);
      if (!file.canWrite) {
        throw new WasiError(ERRNO.INVAL);
      }
      file.node.content.resize(toPosition(size));
      touch(file);
    },

    fd_fdstat_set_flags(fd: number, flags: number): void {
      const descriptor = descriptors.get(fd);
      if (descriptor.kind === 'file') {
        descriptor.isAppending = (flags & FD_FLAGS.APPEND) !== 0;
      } else if (flags !== 0) {
        throw new WasiError(ERRNO.INVAL); // Devices and directories support no flags.
      }
    },

    // Files are in memory, so there is nothing to advise or flush.
    fd_advise(fd: number): void {
      descriptors.file(fd);
    },
    fd_datasync(fd: number): void {
      descriptors.get(fd);
    },
    fd_sync(fd: number): void {
      descriptors.get(fd);
    },
  };
}

/** Devices transfer one piece per call, as pipes may. */
function readDevice({ device }: Extract<Descriptor, { kind: 'device' }>, target: Uint8Array | undefined): number {
  if (device.read === undefined) {
    throw new WasiError(ERRNO.BADF);
  }
  return target === undefined ? 0 : device.read(target);
}

function writeDevice({ device }: Extract<Descriptor, { kind: 'device' }>, bytes: Uint8Array | undefined): number {
  if (device.write === undefined) {
    throw new WasiError(ERRNO.BADF);
  }
  return bytes === undefined ? 0 : device.write(bytes);
}

/** The offset as a number. Fails with INVAL if it is negative or not exactly representable. */
function toPosition(offset: bigint): number {
  if (offset < 0n || offset > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new WasiError(ERRNO.INVAL);
  }
  return Number(offset);
}

function seekBase(file: OpenFile, from: number): number {
  switch (from) {
    case SEEK_FROM.SET:
      return 0;
    case SEEK_FROM.CURRENT:
      return file.position;
    case SEEK_FROM.END:
      return file.node.content.size;
    default:
      throw new WasiError(ERRNO.INVAL);
  }
}
