/** No case of the catalogue is forgotten: each is run by the suite, or named with where it is run instead. */
import { expect, it } from 'vitest';
import { ALL_CASES } from '../../faults/cases/all.ts';
import { CASES_ELSEWHERE } from '../../faults/cases/elsewhere.ts';

/** How many cases each group has. */
const GROUPS = { F: 24, P: 16, C: 14, E: 7, S: 18, K: 11 };

it('every case is there', () => {
  const wanted = Object.entries(GROUPS).flatMap(([letter, count]) =>
    Array.from({ length: count }, (_, index) => `${letter}${String(index + 1).padStart(2, '0')}`),
  );
  const there = new Set([...ALL_CASES, ...CASES_ELSEWHERE].map(({ id }) => id));
  expect([...there].toSorted()).toEqual(wanted.toSorted());
});

it('each has a title of its own', () => {
  const titles = ALL_CASES.map(({ title }) => title);
  expect(new Set(titles).size).toBe(titles.length);
});
