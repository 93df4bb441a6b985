/** Which folders can be mounted. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix, win32 } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { messageOf } from '../../../src/core/base/errors.ts';
import { checkMounts, contains, parseMounts } from '../../../src/edges/settings/mounts.ts';

describe('an invalid mount', () => {
  it.each([
    ['/srv', "'/srv' does not have the form /host/folder:/target[:ro|rw]"],
    ['/srv:data', "'/srv:data' does not have the form"],
    ['/srv:/data:rx', "'/srv:/data:rx' does not have the form"],
    ['/srv:/', 'the target / belongs to the sandbox'],
    ['/srv:/workspace/', 'the target /workspace belongs to the sandbox'],
    ['/srv:/usr/lib', 'the target /usr/lib belongs to the sandbox'],
    ['/srv:/data/../proc', 'the target /proc belongs to the sandbox'],
    ['/a:/data,/b:/data/', '/data is the target of two mounts'],
  ])('%s', (text, reason) => {
    expect(() => parseMounts(text)).toThrow(reason);
  });
});

describe('contains', () => {
  it.each([
    ['/home/u', '/home/u', posix, true],
    ['/home/u', '/home/u/work', posix, true],
    ['/home/u', '/home/user', posix, false],
    ['/home/u', '/HOME/U', posix, false],
    ['/home/u', '/home', posix, false],
    ['C:\\Users\\U', 'c:\\users\\u\\work', win32, true],
    ['C:\\Users\\U', 'C:\\Users\\User', win32, false],
    ['C:\\Users\\U', 'D:\\Users\\U', win32, false],
    ['C:\\', 'C:\\Users', win32, true],
  ])('%s, %s', (outer, inner, path, isInside) => {
    expect(contains(outer, inner, path)).toBe(isInside);
  });
});

describe('a folder', () => {
  let root = '';
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'bridge-mounts-'));
    mkdirSync(join(root, 'home/ada/MCPs/tools'), { recursive: true });
    mkdirSync(join(root, 'home/ada/project'));
    writeFileSync(join(root, 'home/ada/file.txt'), '');
    symlinkSync(join(root, 'home'), join(root, 'home/ada/project/up'));
  });
  afterAll(() => rmSync(root, { recursive: true }));

  const check = (source: string) =>
    checkMounts([{ source, target: '/data', isWritable: false }], {
      home: join(root, 'home/ada'),
      stateDir: join(root, 'home/ada/MCPs'),
    });

  it('of the user can be mounted, also with ~ in its path', () => {
    const project = { source: join(root, 'home/ada/project'), target: '/data', isWritable: false };
    expect(check(join(root, 'home/ada/project'))).toEqual([project]);
    expect(check('~/project')).toEqual([project]);
  });

  it.each([
    ['~', 'it is, or contains, your home folder'],
    ['home', 'it is, or contains, your home folder'],
    ['home/ada/project/up', 'it is, or contains, your home folder'],
    ['home/ada/MCPs', 'it is, or contains, the state directory'],
    ['home/ada/MCPs/tools', 'it is inside'],
    ['home/ada/file.txt', 'it is not a folder'],
    ['home/ada/none', 'it cannot be read'],
    ['/', 'it is, or contains, your home folder'],
    ['/proc', 'it is inside /proc'],
    ['/sys/fs/cgroup', 'it is inside /sys'],
    ['relative', 'it is not an absolute path'],
  ])('%s is refused', (source, reason) => {
    const path = /^[~/]|^relative/.test(source) ? source : join(root, source);
    expect(() => check(path)).toThrow(reason);
  });

  const refusal = (mounts: readonly [string, boolean][], more: object = {}) => {
    const all = mounts.map(([source, isWritable]) => ({ source: join(root, source), target: '/data', isWritable }));
    const policy = { home: join(root, 'home/ada'), stateDir: join(root, 'home/ada/MCPs'), ...more };
    try {
      checkMounts(all, policy);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  };

  // Code renamed the inner folder, put a link to any other folder in its place, and saw that folder in its next session.
  it('inside one that code can write to is refused, also by way of a link', () => {
    const outer = 'home/ada/project';
    mkdirSync(join(root, outer, 'data'));
    symlinkSync(join(root, outer, 'data'), join(root, 'home/ada/link'));
    symlinkSync('link', join(root, 'home/ada/second'));
    for (const inner of [`${outer}/data`, 'home/ada/link', 'home/ada/second']) {
      expect(
        refusal([
          [outer, true],
          [inner, false],
        ]),
      ).toContain('code could replace it');
      expect(
        refusal([
          [outer, false],
          [inner, false],
        ]),
      ).toBeUndefined();
    }
    expect(
      refusal([
        [outer, true],
        [outer, false],
      ]),
    ).toBeUndefined();
    expect(
      refusal([
        [outer, true],
        ['home/ada/MCPs/../project', false],
      ]),
    ).toBeUndefined();
  });

  // Code could define a server, which the bridge starts on the host.
  it('with a file that defines servers, or with what leads to one, is refused', () => {
    const shared = 'home/ada/shared';
    mkdirSync(join(root, shared));
    const file = join(root, shared, 'servers.json');
    for (const isWritable of [true, false]) {
      expect(refusal([[shared, isWritable]], { serverFiles: [file] })).toContain('which has your servers');
    }
    writeFileSync(join(root, 'home/ada/elsewhere.json'), '');
    symlinkSync(join(root, 'home/ada/elsewhere.json'), file);
    expect(refusal([[shared, true]], { serverFiles: [file] })).toContain('it contains a link that leads to');
    expect(refusal([[shared, true]], { serverFiles: [join(root, shared)] })).toContain('which has your servers');
    mkdirSync(join(root, 'home/ada/usual'));
    symlinkSync(file, join(root, 'home/ada/usual/linked.json'));
    expect(refusal([[shared, true]], { serverFiles: [join(root, 'home/ada/usual')] })).toContain(
      'which has your servers',
    );
    expect(refusal([[shared, true]])).toBeUndefined();
    symlinkSync(file, join(root, 'home/ada/MCPs/linked.json'));
    expect(refusal([[shared, true]])).toContain('it contains a link that leads to');
  });

  it('with this program is refused if code could change it', () => {
    const program = join(root, 'home/ada/own/node_modules/bridge');
    mkdirSync(program, { recursive: true });
    expect(refusal([['home/ada/own', true]], { program })).toContain('this program');
    expect(refusal([['home/ada/own', false]], { program })).toBeUndefined();
  });
});
