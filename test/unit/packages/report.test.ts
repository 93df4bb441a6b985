import { expect, it } from 'vitest';
import { parseReport } from '../../../src/features/packages/report.ts';

const SHA = 'a'.repeat(64);
const wheel = {
  name: 'a',
  version: '1.0',
  file: 'a-1.0-py3-none-any.whl',
  url: 'https://x.example/a.whl',
  sha256: SHA,
};
const done = { type: 'done', set: SHA, packages: [wheel], fetched_bytes: 10, python: 'cpython-314' };

const set = { type: 'set', id: SHA, python: 'cpython-314', packages: [wheel], bytes: 1, made_at: 1, in_use: false };

it('reads the reports of a builder', () => {
  expect(parseReport(JSON.stringify(set))).toEqual(set);
  expect(parseReport('{"type":"listed","bytes":5}')).toEqual({ type: 'listed', bytes: 5 });
  expect(parseReport(JSON.stringify({ type: 'removed', sets: [SHA], bytes: 5 }))).toMatchObject({ sets: [SHA] });
  expect(parseReport(JSON.stringify(done))).toEqual(done);
  expect(parseReport('{"type":"progress","stage":"resolve"}')).toEqual({ type: 'progress', stage: 'resolve' });
  expect(parseReport('{"type":"failed","kind":"hash","reason":"no"}')).toMatchObject({ kind: 'hash' });
});

it.each([
  'noise',
  '[]',
  JSON.stringify({ ...done, set: '../../etc' }),
  JSON.stringify({ ...done, extra: 1 }),
  JSON.stringify({ ...done, packages: [{ ...wheel, name: '../x' }] }),
  JSON.stringify({ ...done, packages: [{ ...wheel, url: 'file:///etc/passwd' }] }),
  JSON.stringify({ ...done, packages: [{ ...wheel, file: '../a.whl' }] }),
  JSON.stringify({ ...done, packages: Array.from({ length: 501 }, () => wheel) }),
  JSON.stringify({ ...set, id: '../x' }),
  JSON.stringify({ ...set, made_at: -1 }),
  JSON.stringify({ type: 'removed', sets: Array.from({ length: 1_001 }, () => SHA), bytes: 5 }),
  JSON.stringify({ type: 'failed', kind: 'hash', reason: 'x'.repeat(2_001) }),
])('drops %.60s', (line) => {
  expect(parseReport(line)).toBeUndefined();
});
