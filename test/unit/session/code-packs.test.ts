/** Which compiled code is kept, and for how long. */
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import { createCodePackStore, removeOldPacks } from '../../../src/core/session/code-packs.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

function folderWith(files: Readonly<Record<string, number>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'packs-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, days] of Object.entries(files)) {
    writeFileSync(join(folder, name), 'x');
    const written = new Date(Date.now() - days * DAY_MS);
    utimesSync(join(folder, name), written, written);
  }
  return folder;
}

test('packs of images that are gone, and what was not finished, are removed', async () => {
  const files = { 'old.pack': 100, 'new.pack': 80, 'old.pack.1.tmp': 1, 'new.pack.2.tmp': 0 };
  const folder = folderWith(files);
  await removeOldPacks(folder);
  expect(readdirSync(folder)).toEqual(['new.pack', 'new.pack.2.tmp']);
  await removeOldPacks(join(folder, 'missing'));
});

test('a new one is kept beside those that are not old', async () => {
  const folder = folderWith({ 'old.pack': 100, 'new.pack': 80 });
  const store = createCodePackStore(folder, silentLogger);
  await store.save('image', Buffer.from('code'));
  expect(readdirSync(folder)).toHaveLength(2);
  expect((await createCodePackStore(folder, silentLogger).load('image'))?.toString()).toBe('code');
});
