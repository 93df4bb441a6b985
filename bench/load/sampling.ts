/** Random numbers of other distributions than the even one. */
import type { Random } from '../../test/soak/random.ts';

/** Exponential with this mean: the time between arrivals of a Poisson process. */
export function exponential(random: Random, mean: number): number {
  return -Math.log(1 - random.next()) * mean;
}

/** An integer of at least 1, geometric with this mean. */
export function geometric(random: Random, mean: number): number {
  return mean <= 1 ? 1 : 1 + Math.floor(Math.log(1 - random.next()) / Math.log(1 - 1 / mean));
}
