import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { atMostEvery, Deadline } from '../../../src/edges/upstream/deadline.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

it('ends at the deadline or with the caller, and leaves no timer behind', () => {
  const deadline = new Deadline(1_000, undefined);
  expect(deadline.leftMs()).toBe(1_000);
  vi.advanceTimersByTime(1_000);
  expect(deadline.signal.aborted).toBe(true);
  expect(deadline.leftMs()).toBe(0);
  const caller = new AbortController();
  const early = new Deadline(1_000, caller.signal);
  caller.abort();
  expect(early.signal.aborted).toBe(true);
  early.clear();
  expect(new Deadline(1, caller.signal).signal.aborted).toBe(true);
});

it('runs at once, then once per interval, including once after the last call', () => {
  const run = vi.fn<() => void>();
  const call = atMostEvery(1_000, run);
  call();
  expect(run).toHaveBeenCalledTimes(1);
  for (let index = 0; index < 1_000; index += 1) {
    call();
  }
  expect(run).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(1_000);
  expect(run).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(10_000);
  expect(run).toHaveBeenCalledTimes(2);
  expect(vi.getTimerCount()).toBe(0);
});
