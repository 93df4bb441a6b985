import { describe, expect, test } from 'vitest';
import { pythonLiteral, pythonString } from '../../../src/core/catalog/python-literal.ts';

describe('pythonString', () => {
  test.each([
    ['plain', "'plain'"],
    ["it's", '"it\'s"'],
    [`it's "so"`, `'it\\'s "so"'`],
    ['a\\b\n\r\t', "'a\\\\b\\n\\r\\t'"],
    ['naïve 日本', "'naïve 日本'"],
    ['\u200b\u202e\u00a0\0', "'\\u200b\\u202e\\xa0\\x00'"],
    ['\u{e0041}\ud800', "'\\U000e0041\\ud800'"],
  ])('%j is %s', (text, literal) => {
    expect(pythonString(text)).toBe(literal);
  });
});

describe('pythonLiteral', () => {
  test.each([
    [true, 'True'],
    [null, 'None'],
    [1.5, '1.5'],
    [[], '[]'],
    [{ a: [1, 'b', false] }, "{'a': [1, 'b', False]}"],
  ])('%j is %s', (value, literal) => {
    expect(pythonLiteral(value, 40)).toBe(literal);
  });

  test('is undefined for a value that is too long or has no literal', () => {
    expect(pythonLiteral('x'.repeat(39), 40)).toBeUndefined();
    expect(
      pythonLiteral(
        Array.from({ length: 1_000 }, () => 1),
        40,
      ),
    ).toBeUndefined();
    expect(pythonLiteral([[[undefined]]], 40)).toBeUndefined();
    expect(pythonLiteral(Number.NaN, 40)).toBeUndefined();
  });
});
