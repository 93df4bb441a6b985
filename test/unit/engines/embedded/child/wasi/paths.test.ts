import { describe, expect, it } from 'vitest';
import { ERRNO } from '../../../../../../src/edges/engines/embedded/child/wasi/errno.ts';
import {
  createGuest,
  list,
  open,
  opened,
  openUnfollowed,
  RESULT,
  read,
  rename,
  resultOf,
  stat,
  symlink,
  withPath,
  write,
} from '../../../../../support/guest.ts';

const CREATE = 1;
const DIRECTORY = 2;
const EXCLUSIVE = 4;
const TRUNCATE = 8;

describe('paths', () => {
  it('lead to one tree: the library, /dev/null and the three writable directories', () => {
    const guest = createGuest();
    expect(list(guest, '.')).toEqual(['.', '..', 'usr', 'dev', 'tmp', 'workspace', 'packages']);
    expect(list(guest, 'usr/lib')).toEqual(['.', '..', 'os.py', 'json']);
    expect(read(guest, opened(guest, 'usr/lib/os.py', 0, 2n), 100)).toBe('import this');
    expect(stat(guest, '/usr/lib/json')).toEqual({ type: 3, size: 0 });
  });

  it.each(['../../etc/passwd', '/etc/passwd', 'proc/self/environ', 'usr/../../../root', 'tmp/../../dev/fd/0'])(
    'do not reach the host: %s',
    (path) => {
      expect(open(createGuest(), path, 0, 2n)).toBe(ERRNO.NOENT);
    },
  );

  it('cannot go above the root', () => {
    const guest = createGuest();
    expect(list(guest, '../../..')).toEqual(list(guest, '.'));
    expect(list(guest, 'tmp/../..')).toEqual(list(guest, '.'));
  });

  it('are refused if they are invalid', () => {
    const guest = createGuest();
    expect(stat(guest, '')).toBe(ERRNO.NOENT);
    expect(stat(guest, 'tmp/a\0b')).toBe(ERRNO.INVAL);
    expect(stat(guest, 'x'.repeat(4097))).toBe(ERRNO.NAMETOOLONG);
    expect(open(guest, `tmp/${'é'.repeat(128)}`, CREATE)).toBe(ERRNO.NAMETOOLONG);
    expect(open(guest, `tmp/${'x'.repeat(255)}`, CREATE)).toBe(ERRNO.SUCCESS);
    expect(withPath(guest, 'path_create_directory', 'tmp')).toBe(ERRNO.EXIST);
    expect(guest.call['path_create_directory']?.(7, 1024, 0xffff_ffff)).toBe(ERRNO.NAMETOOLONG);
  });

  it('are refused if they are not UTF-8', () => {
    const guest = createGuest();
    new Uint8Array(guest.memory.buffer).set([0x74, 0xff, 0xfe], 1024);
    expect(guest.call['path_create_directory']?.(7, 1024, 3)).toBe(ERRNO.ILSEQ);
  });

  it('follow links inside the tree, and stop at a loop', () => {
    const guest = createGuest();
    write(guest, opened(guest, 'tmp/file'), 'content');
    expect(symlink(guest, '/tmp/file', 'workspace/link')).toBe(ERRNO.SUCCESS);
    expect(read(guest, opened(guest, 'workspace/link', 0), 100)).toBe('content');
    expect(symlink(guest, '../../../../tmp', 'workspace/up')).toBe(ERRNO.SUCCESS);
    expect(stat(guest, 'workspace/up/file')).toEqual({ type: 4, size: 7 });
    expect(openUnfollowed(guest, 'workspace/link')).toBe(ERRNO.LOOP);
    expect(symlink(guest, 'b', 'tmp/a')).toBe(ERRNO.SUCCESS);
    expect(symlink(guest, 'a', 'tmp/b')).toBe(ERRNO.SUCCESS);
    expect(stat(guest, 'tmp/a')).toBe(ERRNO.LOOP);
    expect(symlink(guest, '/etc/passwd', 'tmp/host')).toBe(ERRNO.SUCCESS);
    expect(open(guest, 'tmp/host', 0, 2n)).toBe(ERRNO.NOENT);
    expect(open(guest, 'tmp/host', CREATE)).toBe(ERRNO.NOENT);
  });

  it('show the target of a link, cut to the buffer', () => {
    const guest = createGuest();
    symlink(guest, '/tmp/somewhere', 'tmp/link');
    expect(withPath(guest, 'path_readlink', 'tmp/link', 16_384, 5, RESULT)).toBe(ERRNO.SUCCESS);
    expect(Buffer.from(guest.memory.buffer, 16_384, resultOf(guest)).toString()).toBe('/tmp/');
    expect(withPath(guest, 'path_readlink', 'tmp', 16_384, 5, RESULT)).toBe(ERRNO.INVAL);
  });
});

