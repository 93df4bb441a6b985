import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SavePace } from '../../../src/session/save-pace.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function save(pace: SavePace, tookMs: number): void {
  expect(pace.begin()).toBe(0);
  vi.advanceTimersByTime(tookMs);
  pace.end(tookMs);
}

it('lets a checkpoint wait until the one before has taken no more than its part of the cores', () => {
  const pace = new SavePace(2);
  save(pace, 300);
  // 300 ms of two cores are a quarter of 600 ms.
  expect(pace.begin()).toBe(300);
  vi.advanceTimersByTime(300);
  expect(pace.begin()).toBe(0);
});

it('lets no two begin at once, once it is known how long one takes', () => {
  const pace = new SavePace(2);
  save(pace, 300);
  vi.advanceTimersByTime(10_000);
  expect(pace.begin()).toBe(0);
  expect(pace.begin()).toBe(600);
});

it('lets several begin at once where there are many cores', () => {
  const pace = new SavePace(16);
  save(pace, 400);
  expect(pace.begin()).toBe(0);
  expect(pace.begin()).toBe(100);
});

it('lets no checkpoint that hangs hold up the others for long', () => {
  const pace = new SavePace(2);
  save(pace, 90_000);
  expect(pace.begin()).toBe(5_000);
});
