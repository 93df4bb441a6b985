import { expect, test } from 'vitest';
import { parseJson } from '../../../src/core/base/json-text.ts';

test('parses a text with or without a byte order mark', () => {
  expect(parseJson('{"a": [1, "x\\"y", -2.5e3, true, null]}')).toEqual({ value: { a: [1, 'x"y', -2500, true, null] } });
  expect(parseJson('\uFEFF[]')).toEqual({ value: [] });
});

// Faults for which some version of Node gives no position, and mistakes that people make in configuration files.
test.each([
  ['', 'is not JSON: it is empty'],
  [' \n', 'is not JSON: it is empty'],
  ['// mine\n{}', 'is not JSON (line 1, column 1): comments are not allowed'],
  ['{"a": 1, /* mine */ "b": 2}', 'is not JSON (line 1, column 10): comments are not allowed'],
  ['{\n  "a": "x", // mine\n  "b": 2}', 'is not JSON (line 2, column 13): comments are not allowed'],
  ['{\n  "a": 1,\n}', 'is not JSON (line 3, column 1): trailing commas are not allowed'],
  ['[1, 2, ]', 'is not JSON (line 1, column 8): trailing commas are not allowed'],
  ['\uFEFF{"a": 1,}', 'is not JSON (line 1, column 9): trailing commas are not allowed'],
  ["{'a': 1}", 'is not JSON (line 1, column 2): strings and keys must be in double quotes'],
  ['{"a": npx}', 'is not JSON (line 1, column 7): strings and keys must be in double quotes'],
  ['{a: 1}', 'is not JSON (line 1, column 2): strings and keys must be in double quotes'],
  ['{"a": "x\\" \\\\", "b": @}', 'is not JSON (line 1, column 22)'],
  ['{"a": }', 'is not JSON (line 1, column 7)'],
  ['{"a": [', 'is not JSON (line 1, column 8): it ends too early'],
  ['{"a": 1} {}', 'is not JSON (line 1, column 10)'],
  ['{"position 3": position}', 'is not JSON (line 1, column 16): strings and keys must be in double quotes'],
  ['{"a" 1}', 'is not JSON (line 1, column 6)'],
  ['\uFFFD\uFFFD{\0"\0', 'is not JSON: it looks like UTF-16; save it as UTF-8'],
])('%j %s', (text, fault) => {
  expect(parseJson(text)).toEqual({ fault });
});
