/** Reproducible random numbers from a seed: mulberry32 (Tommy Ettinger, public domain), 32 bits of state. */

export interface Random {
  /** From 0 up to but excluding 1. */
  next(): number;
  /** An integer from 0 up to but excluding `limit`. */
  below(limit: number): number;
  pick<Item>(items: readonly Item[]): Item;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    pick(items) {
      const item = items[below(items.length)];
      if (item === undefined) {
        throw new Error('there is nothing to pick from');
      }
      return item;
    },
  };
}
