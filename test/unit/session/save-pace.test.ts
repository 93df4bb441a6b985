import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SavePace } from '../../../src/core/session/save-pace.ts';

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

it('lets no session of one bridge keep those of another from being saved', () => {
  const ofProcess = SavePace.ofProcess(2);
  const [alice, bob] = [new SavePace(2, ofProcess), new SavePace(2, ofProcess)];
  expect(alice.begin()).toBe(0);
  for (let count = 0; count < 20; count += 1) {
    // Code asks for most of them itself.
    vi.advanceTimersByTime(500);
    alice.end(5_000);
  }
  expect(alice.begin()).toBeGreaterThan(1_000);
  expect(bob.begin()).toBe(0);
});

it('lets those of all bridges together take no more than their part of the cores', () => {
  const ofProcess = SavePace.ofProcess(2);
  save(new SavePace(2, ofProcess), 300);
  expect(new SavePace(2, ofProcess).begin()).toBe(300);
});