describe('opening', () => {
  it('creates files only in writable directories', () => {
    const guest = createGuest();
    expect(open(guest, 'tmp/new', 0)).toBe(ERRNO.NOENT);
    expect(open(guest, 'tmp/new', CREATE)).toBe(ERRNO.SUCCESS);
    expect(open(guest, 'tmp/new', CREATE | EXCLUSIVE)).toBe(ERRNO.EXIST);
    expect(open(guest, 'tmp/no/where', CREATE)).toBe(ERRNO.NOENT);
    expect(open(guest, 'tmp/new/below', CREATE)).toBe(ERRNO.NOTDIR);
    expect(open(guest, 'tmp/dir/', CREATE)).toBe(ERRNO.ISDIR);
    expect(open(guest, 'at-the-root', CREATE)).toBe(ERRNO.ROFS);
    expect(open(guest, 'usr/lib/new.py', CREATE)).toBe(ERRNO.ROFS);
  });

  it('lead to a file that takes everything and has nothing', () => {
    const guest = createGuest();
    const fd = opened(guest, 'dev/null', CREATE | TRUNCATE);
    for (let round = 0; round < 3; round += 1) {
      expect(write(guest, fd, 'x'.repeat(1_000))).toBe(ERRNO.SUCCESS);
    }
    expect(stat(guest, 'dev/null')).toEqual({ type: 4, size: 0 });
    expect(read(guest, opened(guest, 'dev/null', 0, 2n), 100)).toBe('');
    expect(open(guest, 'dev/new', CREATE)).toBe(ERRNO.ROFS);
    expect(withPath(guest, 'path_unlink_file', 'dev/null')).toBe(ERRNO.ROFS);
  });

  it('never changes the library', () => {
    const guest = createGuest();
    expect(open(guest, 'usr/lib/os.py')).toBe(ERRNO.ROFS);
    expect(open(guest, 'usr/lib/os.py', TRUNCATE, 2n)).toBe(ERRNO.ROFS);
    expect(withPath(guest, 'path_unlink_file', 'usr/lib/os.py')).toBe(ERRNO.ROFS);
    expect(rename(guest, 'usr/lib/os.py', 'tmp/os.py')).toBe(ERRNO.ROFS);
    expect(rename(guest, 'tmp', 'workspace/tmp')).toBe(ERRNO.ROFS);
    expect(withPath(guest, 'path_remove_directory', 'workspace')).toBe(ERRNO.ROFS);
    expect(withPath(guest, 'path_filestat_set_times', 'usr/lib/os.py', 0n, 0n, 5)).toBe(ERRNO.ROFS);
    const fd = opened(guest, 'usr/lib/os.py', 0, 2n);
    expect(write(guest, fd, 'x')).not.toBe(ERRNO.SUCCESS);
    expect(guest.call['fd_filestat_set_size']?.(fd, 0n)).toBe(ERRNO.INVAL);
  });

  it('keeps directories and files apart', () => {
    const guest = createGuest();
    opened(guest, 'tmp/file');
    expect(open(guest, 'tmp')).toBe(ERRNO.ISDIR);
    expect(open(guest, 'tmp/file', DIRECTORY, 2n)).toBe(ERRNO.NOTDIR);
    expect(open(guest, 'tmp/file/', 0, 2n)).toBe(ERRNO.NOTDIR);
  });

  it('is limited to a number of descriptors, and uses the lowest free one', () => {
    const guest = createGuest();
    const fds = Array.from({ length: 248 }, () => opened(guest, 'tmp/file'));
    expect([fds[0], fds.at(-1)]).toEqual([8, 255]);
    expect(open(guest, 'tmp/other', CREATE)).toBe(ERRNO.MFILE);
    expect(stat(guest, 'tmp/other')).toBe(ERRNO.NOENT);
    expect(guest.call['fd_close']?.(100)).toBe(ERRNO.SUCCESS);
    expect(opened(guest, 'tmp/other')).toBe(100);
  });

  it('does nothing if the result cannot be returned', () => {
    const guest = createGuest();
    const path = 1024;
    new Uint8Array(guest.memory.buffer).set(Buffer.from('tmp/lost'), path);
    const before = guest.machine.descriptors.size;
    expect(guest.call['path_open']?.(7, 1, path, 8, CREATE, 2n, 0n, 0, 0xffff_fff0)).toBe(ERRNO.FAULT);
    expect(stat(guest, 'tmp/lost')).toBe(ERRNO.NOENT);
    expect(guest.machine.descriptors.size).toBe(before);
  });
});

