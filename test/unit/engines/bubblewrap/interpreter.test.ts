import { describe, expect, it } from 'vitest';
import {
  judgeInterpreter,
  parseFacts,
  systemInterpreter,
} from '../../../../src/edges/engines/bubblewrap/interpreter.ts';

const homes = ['/home/ada'];

describe("the system's Python", () => {
  it.each([
    ['/usr/bin/python3.10', { path: '/usr/bin/python3.10' }],
    ['/usr/bin/python3.9', undefined],
    ['/usr/bin/python3', undefined],
    ['/opt/python/bin/python3.12', undefined],
  ])('whose name is %s', (name, expected) => {
    expect(systemInterpreter(() => name)).toEqual(expected);
  });

  it('may be missing', () => {
    const fail = () => {
      throw new Error('ENOENT');
    };
    expect(systemInterpreter(fail)).toBeUndefined();
  });
});

describe('any other Python', () => {
  it('gets its installation folder', () => {
    const prefix = '/home/ada/.pyenv/versions/3.12.1';
    const path = `${prefix}/bin/python3.12`;
    expect(judgeInterpreter({ path, version: [3, 12], prefix }, homes)).toEqual({ path, prefix });
  });

  it('needs no folder if it is in /usr', () => {
    const path = '/usr/local/bin/python3.13';
    expect(judgeInterpreter({ path, version: [3, 13], prefix: '/usr/local' }, homes)).toEqual({ path });
  });

  it.each([
    ['too old', '/opt/py/bin/python3', [3, 9], '/opt/py', '/opt/py/bin/python3 is Python 3.9'],
    ['of another major version', '/opt/py/bin/python3', [4, 0], '/opt/py', '/opt/py/bin/python3 is Python 4.0'],
    ['installed in the home folder', '/home/ada/bin/python3', [3, 12], '/home/ada', 'contains more than Python'],
    ['installed above the home folder', '/home/bin/python3', [3, 12], '/home', 'contains more than Python'],
    ['installed in the root folder', '/bin/python3', [3, 12], '/', 'contains more than Python'],
    [
      'outside its installation folder',
      '/opt/links/python3',
      [3, 12],
      '/opt/py',
      'is outside its installation folder /opt/py',
    ],
  ] as const)('is refused if it is %s', (...[, path, version, prefix, reason]) => {
    expect(judgeInterpreter({ path, version, prefix }, homes)).toContain(reason);
  });

  it('is used only if its output is valid', () => {
    expect(parseFacts('{"path":"/a","version":[3,12],"prefix":"/b"}\n')).toEqual({
      path: '/a',
      version: [3, 12],
      prefix: '/b',
    });
    expect(parseFacts('pyenv: no such version')).toBeUndefined();
    expect(parseFacts('{"path":"relative","version":[3,12],"prefix":"/b"}')).toBeUndefined();
  });
});
