import { expect, it } from 'vitest';
import { RequestRate } from '../../../../src/front/server/http/request-rate.ts';

function takeMany(rate: RequestRate, count: number): number {
  return Array.from({ length: count }, () => rate.take()).filter((wait) => wait === 0).length;
}

it('lets a burst of five seconds through, and then as many as time allows', () => {
  let now = 0;
  const rate = new RequestRate(10, () => now);
  expect(takeMany(rate, 80)).toBe(50);
  expect(rate.take()).toBe(1);
  now += 500;
  expect(takeMany(rate, 80)).toBe(5);
  now += 3_600_000;
  expect(takeMany(rate, 80)).toBe(50);
});

it('says after how many seconds the next request may come', () => {
  const rate = new RequestRate(1, () => 0);
  takeMany(rate, 5);
  expect(rate.take()).toBe(1);
});

it('does not count requests that it refuses', () => {
  let now = 0;
  const rate = new RequestRate(10, () => now);
  takeMany(rate, 10_000);
  now += 100;
  expect(takeMany(rate, 10)).toBe(1);
});

it('has no limit if that is 0', () => {
  expect(takeMany(new RequestRate(0, () => 0), 10_000)).toBe(10_000);
});
