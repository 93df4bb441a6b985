/** Work that waits keeps its order, and does not pile up. */
import { expect, it } from 'vitest';
import { Later } from '../../../src/record/telemetry/later.ts';

it('does nothing at once, and everything in its order when it is told to finish', () => {
  const later = new Later((error) => expect.unreachable(String(error)));
  const done: number[] = [];
  [1, 2, 3].forEach((number) => later.do(() => done.push(number)));
  expect(done).toEqual([]);
  later.finish();
  later.finish();
  expect(done).toEqual([1, 2, 3]);
});

it('does at most 1,000 pieces at a time', () => {
  const later = new Later((error) => expect.unreachable(String(error)));
  let done = 0;
  for (let count = 0; count < 2_500; count += 1) {
    later.do(() => {
      done += 1;
    });
  }
  expect(done).toBe(2_000);
});

it('does them soon without being told', async () => {
  const later = new Later((error) => expect.unreachable(String(error)));
  await expect(new Promise((resolve) => later.do(() => resolve('done')))).resolves.toBe('done');
});

it('reports what one of them throws, and does the others', () => {
  const reported: unknown[] = [];
  const done: string[] = [];
  const later = new Later((error) => reported.push(error));
  later.do(() => {
    throw new Error('of one');
  });
  later.do(() => done.push('the other'));
  later.finish();
  expect([reported, done]).toEqual([[new Error('of one')], ['the other']]);
});
