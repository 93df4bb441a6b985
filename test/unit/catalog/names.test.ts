import { describe, expect, test } from 'vitest';
import {
  assignAliases,
  assignServerAliases,
  parameterNames,
  resolveArguments,
  resolveName,
  toIdentifier,
} from '../../../src/catalog/names.ts';

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
  test('equal aliases are numbered in order', () => {
    expect(assignAliases(['a-b', 'a b', 'a.b'])).toEqual(['a_b', 'a_b_2', 'a_b_3']);
  });

  test('a name that is an identifier keeps itself, wherever it stands', () => {
    expect(assignAliases(['a-b', 'a_b', 'a_b_2', 'a b'])).toEqual(['a_b_3', 'a_b', 'a_b_2', 'a_b_4']);
  });

  test('the same name twice gets two aliases', () => {
    expect(assignAliases(['ok', 'ok'])).toEqual(['ok', 'ok_2']);
  });

  test('aliases are unique identifiers whatever the names are', () => {
    const names = ['__proto__', 'constructor', 'a-b', 'a_b', 'ok', 'ok', 'class', 'class_', '', '_', '日', '本'];
    const aliases = assignAliases(names);
    expect(new Set(aliases).size).toBe(names.length);
    expect(aliases.every((alias) => IDENTIFIER.test(alias))).toBe(true);
  });

  test('50,000 equal names are numbered without counting each from the start', () => {
    const aliases = assignAliases(Array.from({ length: 50_000 }, () => 'a-b'));
    expect(aliases.at(-1)).toBe('a_b_50000');
  });

  test('aliases of servers are lower case', () => {
    expect(assignServerAliases(['GitHub', 'github', 'My Server'])).toEqual(['github_2', 'github', 'my_server']);
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
  ])('%s means %s', (wanted, name) => {
    expect(resolveName(tools, wanted)?.name).toBe(name);
  });

  test.each(['getuser', 'nope', '', '__proto__', 'toString'])('%j means nothing', (wanted) => {
    expect(resolveName(tools, wanted)).toBeUndefined();
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

  test('parameters come in the order of the schema', () => {
    expect(parameterNames(schema)).toEqual(['from', 'issue-number', 'plain']);
    expect(parameterNames({ properties: null })).toEqual([]);
  });
});
