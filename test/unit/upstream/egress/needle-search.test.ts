import { array, assert as assertProperty, constantFrom, property, string } from 'fast-check';
import { expect, it } from 'vitest';
import { createNeedleSearch } from '../../../../src/edges/upstream/egress/needle-search.ts';

/** Of few letters, so that much is found, and more almost is. */
const WORD = string({ unit: constantFrom('a', 'b', 'c'), maxLength: 90 });

it('finds the same as a search for each text', () => {
  assertProperty(
    property(array(WORD, { maxLength: 5 }), WORD, WORD, (needles, before, after) => {
      const search = createNeedleSearch(needles.map((needle) => Buffer.from(needle)));
      for (const text of [
        before,
        ...needles.map((needle) => before + needle + after),
        ...needles.map((needle) => before + needle.slice(1)),
      ]) {
        expect(search(Buffer.from(text))).toBe(needles.some((needle) => text.includes(needle)));
      }
    }),
    { numRuns: 500 },
  );
});

it('any bytes contain the empty text', () => {
  expect(createNeedleSearch([Buffer.alloc(0)])(Buffer.from('a'))).toBe(true);
});
