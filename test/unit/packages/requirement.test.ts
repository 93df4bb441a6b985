import { describe, expect, it } from 'vitest';
import { isPackageName, normalizeName, parseRequirement } from '../../../src/features/packages/requirement.ts';
import { cpuTimeOf } from '../../support/cpu-time.ts';

describe('parseRequirement', () => {
  it.each([
    ['pandas', 'pandas', 'pandas'],
    ['  Pandas >= 2 , <3 ', 'pandas', 'pandas<3,>=2'],
    ['Ruamel.YAML==0.18.*', 'ruamel-yaml', 'ruamel-yaml==0.18.*'],
    ['httpx[http2, Brotli]~=0.28', 'httpx', 'httpx[brotli,http2]~=0.28'],
    ['a; python_version >= "3.11"', 'a', 'a; python_version >= "3.11"'],
    ['a===1.0+local', 'a', 'a===1.0+local'],
  ])('reads %j', (text, name, written) => {
    expect(parseRequirement(text)).toEqual({ name, text: written });
  });

  it.each([
    '',
    '-r requirements.txt',
    '--index-url=http://evil.example',
    'a --hash=sha256:0',
    'a @ https://evil.example/a.whl',
    'https://evil.example/a.whl',
    './a.whl',
    '/tmp/a.whl',
    'git+https://evil.example/a',
    'a\nb',
    'a>=1\n--pre',
    'a>',
    'a>=1 b',
    'a[',
    'a[b]c',
    'a; $(id)',
    '-e .',
    'a'.repeat(101),
    `a${'>=1,'.repeat(9)}<2`,
    'ä',
  ])('refuses %j', (text) => {
    expect(() => parseRequirement(text)).toThrow(/is not a requirement/);
  });

  it('takes no time over many spaces, which a sandbox can send', () => {
    const parse = () => parseRequirement(`a${' '.repeat(298)};`);
    expect(cpuTimeOf(() => expect(parse).toThrow(/is not a requirement/))).toBeLessThan(50);
  });
});

it('compares names as indexes do', () => {
  expect(normalizeName('Foo__Bar.-baz')).toBe('foo-bar-baz');
  expect(['a', 'a.b_c-d', '9'].every(isPackageName)).toBe(true);
  expect(['', '-a', 'a-', 'a b', 'a/b'].some(isPackageName)).toBe(false);
});
