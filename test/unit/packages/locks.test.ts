import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPackageLocks, lockKey, type PackageLock } from '../../../src/features/packages/locks.ts';

const PYTHON = 'cpython-314 linux x86_64';
const setOf = (letter: string) => letter.repeat(64);
const lockOf = (set: string): PackageLock => ({
  version: 1,
  requirements: ['a'],
  python: PYTHON,
  set: setOf(set),
  packages: [],
});

describe('locks', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'bridge-locks-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('are found again for the same interpreter, and readable only by their owner', async () => {
    const locks = createPackageLocks(folder);
    await locks.write('k', lockOf('a'));
    await expect(locks.find('k', PYTHON)).resolves.toEqual(lockOf('a'));
    await expect(locks.find('k', 'cpython-315 linux x86_64')).resolves.toBeUndefined();
    await expect(locks.find('other', PYTHON)).resolves.toBeUndefined();
    expect(statSync(join(folder, 'packages', 'k.lock.json')).mode & 0o777).toBe(0o600);
  });

  it('that are damaged are as good as none', async () => {
    const locks = createPackageLocks(folder);
    await locks.write('k', lockOf('a'));
    const file = join(folder, 'packages', 'k.lock.json');
    for (const text of ['', '{', '{}', readFileSync(file, 'utf8').replace('"set": "', '"set": "../')]) {
      writeFileSync(file, text);
      await expect(locks.find('k', PYTHON)).resolves.toBeUndefined();
    }
  });

  it('say which sets were used last', async () => {
    const locks = createPackageLocks(folder);
    for (const [index, name] of ['a', 'b', 'c'].entries()) {
      await locks.write(name, lockOf(name));
      utimesSync(join(folder, 'packages', `${name}.lock.json`), index, index);
    }
    writeFileSync(join(folder, 'packages', 'd.lock.json'), 'damaged');
    await locks.find('a', PYTHON);
    const usedAt = await locks.usedAt();
    expect(usedAt).toMatchObject({ [setOf('b')]: 1, [setOf('c')]: 2 });
    expect(Object.keys(usedAt)).toHaveLength(3);
    expect(usedAt[setOf('a')]).toBeGreaterThan(1_000_000);
  });

  it('that lead to removed sets are forgotten', async () => {
    const locks = createPackageLocks(folder);
    await locks.write('k', lockOf('a'));
    await locks.write('l', lockOf('b'));
    await locks.forget(new Set([setOf('a')]));
    expect((await locks.all()).map(({ key }) => key)).toEqual(['l']);
  });

  it('differ in their keys by everything that decides about versions', () => {
    const index = { urls: ['https://x.example'], links: [], mask: (text: string) => text };
    const request = { requirements: ['a'], constraints: [], index, image: 'x', minAgeMs: 0 };
    const others = [{ requirements: ['b'] }, { constraints: ['a==1'] }, { image: 'y' }, { minAgeMs: 1 }];
    const keys = [{}, ...others, { index: { ...index, urls: ['https://y.example'] } }].map((more) => {
      return lockKey({ ...request, ...more });
    });
    expect(new Set(keys).size).toBe(6);
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
  });
});
