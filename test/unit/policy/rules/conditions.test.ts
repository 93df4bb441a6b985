import { expect, it } from 'vitest';
import { judgeCondition } from '../../../../src/features/policy/rules/conditions.ts';
import type { Condition } from '../../../../src/features/policy/rules/schema.ts';
import { cpuTimeOf } from '../../../support/cpu-time.ts';

const TOOL = { name: 't', alias: 't', inputSchema: { properties: { from: {}, 'issue-number': {} } } };
const verdict = (key: string, condition: Condition, given: Record<string, unknown>) =>
  judgeCondition(key, condition, { tool: TOOL, arguments: given });

const UNDER: Condition = { under: ['/data', '/tmp'] };

it.each<[string, Condition, Record<string, unknown>, string]>([
  ['path', UNDER, { path: '/tmp/x' }, 'yes'],
  ['path', UNDER, { path: '/etc/x' }, 'no'],
  ['path', UNDER, { path: ['/data/a', '/tmp/b'] }, 'yes'],
  ['path', UNDER, { path: [['/data/a'], '/tmp/b'] }, 'yes'],
  ['path', UNDER, { path: ['/etc/a', '/usr/b'] }, 'no'],
  ['path', UNDER, { path: ['/data/a', '/etc/b'] }, 'unsure'],
  ['path', UNDER, { path: ['/data/a', null] }, 'unsure'],
  ['path', UNDER, { path: [] }, 'unsure'],
  ['path', UNDER, { path: 7 }, 'unsure'],
  ['path', UNDER, { path: { toString: '/data/a' } }, 'unsure'],
  ['path', UNDER, { path: null }, 'unsure'],
  ['path', UNDER, {}, 'unsure'],
  ['path', UNDER, { Path: '/data/a' }, 'unsure'],
  // Some servers ignore case in the names of arguments, and the last of two counts.
  ['path', UNDER, { path: '/tmp/x', Path: '/etc/x' }, 'unsure'],
  ['path', UNDER, { path: '/tmp/x', PATH: '/tmp/y' }, 'yes'],
  ['path', UNDER, { path: '/etc/x', PATH: '/etc/y' }, 'no'],
  ['path', { under: ['/tmp'], missing: true }, { Path: '/etc/x' }, 'unsure'],
  ['path', { missing: true }, { PATH: '/etc/x' }, 'unsure'],
  ['task', { missing: true }, { ta\u017fk: 'x' }, 'unsure'],
  ['kind', { missing: false }, { '\u212aind': 'x' }, 'unsure'],
  ['/options/path', UNDER, { options: { path: '/tmp/x', Path: '/etc/x' } }, 'unsure'],
  ['/options/path', UNDER, { options: { path: '/tmp/x' }, Options: { path: '/etc/x' } }, 'unsure'],
  ['/options/path', { missing: true }, { options: { Path: '/etc/x' } }, 'unsure'],
  ['/options/path', { missing: true }, { options: {} }, 'yes'],
  // A server may parse a text as JSON.
  ['/options/path', { under: ['/tmp'], missing: true }, { options: '{"path": "/etc"}' }, 'unsure'],
  ['/options/path', { missing: false }, { options: '{"path": "/etc"}' }, 'unsure'],
  ['/options/path', { missing: true }, { options: 7 }, 'unsure'],
  ['path', { under: ['/data'], missing: false }, {}, 'no'],
  ['path', { under: ['/data'], missing: true }, {}, 'yes'],
  ['path', { missing: true }, {}, 'yes'],
  ['path', { missing: true }, { path: 'x' }, 'no'],
  ['path', { missing: false }, { path: 'x' }, 'yes'],
  // A server may read an empty value as a missing argument, or as one that is there.
  ['path', { missing: false }, { path: null }, 'unsure'],
  ['path', { missing: false }, { path: '' }, 'unsure'],
  ['path', { missing: false }, { path: ' ' }, 'unsure'],
  ['path', { missing: false }, { path: [] }, 'unsure'],
  ['path', { missing: false }, { path: [null] }, 'unsure'],
  ['path', { missing: false }, { path: {} }, 'unsure'],
  ['path', { missing: false }, { path: 0 }, 'yes'],
  ['path', { missing: false }, { path: false }, 'yes'],
  ['path', { missing: true }, { path: null }, 'unsure'],
  ['path', { missing: true }, { path: '' }, 'unsure'],
  ['path', { missing: true, under: ['/data'] }, { path: null }, 'unsure'],
  ['name', { missing: true, matches: ['*'] }, { name: '' }, 'yes'],
  ['name', { missing: false, matches: ['a*'] }, { name: '' }, 'no'],
  ['name', { missing: false, matches: ['a*'] }, { name: null }, 'unsure'],
  ['force', { equals: true }, { force: true }, 'yes'],
  ['force', { equals: true }, { force: false }, 'no'],
  ['force', { equals: true }, { force: 'true' }, 'unsure'],
  ['force', { equals: true }, { force: 1 }, 'unsure'],
  ['branch', { equals: 'main' }, { branch: 'Main ' }, 'unsure'],
  // Some servers remove characters that show nothing.
  ['branch', { equals: 'main' }, { branch: 'ma\u200bin' }, 'unsure'],
  ['branch', { equals: 'main' }, { branch: '\ufeffmain\u2060' }, 'unsure'],
  ['branch', { equals: 'main' }, { branch: 'm\u00adain' }, 'unsure'],
  ['branch', { equals: 'main' }, { branch: 'mai\u{e0041}n\u0008' }, 'unsure'],
  ['branch', { equals: 'ma\u200bin' }, { branch: 'main' }, 'unsure'],
  ['branch', { equals: 'caf\u00e9' }, { branch: 'cafe\u200b\u0301' }, 'unsure'],
  ['branch', { oneOf: ['main'] }, { branch: 'ma\u200din' }, 'unsure'],
  ['branch', { matches: ['ma*'] }, { branch: 'm\u200bain' }, 'unsure'],
  ['branch', { equals: 'main' }, { 'bra\u200bnch': 'main' }, 'unsure'],
  ['branch', { equals: 'main', missing: false }, { 'bra\u200bnch': 'main' }, 'unsure'],
  ['branch', { equals: 'main' }, { branch: 'ma\nin' }, 'no'],
  ['branch', { oneOf: ['main', 'dev'] }, { branch: 'dev' }, 'yes'],
  ['branch', { oneOf: ['main', 'dev'] }, { branch: 'other' }, 'no'],
  ['branch', { oneOf: ['main', 'dev'] }, { branch: 'DEV' }, 'unsure'],
  ['name', { matches: ['*.md', 'docs/*'] }, { name: 'a.md' }, 'yes'],
  ['name', { matches: ['*.md'] }, { name: 'a.MD' }, 'unsure'],
  ['name', { matches: ['*.md'] }, { name: 'a.txt' }, 'no'],
  ['name', { matches: ['*'] }, { name: 'x'.repeat(8_193) }, 'unsure'],
  ['name', { matches: ['*.md'] }, { name: 'secret\0.md' }, 'unsure'],
  ['name', { equals: 'main' }, { name: 'main\0x' }, 'unsure'],
  ['name', { oneOf: ['main', 'dev'] }, { name: 'main\0' }, 'unsure'],
  ['name', { matches: ['a*'], oneOf: ['ab', 'b'] }, { name: 'ab' }, 'yes'],
  ['name', { matches: ['a*'], oneOf: ['ab', 'b'] }, { name: 'b' }, 'no'],
  ['__proto__', { equals: 'x' }, {}, 'unsure'],
  ['toString', { equals: 'x' }, {}, 'unsure'],
])('%s %j of %j: %s', (key, condition, given, expected) => {
  expect(verdict(key, condition, given).is).toBe(expected);
});

