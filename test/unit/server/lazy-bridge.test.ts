import { expect, test } from 'vitest';
import { type Bridge, LazyBridge } from '../../../src/core/session/lazy-bridge.ts';

function countingBridge(failures = 0) {
  const counts = { created: 0, closed: 0 };
  const bridge: Bridge = {
    runCell: () => Promise.reject(new Error('not used')),
    listServers: () => {
      throw new Error('not used');
    },
    runProgram: () => Promise.reject(new Error('not used')),
    keepAnswers: async () => undefined,
    listSessions: async () => [],
    resetSession: async () => false,
    describeEngine: async () => 'an engine',
    preload: async () => undefined,
    startSandboxesAhead: async () => undefined,
    preinstall: async () => undefined,
    startServersAhead: async () => undefined,
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
  return { counts, bridge, lazy: new LazyBridge(create) };
}

test('is made once, at its first use', async () => {
  const { counts, bridge, lazy } = countingBridge();
  expect(await lazy.made()).toBeUndefined();
  expect(counts.created).toBe(0);
  expect(await Promise.all([lazy.get(), lazy.get(), lazy.made()])).toEqual([bridge, bridge, bridge]);
  expect(counts.created).toBe(1);
});

test('is made again after a failure', async () => {
  const { counts, bridge, lazy } = countingBridge(1);
  const failed = lazy.get();
  expect(await lazy.made()).toBeUndefined();
  await expect(failed).rejects.toThrow('failure 1');
  expect(await lazy.get()).toBe(bridge);
  expect(counts.created).toBe(2);
});

test('is not made for closing it, and refuses use afterwards', async () => {
  const { counts, lazy } = countingBridge();
  await lazy.close();
  expect(counts).toEqual({ created: 0, closed: 0 });
  await expect(lazy.get()).rejects.toThrow('shutting down');
});

test('is closed even while it is being made', async () => {
  const { counts, lazy } = countingBridge();
  const used = lazy.get();
  await lazy.close();
  await used;
  expect(counts).toEqual({ created: 1, closed: 1 });
});
