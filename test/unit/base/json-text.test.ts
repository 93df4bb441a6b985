import { expect, test } from 'vitest';
import { parseJson } from '../../../src/base/json-text.ts';

test('gives the value of a text, with a byte order mark or without', () => {
  expect(parseJson('{"a": [1, "x\\"y", -2.5e3, true, null]}')).toEqual({ value: { a: [1, 'x"y', -2500, true, null] } });
  expect(parseJson('\uFEFF[]')).toEqual({ value: [] });
});

// What JSON.parse of one Node or another gives no place for, and what people who write configuration do.
test.each([
  ['', 'is not JSON: it is empty'],
  [' \n', 'is not JSON: it is empty'],
  ['// mine\n{}', 'is not JSON (line 1, column 1): comments are not allowed'],
  ['{"a": 1, /* mine */ "b": 2}', 'is not JSON (line 1, column 10): comments are not allowed'],
  ['{\n  "a": "x", // mine\n  "b": 2}', 'is not JSON (line 2, column 13): comments are not allowed'],
  ['{\n  "a": 1,\n}', 'is not JSON (line 3, column 1): the comma before it is one too many'],
  ['[1, 2, ]', 'is not JSON (line 1, column 8): the comma before it is one too many'],
  ['\uFEFF{"a": 1,}', 'is not JSON (line 1, column 9): the comma before it is one too many'],
  ["{'a': 1}", 'is not JSON (line 1, column 2): strings and keys must be in double quotes'],
  ['{"a": npx}', 'is not JSON (line 1, column 7): strings and keys must be in double quotes'],
  ['{a: 1}', 'is not JSON (line 1, column 2): strings and keys must be in double quotes'],
  ['{"a": "x\\" \\\\", "b": @}', 'is not JSON (line 1, column 22)'],
  ['{"a": }', 'is not JSON (line 1, column 7)'],
  ['{"a": [', 'is not JSON (line 1, column 8): it ends too early'],
  ['{"a": 1} {}', 'is not JSON (line 1, column 10)'],
  ['{"position 3": position}', 'is not JSON (line 1, column 16): strings and keys must be in double quotes'],
  ['{"a" 1}', 'is not JSON (line 1, column 6)'],
  ['\uFFFD\uFFFD{\0"\0', 'is not JSON: it is not UTF-8 but perhaps UTF-16; save it as UTF-8'],
])('%j %s', (text, fault) => {
  expect(parseJson(text)).toEqual({ fault });
});
