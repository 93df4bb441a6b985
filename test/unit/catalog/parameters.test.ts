import { describe, expect, test } from 'vitest';
import { parametersOf, resolveArguments } from '../../../src/core/catalog/parameters.ts';

describe('parametersOf', () => {
  const names = (schema: Record<string, unknown>) =>
    parametersOf(schema).list.map(({ name, alias, isRequired }) => `${name}>${alias}${isRequired ? '!' : ''}`);

  test('lists required ones first, each group in the order of the schema; a default makes one optional', () => {
    const properties = { from: {}, limit: { default: 5 }, 'x-loc-lat': {}, query: {} };
    expect(names({ properties, required: ['query', 'limit', 'from'] })).toEqual([
      'from>from_!',
      'query>query!',
      'limit>limit',
      'x-loc-lat>x_loc_lat',
    ]);
  });

  test('includes names that are only required, and branches: those of allOf as they are, those of anyOf as optional', () => {
    const schema = {
      $defs: { page: { properties: { page: {} }, required: ['page'] } },
      properties: { a: {} },
      required: ['b'],
      allOf: [{ $ref: '#/$defs/page' }],
      anyOf: [{ properties: { c: {} }, required: ['c'] }, {}],
    };
    expect(names(schema)).toEqual(['b>b!', 'page>page!', 'a>a', 'c>c']);
  });

  test('of variants have all their schemas, and are required if each of them requires them', () => {
    const email = { properties: { kind: { const: 'email' }, to: {}, from: {} }, required: ['kind', 'to', 'from'] };
    const sms = { properties: { kind: { const: 'sms' }, to: { default: 1 }, from: {} }, required: ['kind', 'to'] };
    for (const schema of [{ oneOf: [email, sms] }, { anyOf: [{ $ref: '#/$defs/a' }, sms], $defs: { a: email } }]) {
      expect(names(schema)).toEqual(['kind>kind!', 'to>to', 'from>from_']);
      expect(parametersOf(schema).list[0]?.schema).toEqual({ anyOf: [{ const: 'email' }, { const: 'sms' }] });
    }
    const needed = { required: ['kind'], oneOf: [email, sms] };
    expect(parametersOf(needed).list[0]?.schema).toEqual({ anyOf: [{ const: 'email' }, { const: 'sms' }] });
    const certain = { properties: { kind: { type: 'string' } }, oneOf: [email, sms] };
    expect(parametersOf(certain).list.find(({ name }) => name === 'kind')?.schema).toEqual({ type: 'string' });
  });

  test('is open if the schema says so or names no properties', () => {
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
    'reads no parameters from the invalid schema %j',
    (schema) => {
      expect(parametersOf(schema).list).toEqual([]);
    },
  );

  test('limits 10,000 properties, and then accepts others as well', () => {
    const properties = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`p${index}`, {}]));
    const { list, isOpen } = parametersOf({ properties, additionalProperties: false });
    expect([list.length, isOpen]).toEqual([250, true]);
  });

  test('ends with branches that refer to each other', () => {
    const bomb = { $defs: { a: { allOf: [{ $ref: '#/$defs/b' }, { $ref: '#' }] }, b: { $ref: '#/$defs/a' } } };
    expect(parametersOf({ ...bomb, allOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }] }).list).toEqual([]);
  });
});

describe('resolveArguments', () => {
  const schema = { type: 'object', properties: { from: {}, 'issue-number': {}, plain: {} } };

  test('replaces an alias by the name of the parameter', () => {
    expect(resolveArguments(schema, { from_: 1, issue_number: 2, plain: 3 })).toEqual({
      from: 1,
      'issue-number': 2,
      plain: 3,
    });
  });

  test('leaves unknown keys unchanged', () => {
    expect(resolveArguments(schema, { other: 1 })).toEqual({ other: 1 });
    expect(resolveArguments({}, { from_: 1 })).toEqual({ from_: 1 });
  });

  test('does not overwrite a name by its alias', () => {
    expect(resolveArguments(schema, { from: 1, from_: 2 })).toEqual({ from: 1, from_: 2 });
  });

  test('treats a key `__proto__` as data', () => {
    const resolved = resolveArguments(schema, JSON.parse('{"__proto__": {"polluted": true}, "from_": 1}'));
    expect(Object.keys(resolved)).toEqual(['__proto__', 'from']);
    expect(Object.getPrototypeOf(resolved)).toBe(Object.prototype);
  });
});
