/** Inserting into a list of a JSON text: the rest of the text stays as it is. */
import { describe, expect, it } from 'vitest';
import { onOneLine } from '../../../src/core/base/json-text.ts';
import { insertInList } from '../../../src/edges/clients/json-list.ts';

const VALUE = { effect: 'allow', tool: ['a', 'b'] };
const SHOWN = '{ "effect": "allow", "tool": [ "a", "b" ] }';

describe('insertInList', () => {
  it.each([
    [
      'an empty file',
      '',
      0,
      `{\n  "rules": [\n    {\n      "effect": "allow",\n      "tool": [\n        "a",\n        "b"\n      ]\n    }\n  ]\n}\n`,
    ],
    ['an empty list', '{"rules": []}', 0, `{"rules": [${SHOWN}]}`],
    ['before the first', '{"rules": [{"x": 1}, 2]}', 0, `{"rules": [${SHOWN}, {"x": 1}, 2]}`],
    ['in the middle', '{"rules": [1, 2]}', 1, `{"rules": [1, ${SHOWN}, 2]}`],
    ['at the end', '{"rules": [1, 2]}', 2, `{"rules": [1, 2, ${SHOWN}]}`],
    [
      'on lines of their own',
      '{\r\n\t"rules": [\r\n\t\t{ "x": 1 },\r\n\t\t{ "y": 2 }\r\n\t]\r\n}\r\n',
      1,
      `{\r\n\t"rules": [\r\n\t\t{ "x": 1 },\r\n\t\t${SHOWN},\r\n\t\t{ "y": 2 }\r\n\t]\r\n}\r\n`,
    ],
    [
      'at the end of lines',
      '{\n  "rules": [\n    1\n  ],\n  "z": 0\n}',
      1,
      `{\n  "rules": [\n    1,\n    ${SHOWN}\n  ],\n  "z": 0\n}`,
    ],
  ])('%s', (_, text, index, wanted) => {
    expect(insertInList(text, 'rules', index, VALUE)).toBe(wanted);
  });

  it('keeps the other keys when the list is missing', () => {
    expect(JSON.parse(insertInList('{"default": "ask"}', 'rules', 0, VALUE))).toEqual({
      default: 'ask',
      rules: [VALUE],
    });
  });

  it.each([
    ['{"rules": {}}', 0],
    ['{"rules": []}', 1],
    ['{"rules": [}', 0],
    ['[]', 0],
  ])('refuses %s', (text, index) => {
    expect(() => insertInList(text, 'rules', index, VALUE)).toThrow(/./);
  });
});

it('writes a value on one line, with texts as they are', () => {
  expect(onOneLine({ a: 'x\ny  z', b: {} })).toBe('{ "a": "x\\ny  z", "b": {} }');
});
