import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BackgroundWork } from '../../../src/core/directory/background-work.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Work of 100 ms that notes its subject. */
function setUp() {
  const done: string[] = [];
  const work = new BackgroundWork<string>(async (subject) => {
    done.push(subject);
    await new Promise<void>((resolve) => {
      // oxlint-disable-next-line eslint/no-restricted-globals -- the clock of this file is a fake one.
      setTimeout(resolve, 100);
    });
  });
  return { done, work };
}

test('work that is asked for while it runs runs once more, after a rest ten times as long', async () => {
  const { done, work } = setUp();
  for (let times = 0; times < 1_000; times += 1) {
    work.start('a', 'a');
  }
  work.start('b', 'b');
  expect(done).toEqual(['a', 'b']);
  await vi.advanceTimersByTimeAsync(1_099);
  expect(done).toEqual(['a', 'b']);
  await vi.advanceTimersByTimeAsync(1);
  expect(done).toEqual(['a', 'b', 'a']);
  await vi.advanceTimersByTimeAsync(100_000);
  expect(done).toEqual(['a', 'b', 'a']);
});

test('nothing starts after the end', async () => {
  const { done, work } = setUp();
  work.start('a', 'a');
  work.start('a', 'a');
  work.close();
  work.start('b', 'b');
  await vi.advanceTimersByTimeAsync(100_000);
  expect(done).toEqual(['a']);
});
