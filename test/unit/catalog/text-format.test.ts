import { expect, test } from 'vitest';
import { textFormat } from '../../../src/core/catalog/text-format.ts';

test.each([
  ['{"a": 1}', 'JSON, for .json()'],
  ['```json\n{"a": 1}\n```', 'markdown with a JSON block, for .json()'],
  ['Found:\n\n```\n[1]\n```\nDone.', 'markdown with a JSON block, for .json()'],
  ['### Result\n{"rows": [1]}\n', 'JSON under a heading, for .json()'],
  ['[FILE] a\n\n[FILE] b', 'lines `[FILE] …`, for .lines()'],
  ['name: a\nsize: 3', 'lines `name: value`, for .lines()'],
  ['- a\n- b', 'a list of lines `- …`, for .lines()'],
])('%j is %s', (text, format) => {
  expect(textFormat(text)).toBe(format);
});

test.each([
  ['one line'],
  ['[FILE] a'],
  ['two\nlines'],
  ['```json\n{broken\n```'],
  ['```json\n{"a": 1}'],
  // Nothing that may be a secret or an instruction is repeated.
  ['[SECRETKEYS] a\n[SECRETKEYS] b'],
  ['[IGNORE all] a\n[IGNORE all] b'],
  ['[AA] a\n[BB] b\n[CC] c\n[DD] d'],
])('%j is not described', (text) => {
  expect(textFormat(text)).toBeUndefined();
});
