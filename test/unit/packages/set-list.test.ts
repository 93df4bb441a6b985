import { expect, it } from 'vitest';
import { describeSet, knownSets, renderSets, renderStore } from '../../../src/features/packages/set-list.ts';
import type { StoredSet } from '../../../src/features/packages/store.ts';

const DAY_S = 86_400;
const PYTHON = 'cpython-314 linux x86_64';
const wheel = (name: string) => ({
  name,
  version: '1.0',
  file: 'a.whl',
  url: 'https://x.example/a',
  sha256: 'f'.repeat(64),
});
const set = (letter: string, names: string[], more: Partial<StoredSet> = {}): StoredSet => ({
  type: 'set',
  id: letter.repeat(64),
  python: PYTHON,
  packages: names.map(wheel),
  bytes: 3 * 1024 ** 2,
  made_at: DAY_S,
  in_use: false,
  ...more,
});
const lockOf = (letter: string, usedAtMs: number) => ({
  key: letter,
  usedAtMs,
  lock: {
    version: 1 as const,
    requirements: ['a>=1'],
    python: PYTHON,
    set: letter.repeat(64),
    packages: [],
    allowed_by: 'user',
  },
});
const known = knownSets(
  [set('a', ['a']), set('b', ['b', 'c', 'd', 'e', 'f', 'g'], { in_use: true })],
  [lockOf('b', 5 * DAY_S * 1000), lockOf('c', 0)],
);

it('lists sets, the last used first, with what all of them need', () => {
  expect(renderStore(known, 4 * 1024 ** 2, 4 * 1024 ** 3)).toBe(
    'bbbbbbbbbbbb  3 MiB  in use           b 1.0, c 1.0, d 1.0, e 1.0 and 2 more\n' +
      'aaaaaaaaaaaa  3 MiB  used 1970-01-02  a 1.0\n' +
      '2 sets, 4 MiB of 4.0 GiB. Sets share the files of common packages.\n',
  );
  expect(renderStore([], 0, 1)).toMatch(/^The package store is empty\. .* packages add pandas\n$/);
});

it('shows everything about a set', () => {
  const [first] = known;
  expect(first && describeSet(first)).toMatchObject({
    isInUse: true,
    usedAt: '1970-01-06T00:00:00.000Z',
    requests: [{ requirements: ['a>=1'], allowedBy: 'user' }],
  });
  expect(renderSets(known.slice(0, 1))).toContain('requested  a>=1 (allowed by the user)\n');
  expect(renderSets(known)).toContain(`\n\nset   ${'a'.repeat(64)}\n`);
});

it('escapes what could change the terminal', () => {
  const hostile = { ...set('a', ['a']), python: 'x\u001B[2J' };
  expect(renderSets(knownSets([hostile], []))).not.toContain('\u001B');
});
