/** Carriage returns, as a terminal shows them. */
import { expect, test } from 'vitest';
import { settleReturns } from '../../../src/render/returns.ts';

test.each([
  ['no return at all\nnone', 'no return at all\nnone'],
  ['10%\r20%\r30%', '30%'],
  ['10%\r20%\r', '20%\r'],
  ['abcdef\rxy', 'xycdef'],
  ['one\r\ntwo\r\n', 'one\r\ntwo\r\n'],
  ['a\nbar 1\rbar 2\nc', 'a\nbar 2\nc'],
  ['\r\r\rx', 'x'],
  ['', ''],
])('%j is shown as %j', (written, shown) => {
  expect(settleReturns(written)).toBe(shown);
});
