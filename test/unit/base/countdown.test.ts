import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Countdown } from '../../../src/core/base/countdown.ts';

let ended = 0;
const start = (timeoutMs: number) =>
  new Countdown(timeoutMs, () => {
    ended += 1;
  });

beforeEach(() => {
  ended = 0;
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('ends once, after its time', () => {
  const countdown = start(1_000);
  vi.advanceTimersByTime(999);
  expect([ended, countdown.leftMs()]).toEqual([0, 1]);
  vi.advanceTimersByTime(5_000);
  expect([ended, countdown.leftMs()]).toEqual([1, 0]);
});

test('pauses until the last hold is released', () => {
  const countdown = start(1_000);
  vi.advanceTimersByTime(400);
  const first = countdown.hold();
  const second = countdown.hold();
  vi.advanceTimersByTime(60_000);
  first();
  first();
  vi.advanceTimersByTime(60_000);
  expect([ended, countdown.leftMs()]).toEqual([0, 600]);
  second();
  vi.advanceTimersByTime(599);
  expect(ended).toBe(0);
  vi.advanceTimersByTime(1);
  expect(ended).toBe(1);
});

test('ends only once, even if held after its end', () => {
  const countdown = start(1_000);
  vi.advanceTimersByTime(1_000);
  countdown.hold()();
  vi.advanceTimersByTime(1_000);
  expect([ended, countdown.leftMs()]).toEqual([1, 0]);
});

test('does nothing after it was stopped, held or not', () => {
  const running = start(1_000);
  const held = start(1_000);
  const release = held.hold();
  running.stop();
  held.stop();
  release();
  vi.advanceTimersByTime(10_000);
  expect(ended).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
});
