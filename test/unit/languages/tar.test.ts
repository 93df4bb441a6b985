import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readTar, writeTar } from '../../../src/languages/tar.ts';

const long = `${'folder/'.repeat(20)}name.txt`;
const files = [
  { name: 'a.txt', content: Buffer.from('A') },
  { name: 'ä/empty', content: Buffer.alloc(0) },
  { name: long, content: Buffer.alloc(1024, 'x') },
];

it('reads what it writes, and only as far as it is complete', () => {
  const archive = writeTar(files);
  expect(readTar(archive)).toEqual(files);
  expect(readTar(archive.subarray(0, archive.byteLength - 1500)).map(({ name }) => name)).toEqual(['a.txt', 'ä/empty']);
  expect(readTar(Buffer.from('not an archive'.repeat(100)))).toEqual([]);
  expect(readTar(Buffer.alloc(0))).toEqual([]);
});

it('is understood by tar, and reads what tar writes except links', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tar-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  execFileSync('tar', ['-xf', '-', '-C', folder], { input: writeTar(files) });
  expect(readFileSync(join(folder, long))).toEqual(files[2]?.content);
  writeFileSync(join(folder, 'a.txt'), 'changed');
  symlinkSync('/etc/passwd', join(folder, 'link'));
  const found = readTar(execFileSync('tar', ['-cf', '-', '-C', folder, '.']));
  const sorted = found.toSorted((one, other) => one.name.localeCompare(other.name));
  expect(sorted.map(({ name }) => name)).toEqual(['a.txt', 'ä/empty', long]);
  expect(sorted[0]?.content.toString()).toBe('changed');
});
