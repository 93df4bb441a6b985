import { describe, expect, it } from 'vitest';
import { isDeeperThan } from '../../../src/core/protocol/json-depth.ts';

describe('isDeeperThan', () => {
  it.each([
    [1, 0, false],
    [[], 0, true],
    [[], 1, false],
    [{ a: [] }, 1, true],
    [{ a: [] }, 2, false],
    [null, 0, false],
  ])('%j deeper than %i: %s', (value, limit, expected) => {
    expect(isDeeperThan(value, limit)).toBe(expected);
  });
});
