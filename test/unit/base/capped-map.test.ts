import { expect, it } from 'vitest';
import { CappedMap } from '../../../src/core/base/capped-map.ts';

it('forgets what was set longest ago', () => {
  const map = new CappedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
  map.delete('a');
  map.set('d', 5);
  expect([...map.keys()]).toEqual(['c', 'd']);
});
