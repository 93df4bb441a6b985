import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { messageOf } from '../../../src/base/errors.ts';
import { makeFolders } from '../../../src/state/make-folders.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'folders-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

describe('folders', () => {
  it('are made with those above, also by two at once, and a link to one is one', async () => {
    const path = join(folder, 'a', 'b', 'c');
    await Promise.all([makeFolders(path, 0o700), makeFolders(path, 0o700)]);
    expect(statSync(path).mode & 0o777).toBe(0o700);
    symlinkSync(path, join(folder, 'link'));
    await makeFolders(join(folder, 'link', 'd'));
    expect(statSync(join(path, 'd')).isDirectory()).toBe(true);
  });

  it('are not made below a file or through a link to nothing', async () => {
    writeFileSync(join(folder, 'file'), '');
    symlinkSync('gone', join(folder, 'dangling'));
    expect(await makeFolders(join(folder, 'file', 'a')).catch(messageOf)).toContain('EEXIST');
    expect(await makeFolders(join(folder, 'file')).catch(messageOf)).toContain('EEXIST');
    expect(await makeFolders(join(folder, 'dangling', 'a')).catch(messageOf)).toContain('EEXIST');
  });

  // Node's own recursive mkdir tried for ever.
  it.runIf(process.platform === 'linux')('are refused in /proc', async () => {
    expect(await makeFolders('/proc/folder/a').catch(messageOf)).toMatch(/ENOENT|EACCES/);
  });

  // `servers add` still did, with a state directory in /proc.
  it('are made by nothing else', () => {
    const sources = new URL('../../../src/', import.meta.url);
    const found = readdirSync(sources, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .filter((file) => /\bmkdir(?:Sync)?\([^;]*recursive: true/.test(readFileSync(new URL(file, sources), 'utf8')));
    expect(found).toEqual([]);
  });
});
