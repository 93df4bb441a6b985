/** The first bytes of a sandbox: their format, and that the large part is not copied for each start. */
import { expect, it } from 'vitest';
import { bootBlob, type KernelSources } from '../../../src/core/session/boot.ts';

const sources: KernelSources = {
  loader: '',
  modules: new Map([
    ['a', Buffer.from('import b')],
    ['b', Buffer.from('x = "é"')],
  ]),
  hash: '',
};

it('is the length of a header, the header with the name and length of each part, and the parts', () => {
  const blob = bootBlob(sources, { memoryBytes: 1024, pids: 8, pack: Buffer.from('PACK') });
  expect(Buffer.concat(blob).toString('utf8')).toBe('00000024a:8 b:8 options:6 pack:4import bx = "é"1024 8PACK');
  const without = bootBlob(sources, { memoryBytes: 1024, pids: 8 });
  expect(Buffer.concat(without).toString('utf8')).toBe('00000017a:8 b:8 options:6import bx = "é"1024 8');
});

it('has the modules that the kernel imports ahead among the options', () => {
  const blob = bootBlob(sources, { memoryBytes: 1024, pids: 8, modules: ['numpy', 'matplotlib.pyplot'] });
  expect(Buffer.concat(blob).toString('utf8').endsWith('1024 8 numpy matplotlib.pyplot')).toBe(true);
});

it('has the packages of the session in lines of their own among the options', () => {
  const packages = { path: '/packages/sets/1', python: 'cpython-314 linux x86_64' };
  const blob = bootBlob(sources, { memoryBytes: 1024, pids: 8, modules: ['numpy'], packages });
  const options = '1024 8 numpy\n/packages/sets/1\ncpython-314 linux x86_64';
  expect(Buffer.concat(blob).toString('utf8').endsWith(options)).toBe(true);
});

it('sends the pack itself, not a copy of it', () => {
  const pack = Buffer.alloc(3_000_000);
  expect(bootBlob(sources, { memoryBytes: 1, pids: 1, pack }).at(-1)).toBe(pack);
});
