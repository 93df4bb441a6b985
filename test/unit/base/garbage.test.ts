// Modules of its own: the garbage that other tests have noted counts, too.
import { afterEach, expect, it, vi } from 'vitest';
import { collectIfDue, collectWhenIdle, noteGarbage } from '../../../src/core/base/garbage.ts';
import { MAX_GARBAGE_BYTES, MIN_GARBAGE_BYTES } from '../../../src/core/base/limits.ts';

afterEach(() => vi.useRealTimers());

/** Whether an object that nothing refers to is gone after `note`. */
async function collects(note: () => void): Promise<boolean> {
  const reference = new WeakRef({ large: 'x' });
  // The object lives until the end of the turn in which the reference was made.
  await new Promise((resolve) => setImmediate(resolve));
  note();
  collectIfDue();
  return reference.deref() === undefined;
}

it('collects after enough large data, and then not until there is as much again', async () => {
  expect(await collects(() => noteGarbage(MAX_GARBAGE_BYTES - 1))).toBe(false);
  expect(await collects(() => noteGarbage(MIN_GARBAGE_BYTES))).toBe(true);
  expect(await collects(() => noteGarbage(MIN_GARBAGE_BYTES))).toBe(false);
});

it('does not count small data', async () => {
  const note = (): void => {
    for (let bytes = 0; bytes < 2 * MAX_GARBAGE_BYTES; bytes += MIN_GARBAGE_BYTES - 1) {
      noteGarbage(MIN_GARBAGE_BYTES - 1);
    }
  };
  expect(await collects(note)).toBe(false);
});

it('collects once nothing has run for a while', async () => {
  const reference = new WeakRef({ large: 'x' });
  await new Promise((resolve) => setImmediate(resolve));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const end = collectWhenIdle();
  collectWhenIdle()();
  vi.advanceTimersByTime(60_000);
  expect(reference.deref(), 'while something runs').toBeDefined();
  await new Promise((resolve) => setImmediate(resolve));
  end();
  vi.advanceTimersByTime(60_000);
  expect(reference.deref()).toBeUndefined();
});
