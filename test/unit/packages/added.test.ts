import { describe, expect, it } from 'vitest';
import { findAdded, hasPackage, unite } from '../../../src/features/packages/added.ts';
import type { StoredLock } from '../../../src/features/packages/locks.ts';
import type { LockedPackage } from '../../../src/features/packages/report.ts';
import { parseRequirement } from '../../../src/features/packages/requirement.ts';

const PYTHON = 'cpython-314 linux x86_64';
const wheel = (name: string, version = '1'): LockedPackage => ({
  name,
  version,
  file: `${name}-${version}-py3-none-any.whl`,
  url: `https://x.example/${name}.whl`,
  sha256: Buffer.from(`${name} ${version}`).toString('hex').padEnd(64, '0'),
});
let additions = 0;
const added = (requirement: string, packages: LockedPackage[], more: Partial<StoredLock['lock']> = {}): StoredLock => {
  additions += 1;
  const facts = { version: 1 as const, python: PYTHON, image: 'x', set: String(additions).padEnd(64, 'a') };
  const lock = { ...facts, requirements: [requirement], packages, added_at: additions, ...more };
  return { key: requirement, lock, usedAtMs: 0 };
};
const find = (locks: StoredLock[], wanted: string[], present: LockedPackage[] = []) =>
  findAdded(locks, { image: 'x', python: PYTHON, present, wanted: wanted.map(parseRequirement) });
const names = (packages: readonly LockedPackage[] | undefined) =>
  packages?.map(({ name, version }) => `${name} ${version}`);

describe('what a person has added', () => {
  const tiny = added('tiny', [wheel('tiny')]);
  const needs = added('needs', [wheel('needs'), wheel('tiny')]);
  const other = added('other>=1', [wheel('other')]);

  it('serves a request for one of its packages, with its set', () => {
    expect(find([other], ['other'])).toEqual({ packages: other.lock.packages, lock: other.lock, key: 'other>=1' });
    expect(find([other], ['other>=1'])?.lock).toBe(other.lock);
    expect(find([other], ['other==1'])?.lock).toBe(other.lock);
    // A dependency of what was added.
    expect(names(find([needs], ['tiny'])?.packages)).toEqual(['needs 1', 'tiny 1']);
  });

  it('serves a request together with other additions and with what the session has', () => {
    const both = find([tiny, other], ['tiny', 'other']);
    expect(names(both?.packages)).toEqual(['tiny 1', 'other 1']);
    expect(both?.lock).toBeUndefined();
    expect(names(find([other], ['other'], [wheel('mine')])?.packages)).toEqual(['mine 1', 'other 1']);
    expect(find([tiny, needs], ['tiny', 'needs'])?.lock).toBe(needs.lock);
  });

  it('does not if a package is missing, or versions differ', () => {
    expect(find([tiny], ['other'])).toBeUndefined();
    expect(find([tiny], ['tiny>=2'])).toBeUndefined();
    expect(find([needs], ['needs'], [wheel('tiny', '2')])).toBeUndefined();
  });

  it('prefers what was added last', () => {
    const newer = added('tiny', [wheel('tiny', '2')]);
    expect(find([newer, tiny], ['tiny'])?.lock).toBe(newer.lock);
    expect(find([tiny, newer], ['tiny'])?.lock).toBe(newer.lock);
  });

  it.each([
    ['another image', { image: 'y' }],
    ['another Python', { python: 'cpython-315 linux x86_64' }],
    ['an image that has everything', { set: null, packages: [] }],
  ])('does not for %s', (_, more) => {
    expect(find([added('tiny', [wheel('tiny')], more)], ['tiny'])).toBeUndefined();
  });

  it('is not what code has installed', () => {
    const { added_at: _, ...installed } = tiny.lock;
    expect(find([{ ...tiny, lock: installed }], ['tiny'])).toBeUndefined();
  });
});

it('any version of a package satisfies its name, and the stated one a version', () => {
  const has = (text: string) => hasPackage([wheel('Tiny.Pkg')], ['more>=1'], parseRequirement(text));
  expect(['tiny-pkg', 'tiny_pkg==1', 'more>=1'].map(has)).toEqual([true, true, true]);
  expect(['tiny-pkg>=1', 'tiny-pkg==2', 'more'].map(has)).toEqual([false, false, false]);
});

it('unites packages unless one has two versions', () => {
  expect(names(unite([wheel('a')], [wheel('b'), wheel('a')]))).toEqual(['a 1', 'b 1']);
  expect(unite([wheel('a')], [wheel('a', '2')])).toBeUndefined();
});
