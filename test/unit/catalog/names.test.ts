import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  assignAliases,
  assignServerAliases,
  isPythonKeyword,
  resolveName,
  toIdentifier,
} from '../../../src/core/catalog/names.ts';
import { resolveArguments } from '../../../src/core/catalog/parameters.ts';

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

describe('toIdentifier', () => {
  test.each([
    ['read-file', 'read_file'],
    ['createIssue', 'createIssue'],
    ['a b;rm -rf', 'a_b_rm__rf'],
    ['3d_render', '_3d_render'],
    ['from', 'from_'],
    ['None', 'None_'],
    ['match', 'match'],
    ['type', 'type'],
    ['', '_'],
    ['__proto__', '_proto__'],
    ['constructor', 'constructor'],
    ['日本', '_'],
    ['naïve', 'na_ve'],
    ['a\u{1F600}b', 'a_b'],
    ['line\nbreak\0', 'line_break_'],
  ])('%j becomes %s', (name, identifier) => {
    expect(toIdentifier(name)).toBe(identifier);
  });

  test('a name of 300 characters keeps its length', () => {
    expect(toIdentifier('x'.repeat(300))).toHaveLength(300);
  });
});

describe('assignAliases', () => {
  test('numbers equal aliases in the order of the names, however they are listed', () => {
    expect(assignAliases(['a-b', 'a b', 'a.b'])).toEqual(['a_b_2', 'a_b', 'a_b_3']);
    expect(assignAliases(['a.b', 'a-b', 'a b'])).toEqual(['a_b_3', 'a_b_2', 'a_b']);
  });

  test('keeps a name that is an identifier, at any position', () => {
    expect(assignAliases(['a-b', 'a_b', 'a_b_2', 'a b'])).toEqual(['a_b_4', 'a_b', 'a_b_2', 'a_b_3']);
  });

  test('gives two aliases to a name that occurs twice', () => {
    expect(assignAliases(['ok', 'ok'])).toEqual(['ok', 'ok_2']);
  });

  test('gives unique identifiers for any names', () => {
    const names = ['__proto__', 'constructor', 'a-b', 'a_b', 'ok', 'ok', 'class', 'class_', '', '_', '日', '本'];
    const aliases = assignAliases(names);
    expect(new Set(aliases).size).toBe(names.length);
    expect(aliases.every((alias) => IDENTIFIER.test(alias))).toBe(true);
  });

  test('numbers 50,000 equal names without counting from the start each time', () => {
    const aliases = assignAliases(Array.from({ length: 50_000 }, () => 'a-b'));
    expect(aliases.at(-1)).toBe('a_b_50000');
  });

  test('gives lower-case aliases to servers', () => {
    expect(assignServerAliases(['GitHub', 'github', 'My Server'])).toEqual(['github_2', 'github', 'my_server']);
  });
});

describe('aliases of any names', () => {
  const name = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.string({ unit: 'binary', maxLength: 4 }),
    fc.stringMatching(/^[ab_.-]{0,3}$/),
    fc.constantFrom('from', 'from_', 'class', 'None', '__proto__', '_proto__', 'constructor', 'a_b_2', '\u200b'),
  );
  const names = fc.uniqueArray(name, { maxLength: 12 });

  test('are distinct identifiers without another meaning in Python', () => {
    fc.assert(
      fc.property(names, (given) => {
        const aliases = assignAliases(given);
        expect(new Set(aliases).size).toBe(given.length);
        expect(
          aliases.filter((alias) => !IDENTIFIER.test(alias) || isPythonKeyword(alias) || alias.startsWith('__')),
        ).toEqual([]);
      }),
    );
  });

  test('do not depend on the order of the names', () => {
    const shuffled = names.chain((given) =>
      fc.tuple(fc.constant(given), fc.shuffledSubarray(given, { minLength: given.length })),
    );
    fc.assert(
      fc.property(shuffled, ([given, other]) => {
        const byName = new Map(other.map((one, index) => [one, assignAliases(other)[index]]));
        expect(given.map((one) => byName.get(one))).toEqual(assignAliases(given));
      }),
    );
  });

  test('resolve to the names: both spellings of a parameter become the one of the server', () => {
    fc.assert(
      fc.property(names, (given) => {
        const schema = { properties: Object.fromEntries(given.map((one) => [one, {}])) };
        const byAlias = Object.fromEntries(assignAliases(given).map((alias, index) => [alias, index]));
        const byName = Object.fromEntries(given.map((one, index) => [one, index]));
        expect(resolveArguments(schema, byAlias)).toEqual(byName);
        expect(resolveArguments(schema, byName)).toEqual(byName);
      }),
    );
  });
});

describe('resolveName', () => {
  const tools = [
    { name: 'a-b', alias: 'a_b_2' },
    { name: 'a_b', alias: 'a_b' },
    { name: 'getUser', alias: 'getUser' },
    { name: 'GETUSER', alias: 'GETUSER' },
    { name: 'List', alias: 'List' },
  ];

  test.each([
    ['a-b', 'a-b'],
    ['a_b', 'a_b'],
    ['a_b_2', 'a-b'],
    ['A-B', 'a-b'],
    ['list', 'List'],
    ['getUser', 'getUser'],
  ])('%s resolves to %s', (wanted, name) => {
    expect(resolveName(tools, wanted)?.name).toBe(name);
  });

  test.each(['getuser', 'nope', '', '__proto__', 'toString'])('%j does not resolve', (wanted) => {
    expect(resolveName(tools, wanted)).toBeUndefined();
  });
});
