import { expect, test } from 'vitest';
import { encodeToon } from '../../../src/core/render/toon.ts';

test('encodes a value without a final line feed', async () => {
  expect(await encodeToon({ rows: [{ id: 1 }, { id: 2 }], tags: [] })).toBe('rows[2]{id}:\n  1\n  2\ntags: []');
  expect(await encodeToon('')).toBe('""');
});

test('refuses a text that indentation would make too long', async () => {
  let deep: unknown = Array.from({ length: 100_000 }, () => [[]]);
  for (let level = 0; level < 150; level += 1) {
    deep = [deep, 1];
  }
  await expect(encodeToon(deep)).rejects.toMatchObject({ code: 'LIMIT_RESULT', hint: expect.stringContaining('rows') });
});

test('refuses text that is not valid Unicode, in case code bypassed the check of the kernel', async () => {
  await expect(encodeToon({ a: '\ud800' })).rejects.toMatchObject({
    code: 'CALL_REFUSED',
    message: expect.stringMatching(/^the value cannot be written as TOON: .*surrogate/i),
  });
});
