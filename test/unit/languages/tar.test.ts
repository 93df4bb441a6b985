import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { MAX_OUTPUT_FILES_BYTES } from '../../../src/features/languages/limits.ts';
import { readTar, writeTar } from '../../../src/features/languages/tar.ts';

const long = `${'folder/'.repeat(20)}name.txt`;
const files = [
  { name: 'a.txt', content: Buffer.from('A') },
  { name: 'ä/empty', content: Buffer.alloc(0) },
  { name: long, content: Buffer.alloc(1024, 'x') },
];

it('reads what it writes, and only as far as it is complete', () => {
  const archive = writeTar(files);
  expect(readTar(archive)).toEqual({ files, omitted: [], isCut: false });
  const cut = readTar(archive.subarray(0, archive.byteLength - 1500));
  expect(cut.files.map(({ name }) => name)).toEqual(['a.txt', 'ä/empty']);
  expect(cut.isCut).toBe(true);
  expect(readTar(Buffer.from('not an archive'.repeat(100)))).toMatchObject({ files: [], isCut: false });
  expect(readTar(Buffer.alloc(0)).files).toEqual([]);
});

it('is understood by tar, and reads what tar writes except links', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tar-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  execFileSync('tar', ['-xf', '-', '-C', folder], { input: writeTar(files) });
  expect(readFileSync(join(folder, long))).toEqual(files[2]?.content);
  writeFileSync(join(folder, 'a.txt'), 'changed');
  symlinkSync('/etc/passwd', join(folder, 'link'));
  const found = readTar(execFileSync('tar', ['-cf', '-', '-C', folder, '.'])).files;
  const sorted = found.toSorted((one, other) => one.name.localeCompare(other.name));
  expect(sorted.map(({ name }) => name)).toEqual(['a.txt', 'ä/empty', long]);
  expect(sorted[0]?.content.toString()).toBe('changed');
});

// All files after the first that was too large were lost, and nothing said so.
it('names files beyond the limit, and has those after them', () => {
  const archive = writeTar([
    { name: 'large.bin', content: Buffer.alloc(MAX_OUTPUT_FILES_BYTES + 1) },
    { name: 'small.txt', content: Buffer.from('ok') },
  ]);
  const { files: found, isCut, omitted } = readTar(archive);
  expect(found.map(({ name }) => name)).toEqual(['small.txt']);
  expect({ isCut, omitted }).toEqual({ isCut: false, omitted: ['large.bin'] });
});

it('reads no more of a long name than it takes to refuse it', () => {
  const archive = writeTar([
    { name: 'n'.repeat(1_000_000), content: Buffer.from('x') },
    { name: 'small.txt', content: Buffer.from('ok') },
  ]);
  expect(readTar(archive).files.map(({ name }) => name.length)).toEqual([1_001, 9]);
});
