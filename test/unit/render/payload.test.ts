import { expect, test } from 'vitest';
import { applyReturns } from '../../../src/render/payload.ts';

test.each([
  ['no return at all\nnone', 'no return at all\nnone'],
  ['10%\r20%\r30%', '30%'],
  ['10%\r20%\r', '20%\r'],
  ['abcdef\rxy', 'xycdef'],
  ['one\r\ntwo\r\n', 'one\r\ntwo\r\n'],
  ['a\nbar 1\rbar 2\nc', 'a\nbar 2\nc'],
  ['\r\r\rx', 'x'],
  ['', ''],
])('shows %j as %j, as a terminal does', (written, shown) => {
  expect(applyReturns(written)).toBe(shown);
});

// Joining the states in order copied the whole line for each: this text took minutes, during which the bridge did nothing else.
test('shows a line that is redrawn a million times at once', () => {
  const shown = applyReturns(`${'x'.repeat(4_000_000)}${'\ra'.repeat(1_000_000)}`);
  expect(shown).toBe(`a${'x'.repeat(3_999_999)}`);
});
