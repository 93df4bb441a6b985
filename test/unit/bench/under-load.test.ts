/** What fair sharing of the cores explains, which is what a busy machine is compared with. */
import { expect, it } from 'vitest';
import { fairShareMs } from '../../../bench/measures/under-load.ts';

it('is the time of two bare processes and the share of the cores', () => {
  expect(fairShareMs(1, 10, 19, 2)).toBe(2 * 10 + 10);
});

it('is no less than the time without load if there are more cores than busy sessions', () => {
  expect(fairShareMs(1, 0.1, 3, 64)).toBeCloseTo(1.2);
});