describe('renaming and removing', () => {
  it('replaces files and empty directories, like rename(2)', () => {
    const guest = createGuest();
    write(guest, opened(guest, 'tmp/a'), 'aaa');
    write(guest, opened(guest, 'tmp/b'), 'b');
    expect(rename(guest, 'tmp/a', 'tmp/b')).toBe(ERRNO.SUCCESS);
    expect([stat(guest, 'tmp/a'), stat(guest, 'tmp/b')]).toEqual([ERRNO.NOENT, { type: 4, size: 3 }]);
    for (const name of ['d', 'd/e', 'f', 'f/g']) {
      withPath(guest, 'path_create_directory', `tmp/${name}`);
    }
    expect(rename(guest, 'tmp/d', 'tmp/f')).toBe(ERRNO.NOTEMPTY);
    expect(rename(guest, 'tmp/d', 'tmp/d/e/d')).toBe(ERRNO.INVAL);
    expect(rename(guest, 'tmp/d', 'tmp/b')).toBe(ERRNO.NOTDIR);
    expect(rename(guest, 'tmp/b', 'tmp/d')).toBe(ERRNO.ISDIR);
    expect(rename(guest, 'tmp/d', 'tmp/f/g')).toBe(ERRNO.SUCCESS);
    expect(list(guest, 'tmp/f/g')).toEqual(['.', '..', 'e']);
    expect(list(guest, 'tmp/f/g/e/..')).toEqual(['.', '..', 'e']);
    expect(rename(guest, 'tmp/b', 'workspace/b')).toBe(ERRNO.XDEV);
    expect(rename(guest, 'tmp/none', 'tmp/x')).toBe(ERRNO.NOENT);
    expect(rename(guest, 'tmp/f/.', 'tmp/x')).toBe(ERRNO.INVAL);
    expect(rename(guest, 'tmp/b', 'tmp/b')).toBe(ERRNO.SUCCESS);
  });

  it('removes files and empty directories, each with its own function', () => {
    const guest = createGuest();
    withPath(guest, 'path_create_directory', 'tmp/d');
    opened(guest, 'tmp/d/file');
    expect(withPath(guest, 'path_remove_directory', 'tmp/d')).toBe(ERRNO.NOTEMPTY);
    expect(withPath(guest, 'path_remove_directory', 'tmp/d/file')).toBe(ERRNO.NOTDIR);
    expect(withPath(guest, 'path_unlink_file', 'tmp/d')).toBe(ERRNO.ISDIR);
    expect(withPath(guest, 'path_unlink_file', 'tmp/d/file')).toBe(ERRNO.SUCCESS);
    expect(withPath(guest, 'path_remove_directory', 'tmp/d/.')).toBe(ERRNO.INVAL);
    expect(withPath(guest, 'path_remove_directory', 'tmp/d')).toBe(ERRNO.SUCCESS);
    expect(list(guest, 'tmp')).toEqual(['.', '..']);
  });

  it('adds nothing to a removed directory', () => {
    const guest = createGuest();
    withPath(guest, 'path_create_directory', 'tmp/d');
    const fd = opened(guest, 'tmp/d', 0, 0n);
    withPath(guest, 'path_remove_directory', 'tmp/d');
    new Uint8Array(guest.memory.buffer).set(Buffer.from('x'), 1024);
    expect(guest.call['path_create_directory']?.(fd, 1024, 1)).toBe(ERRNO.NOENT);
  });

  it('lists a directory completely while it changes', () => {
    const guest = createGuest();
    const names = Array.from({ length: 50 }, (_, at) => `file-${at}`);
    for (const name of names) {
      guest.call['fd_close']?.(opened(guest, `tmp/${name}`));
    }
    expect(list(guest, 'tmp', 64)).toEqual(['.', '..', ...names]);
  });

  it('has no hard links', () => {
    expect(createGuest().call['path_link']?.()).toBe(ERRNO.PERM);
  });
});
