import { describe, expect, test } from 'vitest';
import { parametersOf, resolveArguments } from '../../../src/catalog/parameters.ts';

describe('parametersOf', () => {
  const names = (schema: Record<string, unknown>) =>
    parametersOf(schema).list.map(({ name, alias, isRequired }) => `${name}>${alias}${isRequired ? '!' : ''}`);

  test('required ones come first, each group in the order of the schema; one with a default is optional', () => {
    const properties = { from: {}, limit: { default: 5 }, 'x-loc-lat': {}, query: {} };
    expect(names({ properties, required: ['query', 'limit', 'from'] })).toEqual([
      'from>from_!',
      'query>query!',
      'limit>limit',
      'x-loc-lat>x_loc_lat',
    ]);
  });

  test('what is only required is a parameter; branches of allOf count, those of anyOf are optional', () => {
    const schema = {
      $defs: { page: { properties: { page: {} }, required: ['page'] } },
      properties: { a: {} },
      required: ['b'],
      allOf: [{ $ref: '#/$defs/page' }],
      anyOf: [{ properties: { c: {} }, required: ['c'] }],
    };
    expect(names(schema)).toEqual(['b>b!', 'page>page!', 'a>a', 'c>c']);
  });

  test('it is open when the schema says so, or names nothing', () => {
    const isOpen = (schema: Record<string, unknown>) => parametersOf(schema).isOpen;
    expect([{}, { type: 'object' }, { additionalProperties: true, properties: { a: {} } }].map(isOpen)).toEqual([
      true,
      true,
      true,
    ]);
    expect([{ properties: { a: {} } }, { properties: {} }, { additionalProperties: false }].map(isOpen)).toEqual([
      false,
      false,
      false,
    ]);
    expect(isOpen({ properties: { a: {} }, additionalProperties: { type: 'string' } })).toBe(true);
    expect(isOpen({ properties: { a: {} }, patternProperties: { '^x-': {} } })).toBe(true);
  });

  test.each([{ properties: null }, { properties: [], required: 'x' }, { allOf: 5, anyOf: [null, true] }])(
    'a bent schema names nothing: %j',
    (schema) => {
      expect(parametersOf(schema).list).toEqual([]);
    },
  );

  test('10,000 properties are cut, and then others may be given as well', () => {
    const properties = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`p${index}`, {}]));
    const { list, isOpen } = parametersOf({ properties, additionalProperties: false });
    expect([list.length, isOpen]).toEqual([250, true]);
  });

  test('branches that refer to each other end', () => {
    const bomb = { $defs: { a: { allOf: [{ $ref: '#/$defs/b' }, { $ref: '#' }] }, b: { $ref: '#/$defs/a' } } };
    expect(parametersOf({ ...bomb, allOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }] }).list).toEqual([]);
  });
});

describe('resolveArguments', () => {
  const schema = { type: 'object', properties: { from: {}, 'issue-number': {}, plain: {} } };

  test('an alias becomes the name of the parameter', () => {
    expect(resolveArguments(schema, { from_: 1, issue_number: 2, plain: 3 })).toEqual({
      from: 1,
      'issue-number': 2,
      plain: 3,
    });
  });

  test('what the schema does not know stays as it is', () => {
    expect(resolveArguments(schema, { other: 1 })).toEqual({ other: 1 });
    expect(resolveArguments({}, { from_: 1 })).toEqual({ from_: 1 });
  });

  test('a name that was given itself is not overwritten by its alias', () => {
    expect(resolveArguments(schema, { from: 1, from_: 2 })).toEqual({ from: 1, from_: 2 });
  });

  test('a key __proto__ stays data', () => {
    const resolved = resolveArguments(schema, JSON.parse('{"__proto__": {"polluted": true}, "from_": 1}'));
    expect(Object.keys(resolved)).toEqual(['__proto__', 'from']);
    expect(Object.getPrototypeOf(resolved)).toBe(Object.prototype);
  });
});
