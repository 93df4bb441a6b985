/** The statistics behind the figures of the benchmark. */
import { describe, expect, it } from 'vitest';
import { interleave, median, percentile } from '../../../bench/support/statistics.ts';

describe('percentile', () => {
  it('is one of the samples, in any order', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 2])).toBe(2);
    expect(percentile([3, 1, 2], 0)).toBe(1);
    expect(percentile([3, 1, 2], 1)).toBe(3);
  });

  it('has the given fraction of samples at or below it', () => {
    const samples = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(percentile(samples, 0.95)).toBe(95);
  });

  it('throws if there are no samples', () => {
    expect(() => median([])).toThrow('nothing was measured');
  });
});

describe('interleave', () => {
  it('samples in turn, one or several at a time', async () => {
    const order: string[] = [];
    const samples = await interleave(2, {
      one: async () => {
        order.push('one');
        return 1;
      },
      many: async () => {
        order.push('many');
        return [2, 3];
      },
    });
    expect(order).toEqual(['one', 'many', 'one', 'many']);
    expect(samples).toEqual({ one: [1, 1], many: [2, 3, 2, 3] });
  });
});
