/** Calls of a loop that are shown as one. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { neighboursOf, spanOfRun, statusesOf } from '../../../../src/record/ui/page/runs.ts';

it('only neighbours of the same kind are together', () => {
  expect(neighboursOf(['a', 'a', 'b', 'a', '', ''], (text) => text || undefined)).toEqual([
    ['a', 'a'],
    ['b'],
    ['a'],
    [''],
    [''],
  ]);
});

it('nothing is lost, doubled or moved', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'b', undefined)), (keys) => {
      expect(neighboursOf(keys, (key) => key).flat()).toEqual(keys);
    }),
  );
});

it('a run lasts from its first start to its last end', () => {
  const call = (second: number, ms: number, status = 'ok') => ({
    at: `2026-11-21T00:00:0${second}.000Z`,
    duration_ms: ms,
    status,
  });
  const run = [call(2, 100), call(1, 5_000), call(3, 10, 'error')];
  const { endedAt, startedAt } = spanOfRun(run);
  expect([endedAt - startedAt, statusesOf(run)]).toEqual([
    5_000,
    [
      ['ok', 2],
      ['error', 1],
    ],
  ]);
});
