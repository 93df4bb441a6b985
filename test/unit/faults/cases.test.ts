/** No case is forgotten: the suite runs each one, or names where it runs instead. */
import { expect, it } from 'vitest';
import { ALL_CASES, CASES_ELSEWHERE } from '../../faults/cases/all.ts';

/** How many cases each group has. */
const GROUPS = { F: 24, P: 16, C: 15, E: 7, S: 18, K: 11 };

it('every case exists', () => {
  const wanted = Object.entries(GROUPS).flatMap(([letter, count]) =>
    Array.from({ length: count }, (_, index) => `${letter}${String(index + 1).padStart(2, '0')}`),
  );
  const there = new Set([...ALL_CASES, ...CASES_ELSEWHERE].map(({ id }) => id));
  expect([...there].toSorted()).toEqual(wanted.toSorted());
});

it('each has a unique title', () => {
  const titles = ALL_CASES.map(({ title }) => title);
  expect(new Set(titles).size).toBe(titles.length);
});
