import { describe, expect, it } from 'vitest';
import { isUnder, whyNoFolder } from '../../../../src/features/policy/rules/paths.ts';

const verdict = (folder: string, path: string) => isUnder([folder], path).is;

it.each([
  ['/data', '/data'],
  ['/data', '/data/a/b.txt'],
  ['/data/', '/data//a/./b'],
  ['/', '/anything'],
  ['~/notes', '~/notes/x'],
  ['docs', 'docs/a.md'],
  ['docs', './docs/a.md'],
  ['C:\\work', 'C:\\work\\a.txt'],
  ['C:\\work', 'c:/WORK/a.txt'],
  ['/data', '/data/..a/a..b/...'],
  ['/proc', '/proc/cpuinfo'],
])('%s contains %s', (folder, path) => {
  expect(verdict(folder, path)).toBe('yes');
});

it.each([
  ['/data', '/database/x'],
  ['/data', '/etc/passwd'],
  ['/data', '/dat'],
  ['/data', '/proc/cpuinfo'],
  ['/data', '/dev/null'],
  ['/data', '/home/me/proc/self/root'],
  ['~/notes', '~/private'],
  ['docs', 'src/docs'],
  ['C:\\work', 'D:\\work\\a'],
])('%s does not contain %s', (folder, path) => {
  expect(verdict(folder, path)).toBe('no');
});

/** Paths that some program or file system reads differently from how they are written. */
describe('undecided', () => {
  it.each([
    ['/data', '/data/../etc/passwd'],
    ['/data', '/etc/../data/x'],
    ['/data', '/data/.. /x'],
    ['/data', '/data/ . /x'],
    ['/data', '/data/\uff0e\uff0e/etc'],
    ['/data', '/data\uff0fx'],
    ['/data', '/data /x'],
    ['/data', '/ /data'],
    ['/data', '/data/%2e%2e/etc/passwd'],
    ['/data', '/data/%2E./etc'],
    ['/data', '/data\\..\\..\\etc'],
    ['/data', '//data/x'],
    ['/data', '\\\\data\\x'],
    ['/data', 'file:///data/x'],
    ['/data', ' file:///etc/passwd'],
    ['/data', 'data/x'],
    ['/data', ' /data/x'],
    ['/data', '~/x'],
    ['/data', ''],
    ['/data', '  '],
    ['/data', '/data/a\0/../../etc'],
    ['/data', '/data/\u202E/x'],
    ['/data', '/Data/x'],
    ['/home/e\u0301', '/home/\u00e9/x'],
    ['/data/secret', '/data'],
    ['/data/secret', '/'],
    // The system itself leads from these to other folders, whoever may create links.
    ['/etc', '/proc/self/root/etc/shadow'],
    ['/etc', '/proc/1/cwd/shadow'],
    ['/etc', '/proc/self/task/12/root/etc/shadow'],
    ['/etc', '/proc/thread-self/fd/3'],
    ['/etc', '/proc/self'],
    ['/etc', '/proc'],
    ['/etc', '/PROC/self/root'],
    ['/etc', '/dev/fd/3'],
    ['/etc', '/dev/fd'],
    ['/etc', '/dev/stdin'],
    ['/etc', '/.vol/16777220/2'],
    ['/etc', '/System/Volumes/Data/private/etc'],
    ['/proc', '/proc/self/root/etc/shadow'],
    ['/', '/proc/self/root/etc/shadow'],
    ['/data/secret', '/DATA'],
    ['~/notes', '~alice/work'],
    ['~/notes', '~alice'],
    ['C:\\work', 'C:work\\a'],
    ['C:\\work', '\\\\?\\C:\\work\\a'],
    ['C:\\work', 'C:\\work\\a.txt:stream'],
    ['C:\\work', 'C:\\work\\PROGRA~1'],
    ['C:\\work', 'C:\\work.\\a'],
    ['C:\\work', 'C:\\work\\... \\a'],
  ])('whether %s contains %j', (folder, path) => {
    expect(verdict(folder, path)).toBe('unsure');
  });
});

it('any one of several folders is enough', () => {
  expect(isUnder(['/data', '/tmp'], '/tmp/x').is).toBe('yes');
  expect(isUnder(['/data/a', '/tmp'], '/data').is).toBe('unsure');
  expect(isUnder(['/data/a', '/tmp'], '/usr').is).toBe('no');
});

it('says why paths cannot be compared with a folder', () => {
  expect(whyNoFolder('/data/../etc')).toBe('contains ".."');
  expect(whyNoFolder('file:///data')).toBe('is a URL, not a path');
  expect(whyNoFolder('/data')).toBeUndefined();
});
