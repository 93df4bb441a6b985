/** Highlighting of Python: every character is kept, kinds are right, and hostile code costs linear time. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tokenizePython } from '../../../../src/record/ui/page/python-tokens.ts';
import { cpuTimeOf } from '../../../support/cpu-time.ts';

const textOf = (code: string): string =>
  tokenizePython(code)
    .map((line) => line.map(({ text }) => text).join(''))
    .join('\n');

function kinds(code: string): string[] {
  return tokenizePython(code)
    .flat()
    .filter(({ kind }) => kind !== 'text')
    .map(({ kind, text }) => `${kind}:${text}`);
}

describe('kinds', () => {
  it.each([
    ['# note', ['comment:# note']],
    ['x = 1_000 + 0xFF + 1.5e-3j', ['number:1_000', 'number:0xFF', 'number:1.5e-3j']],
    ["print(f'a {b}')", ['builtin:print', "string:f'a {b}'"]],
    ['rows = await mcp_files.read(path="x")', ['keyword:await', 'call:read', 'string:"x"']],
    [
      '@cache\ndef go(self): return None',
      ['decorator:cache', 'keyword:def', 'name:go', 'constant:self', 'keyword:return', 'constant:None'],
    ],
    ['s = """a\n"b"\n""" + 1', ['string:"""a', 'string:"b"', 'string:"""', 'number:1']],
    [String.raw`x = 'a\'b' 'c'`, [String.raw`string:'a\'b'`, "string:'c'"]],
    ["x = 'open\ny = 2", ["string:'open", 'number:2']],
    [
      'match = 1\nmatch x:\n    case 2: pass',
      ['number:1', 'keyword:match', 'keyword:case', 'number:2', 'keyword:pass'],
    ],
    ['a.print.list', []],
    ['für = ünïcode(1)', ['call:ünïcode', 'number:1']],
  ])('%j', (code, expected) => {
    expect(kinds(code)).toEqual(expected);
  });
});

it('keeps every character', () => {
  const piece = fc.constantFrom(
    '"',
    "'",
    '"""',
    '\\',
    '\n',
    '#',
    'f"',
    'def ',
    'x',
    ' ',
    '1',
    '.',
    '😀',
    '\u202e',
    '(',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece).map((all) => all.join('')),
      ),
      (code) => {
        expect(textOf(code)).toBe(code.replaceAll('\r\n', '\n'));
      },
    ),
  );
});

it.each([
  ['quotes', '"'.repeat(150_000)],
  ['backslashes in a string', `"${'\\'.repeat(150_000)}`],
  ['an open string of three quotes', `"""${'""x'.repeat(50_000)}`],
  ['names', 'a'.repeat(150_000)],
  ['spaces', ' '.repeat(150_000)],
  ['numbers', '1_'.repeat(75_000)],
])('takes linear time for %s', (_name, code) => {
  expect(cpuTimeOf(() => expect(textOf(code)).toBe(code))).toBeLessThan(2_000);
});

it('leaves very long code without colors', () => {
  const code = 'x = 1\n'.repeat(40_000);
  expect(kinds(code)).toEqual([]);
  expect(textOf(code)).toBe(code);
});
