import { createHash } from 'node:crypto';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createBuiltFilesCheck } from '../../../../src/edges/engines/embedded/built-files.ts';

const FILES = { 'child.cjs': 'the program', 'python.wasm': 'the code' };

describe('the check of the built files', () => {
  let folder: string;
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'built-files-'));
    const hashes = Object.entries(FILES).map(([name, text]) => {
      write(name, text);
      return [name, { sha256: createHash('sha256').update(text).digest('hex') }];
    });
    write('manifest.json', JSON.stringify({ files: Object.fromEntries(hashes) }));
    onTestFinished(() => rmSync(folder, { recursive: true }));
  });

  it('accepts unchanged files', async () => {
    expect(await createBuiltFilesCheck(folder).run()).toBeUndefined();
  });

  it.each([
    ['a changed file', () => write('python.wasm', 'the codE'), 'python.wasm differs from the build (SHA-256 mismatch)'],
    ['a truncated file', () => write('child.cjs', ''), 'child.cjs differs from the build (SHA-256 mismatch)'],
    ['a missing file', () => rmSync(join(folder, 'python.wasm')), 'python.wasm is missing'],
    ['a missing manifest', () => rmSync(join(folder, 'manifest.json')), 'manifest.json is missing'],
    ['a manifest that is not JSON', () => write('manifest.json', '{"files": {'), 'manifest.json is damaged'],
    ['an empty manifest', () => write('manifest.json', '{"files": {}}'), 'manifest.json is damaged'],
    ['a manifest of another type', () => write('manifest.json', 'null'), 'manifest.json is damaged'],
  ])('names %s', async (_what, damage, fault) => {
    damage();
    expect(await createBuiltFilesCheck(folder).run()).toBe(fault);
  });

  it('notices damage after a success, and a repair after a failure', async () => {
    const check = createBuiltFilesCheck(folder);
    expect(await check.run()).toBeUndefined();
    appendFileSync(join(folder, 'python.wasm'), '!');
    expect(await check.run()).toBe('python.wasm differs from the build (SHA-256 mismatch)');
    write('python.wasm', FILES['python.wasm']);
    expect(await check.run()).toBeUndefined();
  });
});
