/** The measured extent of a line equals that of the parsed value. */
import { assert, jsonValue, property, uint8Array } from 'fast-check';
import { expect, it } from 'vitest';
import { measureJson } from '../../../src/core/protocol/json-extent.ts';

it.each([
  ['1', 0, 0, 0],
  ['[]', 1, 1, 0],
  ['[[],[]]', 2, 4, 0],
  ['{"a":1,"b":[2,3]}', 2, 4, 2],
  [String.raw`"[{,:\"[{,:\\"`, 0, 0, 0],
  [String.raw`{"a\\":"\\\"}]","b":"]"}`, 1, 2, 2],
])('measures %s', (text, depth, values, members) => {
  expect(measureJson(Buffer.from(text))).toEqual({ depth, values, members, keys: members });
});

it('counts the members and levels of any value', () => {
  assert(
    property(jsonValue({ maxDepth: 6 }), (value) => {
      const { depth, members } = measureJson(Buffer.from(JSON.stringify(value)));
      expect({ depth, members }).toEqual({ depth: depthOf(value), members: membersOf(value) });
    }),
  );
});

it('terminates on lines that are not JSON', () => {
  assert(
    property(uint8Array(), (bytes) => {
      expect(measureJson(Buffer.from(bytes)).values).toBeLessThanOrEqual(bytes.length);
    }),
  );
});

it('tells keys that repeat from new ones in a long text', () => {
  const many = (key: (index: number) => string) =>
    measureJson(Buffer.from(JSON.stringify(Array.from({ length: 20_000 }, (_, index) => ({ [key(index)]: 'x' })))))
      .keys;
  expect(many((index) => `${index % 7}`)).toBe(7);
  expect(many((index) => `key ${index}`)).toBeGreaterThan(19_500);
});

it('ends soon after a number is beyond the bounds', () => {
  const text = Buffer.from(`[${'{"a":1},'.repeat(100_000)}1]`);
  expect(measureJson(text, { depth: 200, values: 5_000, members: 5_000, keys: 5_000 }).values).toBeLessThan(7_000);
});

it.each([20, 40, 5_000])('finds the end of a string with escapes behind %i characters', (length) => {
  const text = JSON.stringify(`${'x'.repeat(length)}"\\"[`.repeat(3));
  expect(measureJson(Buffer.from(`[${text},${text}]`))).toEqual({ depth: 1, values: 2, members: 0, keys: 0 });
});

function depthOf(value: unknown): number {
  return typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
}

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) {
    return 0;
  }
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((sum, member) => sum + membersOf(member), own);
}