it('also finds an argument by its name in Python', () => {
  expect(verdict('from_', { equals: 'x' }, { from: 'x' }).is).toBe('yes');
  expect(verdict('issue_number', { equals: 7 }, { 'issue-number': 7 }).is).toBe('yes');
});

// Code could add an argument under its Python name, which was judged instead of the one that the server reads.
it('is not fooled by a second argument under the other name', () => {
  const both = { issue_number: 7, 'issue-number': 8 };
  expect(verdict('issue_number', { equals: 7 }, both).is).toBe('unsure');
  expect(verdict('issue-number', { equals: 8 }, both).is).toBe('unsure');
  expect(verdict('issue_number', { equals: 9 }, both).is).toBe('no');
  expect(verdict('/issue_number/a', { equals: 7 }, { issue_number: { a: 7 }, 'issue-number': { a: 8 } }).is).toBe(
    'unsure',
  );
  expect(verdict('issue_number', { equals: 7 }, { issue_number: 7, 'issue-number': null }).is).toBe('unsure');
});

it('follows a JSON pointer through objects and lists', () => {
  const files = { files: [{ path: '/data/a' }, { path: '/data/b' }] };
  expect(verdict('/files/path', UNDER, files).is).toBe('yes');
  expect(verdict('/files/path', UNDER, { files: [...files.files, {}] }).is).toBe('unsure');
  expect(verdict('/files/path', UNDER, { files: [...files.files, { path: '/etc' }] }).is).toBe('unsure');
  expect(verdict('/files/path', { under: ['/data'], missing: false }, { files: {} }).is).toBe('no');
  expect(verdict('/a~1b', { equals: 1 }, { 'a/b': 1 }).is).toBe('yes');
});

it('checks a limited number of items', () => {
  expect(verdict('path', UNDER, { path: Array.from({ length: 100_000 }, () => '/data/a') })).toEqual({
    is: 'unsure',
    why: 'has more than 1000 items',
  });
});

it('a tool that declares two arguments that differ only in case tells them apart', () => {
  const tool = { ...TOOL, inputSchema: { properties: { path: {}, Path: {} } } };
  const given = { path: '/tmp/x', Path: '/etc/x' };
  expect(judgeCondition('path', UNDER, { tool, arguments: given }).is).toBe('yes');
});

it('a list with more text than can be judged at once is in doubt, and takes no time', () => {
  const given = { path: Array.from({ length: 1_000 }, () => '/é'.repeat(4_000)) };
  expect(cpuTimeOf(() => expect(verdict('path', UNDER, given).is).toBe('unsure'))).toBeLessThan(100);
});
