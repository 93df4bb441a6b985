import { expect, it } from 'vitest';
import { jsonBytes, shapeOf, shapeOfArguments } from '../../../src/record/audit/shape.ts';

it.each([
  ['text', 'string(4)'],
  ['', 'string(0)'],
  [[1, 2], 'array(2)'],
  [{ a: 1 }, 'object(1)'],
  [null, 'null'],
  [1.5, 'number'],
  [true, 'boolean'],
])('%j has the shape %s', (value, shape) => {
  expect(shapeOf(value)).toBe(shape);
});

it('includes declared names, and counts others, which may be data', () => {
  const given = { path: '/etc', 'sk-12345': 1, __proto__: 2, hasOwnProperty: 3 };
  expect(shapeOfArguments(given, new Set(['path', 'limit']))).toEqual({ shapes: { path: 'string(4)' }, undeclared: 2 });
  const hostile = JSON.parse('{"__proto__": [1]}') as Record<string, unknown>;
  expect(JSON.stringify(shapeOfArguments(hostile, new Set(['__proto__'])).shapes)).toBe('{"__proto__":"array(1)"}');
});

// Such records wait in memory while the disk is full: 4,000 of them took a gigabyte.
it('stays small if a server declares long names', () => {
  const names = Array.from({ length: 250 }, (_, index) => `${'x'.repeat(1_000)}${index}`);
  const { shapes, undeclared } = shapeOfArguments(Object.fromEntries(names.map((name) => [name, 1])), new Set(names));
  expect(JSON.stringify(shapes).length).toBeLessThan(9_000);
  expect(Object.keys(shapes).length + undeclared).toBe(250);
});

it.each([null, true, 12.5, '', 'ä€😀', [], {}, [1, [2, 'x']], { a: { b: [1, 2, { c: null }] }, é: 'x' }, [[], {}]])(
  'the size of %j is the size of its JSON',
  (value) => {
    expect(jsonBytes(value)).toBe(Buffer.byteLength(JSON.stringify(value)));
  },
);
