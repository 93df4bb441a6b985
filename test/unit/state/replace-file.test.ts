import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { replaceFile } from '../../../src/state/replace-file.ts';

/** A rename that fails with these codes first, and counts. */
function failing(...codes: string[]) {
  let count = 0;
  const move = async () => {
    count += 1;
    const code = codes.shift();
    if (code !== undefined) {
      throw Object.assign(new Error(code), { code });
    }
  };
  return { move, count: () => count };
}

it('puts one file in the place of another', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'replace-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'new'), 'new');
  writeFileSync(join(folder, 'old'), 'old');
  await replaceFile(join(folder, 'new'), join(folder, 'old'));
  expect(readFileSync(join(folder, 'old'), 'utf8')).toBe('new');
});

it('tries again on Windows while a program holds the file, and nowhere else', async () => {
  const held = failing('EPERM', 'EBUSY');
  await replaceFile('a', 'b', { platform: 'win32', move: held.move });
  expect(held.count()).toBe(3);
  const refused = failing('EACCES');
  await expect(replaceFile('a', 'b', { platform: 'linux', move: refused.move })).rejects.toThrow('EACCES');
  const missing = failing('ENOENT');
  await expect(replaceFile('a', 'b', { platform: 'win32', move: missing.move })).rejects.toThrow('ENOENT');
  expect([refused.count(), missing.count()]).toEqual([1, 1]);
});
