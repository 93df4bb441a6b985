import { expect, test } from 'vitest';
import type { Bridge } from '../../../src/server/cell-runner.ts';
import { createLazyBridge } from '../../../src/server/lazy-runner.ts';

function countingBridge(failures = 0) {
  const counts = { created: 0, closed: 0 };
  const bridge: Bridge = {
    runCell: () => Promise.reject(new Error('not used')),
    knownServers: async () => ['a'],
    describeEngine: async () => 'an engine',
    preload: async () => undefined,
    close: async () => {
      counts.closed += 1;
    },
  };
  const create = async (): Promise<Bridge> => {
    counts.created += 1;
    if (counts.created <= failures) {
      throw new Error(`failure ${counts.created}`);
    }
    return bridge;
  };
  return { counts, lazy: createLazyBridge(create) };
}

test('is made once, at its first use', async () => {
  const { counts, lazy } = countingBridge();
  expect(counts.created).toBe(0);
  await Promise.all([lazy.knownServers(), lazy.preload(), lazy.knownServers()]);
  expect(counts.created).toBe(1);
});

test('is tried again after it could not be made', async () => {
  const { counts, lazy } = countingBridge(1);
  await expect(lazy.knownServers()).rejects.toThrow('failure 1');
  expect(await lazy.knownServers()).toEqual(['a']);
  expect(counts.created).toBe(2);
});

test('is not made in order to be closed, and not used after it', async () => {
  const { counts, lazy } = countingBridge();
  await lazy.close();
  expect(counts).toEqual({ created: 0, closed: 0 });
  await expect(lazy.knownServers()).rejects.toThrow('shutting down');
});

test('is closed also when it is still being made', async () => {
  const { counts, lazy } = countingBridge();
  const used = lazy.preload();
  await lazy.close();
  await used;
  expect(counts).toEqual({ created: 1, closed: 1 });
});
