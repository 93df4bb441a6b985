import { constantFrom, integer, jsonValue, property, string, assert as verify } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExact, stringifyExact } from '../../../src/core/protocol/exact-json.ts';
import { JsonCursor, TooMuchError } from '../../../src/edges/upstream/json-cursor.ts';

const cursorOf = (text: string) => new JsonCursor(Buffer.from(text));

/** Reads a value with the cursor, member by member. */
function walk(cursor: JsonCursor): unknown {
  if (cursor.enterArray()) {
    const elements: unknown[] = [];
    while (cursor.nextElement()) {
      elements.push(walk(cursor));
    }
    return elements;
  }
  if (cursor.enterObject()) {
    const members: [string, unknown][] = [];
    for (let key = cursor.nextKey(); key !== undefined; key = cursor.nextKey()) {
      members.push([key, walk(cursor)]);
    }
    return Object.fromEntries(members);
  }
  return cursor.value();
}

test('reads every JSON value as JSON.parse does, with and without white space', () => {
  const indents = constantFrom(undefined, 2, '\t');
  verify(
    property(jsonValue(), indents, (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      const plain = parseExact(text);
      expect(stringifyExact(walk(cursorOf(` ${text} `)))).toBe(stringifyExact(plain));
      expect(cursorOf(text).value()).toEqual(plain);
      expect(cursorOf(`${text} rest`).skip().end).toBe(Buffer.byteLength(text));
    }),
  );
});

test('a string cut anywhere is the beginning of the string', () => {
  const texts = string({ unit: constantFrom('a', '\\', '"', '\n', '\u0001', 'é', '漢', '🦊', 'u') });
  verify(
    property(texts, integer({ min: 1, max: 60 }), (text, bytes) => {
      const json = JSON.stringify(text);
      const cursor = cursorOf(json);
      const start = cursor.parseTextStart(cursor.skip(), bytes);
      expect(text.startsWith(start)).toBe(true);
      expect(start.length).toBeGreaterThanOrEqual(Math.min(text.length, Math.floor(bytes / 6) - 2));
    }),
  );
});

describe('refused', () => {
  test.each(['', '   ', '{"a":1', '["a"', '"a', '"a\\"', '{"a"', '[1,', '{"a":', '}'])('%j', (text) => {
    expect(() => walk(cursorOf(text))).toThrow(SyntaxError);
  });

  test('invalid JSON between the brackets is refused when it is parsed', () => {
    expect(() => walk(cursorOf('[nope]'))).toThrow(SyntaxError);
    expect(() => walk(cursorOf('{a:1}'))).toThrow(SyntaxError);
    expect(() => walk(cursorOf('[01]'))).toThrow(SyntaxError);
  });

  test('a value with a million members is not skipped', () => {
    const text = `[${Array.from({ length: 1_000_000 }, () => '1').join(',')}]`;
    expect(() => cursorOf(text).skip()).toThrow(TooMuchError);
  });
});

test('a key of a megabyte is read as an empty string', () => {
  const cursor = cursorOf(`{"${'k'.repeat(1_000_000)}":1,"b":2}`);
  cursor.enterObject();
  expect([cursor.nextKey(), cursor.value(), cursor.nextKey(), cursor.value()]).toEqual(['', 1, 'b', 2]);
});
