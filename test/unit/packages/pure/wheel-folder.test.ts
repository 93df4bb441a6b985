import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sha256Of, WheelFolder } from '../../../../src/features/packages/pure/wheel-folder.ts';

let state: string;
let folder: WheelFolder;
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'bridge-wheels-'));
  folder = new WheelFolder(state);
});
afterEach(() => rmSync(state, { recursive: true }));

const files = (): string[] => readdirSync(join(state, 'packages', 'wheels'));

async function add(text: string, ageDays = 0): Promise<string> {
  const bytes = Buffer.from(text);
  const sha256 = sha256Of(bytes);
  await folder.write(sha256, bytes);
  const used = new Date(Date.now() - ageDays * 86_400_000);
  utimesSync(join(state, 'packages', 'wheels', `${sha256}.whl`), used, used);
  return sha256;
}

it('gives back pieces, and the size', async () => {
  const sha256 = await add('0123456789');
  expect(await folder.has(sha256)).toBe(true);
  expect(files()).toEqual([`${sha256}.whl`]);
  const piece = await folder.read(sha256, 4, 3);
  expect([piece?.data.toString(), piece?.size]).toEqual(['456', 10]);
  expect((await folder.read(sha256, 8, 100))?.data.toString()).toBe('89');
  expect((await folder.read(sha256, 50, 100))?.data.length).toBe(0);
});

it('has nothing before a first write, and of others', async () => {
  expect(await folder.has('a'.repeat(64))).toBe(false);
  expect(await folder.read('a'.repeat(64), 0, 1)).toBeUndefined();
  await folder.prune({ maxBytes: 0, maxAgeMs: 1, kept: new Set() });
});

it('removes the oldest and the least recently used, but not what is kept', async () => {
  const [oldest, old, used, recent] = [
    await add('11', 90),
    await add('22', 20),
    await add('33', 10),
    await add('44', 1),
  ];
  await folder.read(used, 0, 1);
  await folder.prune({ maxBytes: 100, maxAgeMs: 30 * 86_400_000, kept: new Set() });
  expect(await folder.has(oldest)).toBe(false);
  await folder.prune({ maxBytes: 4, maxAgeMs: 0, kept: new Set([old]) });
  expect(await Promise.all([old, used, recent].map((one) => folder.has(one)))).toEqual([true, true, false]);
});
