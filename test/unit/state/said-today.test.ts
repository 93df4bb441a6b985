import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { isDueToday } from '../../../src/core/state/said-today.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
let stateDir = '';
const file = (): string => join(stateDir, '.cache', 'said.json');

beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'said-'));
  onTestFinished(() => rm(stateDir, { recursive: true }));
});

it('a sentence is due once a day, and another one for itself', async () => {
  expect([await isDueToday(stateDir, 'a'), await isDueToday(stateDir, 'a')]).toEqual([true, false]);
  expect(await isDueToday(stateDir, 'b')).toBe(true);
  const now = Date.now();
  const clock = vi.spyOn(Date, 'now');
  onTestFinished(() => clock.mockRestore());
  clock.mockReturnValue(now + DAY_MS - 1000);
  expect(await isDueToday(stateDir, 'a')).toBe(false);
  clock.mockReturnValue(now + DAY_MS + 1000);
  expect([await isDueToday(stateDir, 'a'), await isDueToday(stateDir, 'a')]).toEqual([true, false]);
  // The clock was set back: what was said then is a time to come.
  clock.mockReturnValue(now - DAY_MS);
  expect(await isDueToday(stateDir, 'a')).toBe(true);
});

it('of several bridges that ask at once, one says it', async () => {
  const asked = await Promise.all(Array.from({ length: 4 }, () => isDueToday(stateDir, 'a')));
  expect(asked.filter(Boolean)).toHaveLength(1);
  const several = await Promise.all(Array.from({ length: 4 }, (_, index) => isDueToday(stateDir, String(index))));
  expect(several.filter(Boolean)).toHaveLength(4);
  expect(await readdir(join(stateDir, '.cache'))).toEqual(['said.json']);
});

it('keeps a limited number of sentences, and nothing of their text', async () => {
  const old = Array.from({ length: 500 }, (_, index) => ({ sha256: String(index), at: Date.now() }));
  await mkdir(join(stateDir, '.cache'));
  await writeFile(file(), JSON.stringify(old));
  expect(await isDueToday(stateDir, 'a secret path')).toBe(true);
  const kept = await readFile(file(), 'utf8');
  expect(JSON.parse(kept)).toHaveLength(200);
  expect(kept).not.toContain('secret');
});

it('says everything each time if the file cannot be used', async () => {
  await mkdir(join(stateDir, '.cache'));
  await writeFile(file(), '{"a": ');
  expect([await isDueToday(stateDir, 'a'), await isDueToday(stateDir, 'a')]).toEqual([true, false]);
  const elsewhere = join(stateDir, 'a file');
  await writeFile(elsewhere, '');
  // A state directory that is a file cannot be written, also not by root.
  expect([await isDueToday(elsewhere, 'a'), await isDueToday(elsewhere, 'a')]).toEqual([true, true]);
});

it('does not wait for a lock that stays', async () => {
  await mkdir(join(stateDir, '.cache'));
  await writeFile(`${file()}.lock`, 'of a process that ended');
  const startedAt = performance.now();
  expect(await isDueToday(stateDir, 'a')).toBe(true);
  expect(performance.now() - startedAt).toBeLessThan(5000);
  const longAgo = new Date(Date.now() - DAY_MS);
  await utimes(`${file()}.lock`, longAgo, longAgo);
  expect(await isDueToday(stateDir, 'b')).toBe(true);
  await vi.waitFor(async () => expect(await isDueToday(stateDir, 'b')).toBe(false), { timeout: 5000 });
});
