import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { messageOf } from '../../../src/core/base/errors.ts';
import { makeFolders, replaceFile } from '../../../src/core/state/file-system.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'folders-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

describe('makeFolders', () => {
  it('creates missing parents, works concurrently, and follows a link to a folder', async () => {
    const path = join(folder, 'a', 'b', 'c');
    await Promise.all([makeFolders(path, 0o700), makeFolders(path, 0o700)]);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    symlinkSync(path, join(folder, 'link'));
    await makeFolders(join(folder, 'link', 'd'));
    expect(statSync(join(path, 'd')).isDirectory()).toBe(true);
  });

  it('refuses to create a folder below a file or through a dangling link', async () => {
    writeFileSync(join(folder, 'file'), '');
    symlinkSync('gone', join(folder, 'dangling'));
    expect(await makeFolders(join(folder, 'file', 'a')).catch(messageOf)).toContain('EEXIST');
    expect(await makeFolders(join(folder, 'file')).catch(messageOf)).toContain('EEXIST');
    expect(await makeFolders(join(folder, 'dangling', 'a')).catch(messageOf)).toContain('EEXIST');
  });

  // Node's recursive mkdir never returned.
  it.runIf(process.platform === 'linux')('fails in /proc', async () => {
    expect(await makeFolders('/proc/folder/a').catch(messageOf)).toMatch(/ENOENT|EACCES/);
  });

  // `servers add` still used Node's mkdir, and hung with a state directory in /proc.
  it('is what all sources use', () => {
    const sources = new URL('../../../src/', import.meta.url);
    const found = readdirSync(sources, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .filter((file) => /\bmkdir(?:Sync)?\([^;]*recursive: true/.test(readFileSync(new URL(file, sources), 'utf8')));
    expect(found).toEqual([]);
  });
});

/** A rename that first fails with these codes, and counts its calls. */
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

describe('replaceFile', () => {
  it('replaces a file', async () => {
    writeFileSync(join(folder, 'new'), 'new');
    writeFileSync(join(folder, 'old'), 'old');
    await replaceFile(join(folder, 'new'), join(folder, 'old'));
    expect(readFileSync(join(folder, 'old'), 'utf8')).toBe('new');
  });

  it('tries again while a program has the file open, but only on Windows', async () => {
    const held = failing('EPERM', 'EBUSY');
    await replaceFile('a', 'b', { platform: 'win32', move: held.move });
    expect(held.count()).toBe(3);
    const refused = failing('EACCES');
    await expect(replaceFile('a', 'b', { platform: 'linux', move: refused.move })).rejects.toThrow('EACCES');
    const missing = failing('ENOENT');
    await expect(replaceFile('a', 'b', { platform: 'win32', move: missing.move })).rejects.toThrow('ENOENT');
    expect([refused.count(), missing.count()]).toEqual([1, 1]);
  });
});
