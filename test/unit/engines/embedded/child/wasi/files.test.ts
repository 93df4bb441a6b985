import { describe, expect, it } from 'vitest';
import { MAX_NODES_PER_VOLUME, type Volume } from '../../../../../../src/edges/engines/embedded/child/files/volume.ts';
import { ERRNO } from '../../../../../../src/edges/engines/embedded/child/wasi/errno.ts';
import {
  createGuest,
  type Guest,
  open,
  opened,
  RESULT,
  read,
  resultOf,
  stat,
  symlink,
  withPath,
  write,
} from '../../../../../support/guest.ts';

const CREATE = 1;

function volumeOf(guest: Guest, name: string): Volume {
  const node = guest.root.entries.get(name);
  if (node === undefined) {
    throw new Error(`no ${name}`);
  }
  return node.volume;
}

function seek(guest: Guest, fd: number, offset: bigint, from: number): number {
  return guest.call['fd_seek']?.(fd, offset, from, RESULT) ?? -1;
}

describe('files', () => {
  it('return what was written, from any position', () => {
    const guest = createGuest();
    const fd = opened(guest, 'tmp/file');
    expect([write(guest, fd, 'hello world'), resultOf(guest)]).toEqual([ERRNO.SUCCESS, 11]);
    expect(read(guest, fd, 5)).toBe('');
    expect(seek(guest, fd, 6n, 0)).toBe(ERRNO.SUCCESS);
    expect(read(guest, fd, 100)).toBe('world');
    expect(seek(guest, fd, -5n, 2)).toBe(ERRNO.SUCCESS);
    expect(write(guest, fd, 'W')).toBe(ERRNO.SUCCESS);
    seek(guest, fd, 0n, 0);
    expect(read(guest, fd, 100)).toBe('hello World');
    expect(seek(guest, fd, -1n, 0)).toBe(ERRNO.INVAL);
    expect(seek(guest, fd, 0n, 3)).toBe(ERRNO.INVAL);
    expect(seek(guest, fd, 1n << 62n, 0)).toBe(ERRNO.INVAL);
  });

  it('are filled with zeros in gaps', () => {
    const guest = createGuest();
    const fd = opened(guest, 'tmp/file');
    write(guest, fd, 'abcdef');
    expect(guest.call['fd_filestat_set_size']?.(fd, 2n)).toBe(ERRNO.SUCCESS);
    expect(guest.call['fd_filestat_set_size']?.(fd, 4n)).toBe(ERRNO.SUCCESS);
    seek(guest, fd, 5n, 0);
    write(guest, fd, 'x');
    seek(guest, fd, 0n, 0);
    expect(read(guest, fd, 100)).toBe('ab\0\0\0x');
  });

  it('append at their end', () => {
    const guest = createGuest();
    const first = opened(guest, 'tmp/file');
    const second = opened(guest, 'tmp/file');
    expect(guest.call['fd_fdstat_set_flags']?.(first, 1)).toBe(ERRNO.SUCCESS);
    write(guest, second, 'long text');
    write(guest, first, '!');
    expect(stat(guest, 'tmp/file')).toEqual({ type: 4, size: 10 });
    expect(guest.call['fd_fdstat_set_flags']?.(3, 4)).toBe(ERRNO.INVAL);
  });

  it('can be read or written only if opened for it', () => {
    const guest = createGuest();
    opened(guest, 'tmp/file');
    expect(write(guest, opened(guest, 'tmp/file', 0, 2n), 'x')).toBe(ERRNO.BADF);
    expect(read(guest, opened(guest, 'tmp/file', 0, 64n), 1)).toBe(ERRNO.BADF);
    expect(read(guest, opened(guest, 'tmp', 0, 0n), 1)).toBe(ERRNO.ISDIR);
    expect(read(guest, 99, 1)).toBe(ERRNO.BADF);
  });
});

