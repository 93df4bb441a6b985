import { expect, test } from 'vitest';
import { encodeToon } from '../../../src/render/toon.ts';

test('a value is one text, lines without an end', async () => {
  expect(await encodeToon({ rows: [{ id: 1 }, { id: 2 }], tags: [] })).toBe('rows[2]{id}:\n  1\n  2\ntags: []');
  expect(await encodeToon('')).toBe('""');
});

test('a text that indentation makes too long is refused, not built', async () => {
  let deep: unknown = Array.from({ length: 100_000 }, () => [[]]);
  for (let level = 0; level < 150; level += 1) {
    deep = [deep, 1];
  }
  await expect(encodeToon(deep)).rejects.toMatchObject({ code: 'LIMIT_RESULT', hint: expect.stringContaining('rows') });
});

test('text that is not Unicode is refused, where code went round the check of the kernel', async () => {
  await expect(encodeToon({ a: '\ud800' })).rejects.toMatchObject({
    code: 'CALL_REFUSED',
    message: expect.stringMatching(/^the value cannot be written as TOON: .*surrogate/i),
  });
});
