import { describe, expect, test } from 'vitest';
import { ObservedShape } from '../../../src/catalog/observed-shape.ts';

function shapeOf(...values: unknown[]) {
  const shape = new ObservedShape((value) => 'big' in value);
  for (const value of values) {
    shape.add(value);
  }
  return shape.toSchema();
}

describe('the shape of values', () => {
  test('keys that all objects had are required; types that differ are alternatives', () => {
    expect(
      shapeOf([
        { a: 1, b: 'x' },
        { a: 1.5, c: null },
      ]),
    ).toEqual({
      type: 'array',
      items: {
        type: 'object',
        properties: {
          a: { anyOf: [{ type: 'integer' }, { type: 'number' }] },
          b: { type: 'string' },
          c: { type: 'null' },
        },
        required: ['a'],
      },
    });
    expect(shapeOf('x', [])).toEqual({ anyOf: [{ type: 'string' }, { type: 'array' }] });
  });

  test('objects whose keys are data are maps, and depth ends', () => {
    const ids = Object.fromEntries(Array.from({ length: 41 }, (_, index) => [`id${index}`, 1]));
    expect(shapeOf(ids)).toEqual({ type: 'object' });
    expect(shapeOf(...Array.from({ length: 41 }, (_, index) => ({ [`id${index}`]: 1 })))).toEqual({ type: 'object' });
    expect(JSON.stringify(shapeOf([[[[[[1]]]]]])).length).toBeLessThan(150);
  });

  test('a number that JavaScript cannot hold is a number, and a key __proto__ a key', () => {
    expect(shapeOf({ big: '12345678901234567890' })).toEqual({ type: 'integer' });
    expect(Object.keys(shapeOf(JSON.parse('{"__proto__": 1}'))['properties'] as object)).toEqual(['__proto__']);
  });
});