describe('quotas', () => {
  it('limit the bytes of a volume: what fits is written, then writes fail', () => {
    const guest = createGuest({ tmpBytes: 10 });
    const fd = opened(guest, 'tmp/file');
    expect([write(guest, fd, '123456789abc'), resultOf(guest)]).toEqual([ERRNO.SUCCESS, 10]);
    expect(write(guest, fd, 'x')).toBe(ERRNO.NOSPC);
    expect(write(guest, opened(guest, 'tmp/other'), 'x')).toBe(ERRNO.NOSPC);
    expect(write(guest, opened(guest, 'workspace/other'), 'x')).toBe(ERRNO.SUCCESS);
    seek(guest, fd, 0n, 0);
    expect([write(guest, fd, 'overwritten'), resultOf(guest)]).toEqual([ERRNO.SUCCESS, 10]);
  });

  it('count a hole as written', () => {
    const guest = createGuest({ tmpBytes: 1000 });
    const fd = opened(guest, 'tmp/file');
    expect(guest.call['fd_filestat_set_size']?.(fd, 1n << 40n)).toBe(ERRNO.NOSPC);
    expect(guest.call['fd_filestat_set_size']?.(fd, 1n << 63n)).toBe(ERRNO.INVAL);
    seek(guest, fd, 1n << 52n, 0);
    expect(write(guest, fd, 'x')).toBe(ERRNO.NOSPC);
    expect(volumeOf(guest, 'tmp').usedBytes).toBe(0);
  });

  it('are released if a file is removed, but not before it is closed', () => {
    const guest = createGuest({ tmpBytes: 10 });
    const fd = opened(guest, 'tmp/file');
    write(guest, fd, '1234567890');
    expect(withPath(guest, 'path_unlink_file', 'tmp/file')).toBe(ERRNO.SUCCESS);
    expect(volumeOf(guest, 'tmp').usedBytes).toBe(10);
    seek(guest, fd, 0n, 0);
    expect(read(guest, fd, 3)).toBe('123');
    expect(guest.call['fd_close']?.(fd)).toBe(ERRNO.SUCCESS);
    expect([volumeOf(guest, 'tmp').usedBytes, volumeOf(guest, 'tmp').nodes]).toEqual([0, 0]);
  });

  it('limit the number of files, directories and links together', () => {
    const guest = createGuest();
    for (let at = 0; at < MAX_NODES_PER_VOLUME - 2; at += 1) {
      guest.call['fd_close']?.(opened(guest, `tmp/${at}`));
    }
    expect(symlink(guest, 'x', 'tmp/link')).toBe(ERRNO.SUCCESS);
    expect(withPath(guest, 'path_create_directory', 'tmp/dir')).toBe(ERRNO.SUCCESS);
    expect(open(guest, 'tmp/more', CREATE)).toBe(ERRNO.NOSPC);
    expect(withPath(guest, 'path_create_directory', 'tmp/more')).toBe(ERRNO.NOSPC);
    expect(symlink(guest, 'x', 'tmp/more')).toBe(ERRNO.NOSPC);
    expect(open(guest, 'workspace/more', CREATE)).toBe(ERRNO.SUCCESS);
    expect(withPath(guest, 'path_unlink_file', 'tmp/0')).toBe(ERRNO.SUCCESS);
    expect(open(guest, 'tmp/more', CREATE)).toBe(ERRNO.SUCCESS);
  });
});

describe('descriptors', () => {
  it('of the channel and of the root stay open', () => {
    const guest = createGuest();
    expect(Array.from({ length: 8 }, (_, fd) => guest.call['fd_close']?.(fd))).toEqual(Array(8).fill(ERRNO.NOTCAPABLE));
    expect(guest.call['fd_close']?.(8)).toBe(ERRNO.BADF);
  });

  it('show wasi-libc only one directory, the root', () => {
    const guest = createGuest();
    const tags = [3, 4, 5, 6, 7].map((fd) => {
      expect(guest.call['fd_prestat_get']?.(fd, RESULT)).toBe(ERRNO.SUCCESS);
      return resultOf(guest);
    });
    expect(tags).toEqual([255, 255, 255, 255, 0]);
    expect(guest.call['fd_prestat_get']?.(8, RESULT)).toBe(ERRNO.BADF);
    expect(guest.call['fd_prestat_dir_name']?.(7, RESULT, 1)).toBe(ERRNO.SUCCESS);
    expect(new Uint8Array(guest.memory.buffer)[RESULT]).toBe('/'.charCodeAt(0));
  });
});
