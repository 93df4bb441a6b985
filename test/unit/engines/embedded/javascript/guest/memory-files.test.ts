import { expect, it } from 'vitest';
import { MemoryFiles } from '../../../../../../src/edges/engines/embedded/javascript/guest/memory-files.ts';

it('refuses more files than it may have, until one is removed', () => {
  const files = new MemoryFiles();
  const empty = new Uint8Array(0);
  const fill = () => {
    for (let number = 0; number < 30_000; number += 1) {
      files.write(`f${number}`, empty);
    }
  };
  expect(fill).toThrow(/^ENOSPC: no space left on device/);
  const count = files.list('.').length;
  expect(count).toBeGreaterThan(19_000);
  files.remove('f0', 'rm', false);
  files.write('another', empty);
  expect(files.list('.').length).toBe(count);
});
