import { describe, expect, it } from 'vitest';
import {
  FRACTION,
  INTEGER,
  kindOfNumber,
  LONG_FRACTION,
  OTHER,
  WHOLE_FRACTION,
} from '../../../src/core/protocol/number-kind.ts';

function kindOf(text: string): number {
  return kindOfNumber(Buffer.from(`[${text}]`), 1, text.length + 1);
}

describe('the kind of a number', () => {
  it.each([
    ['0', INTEGER],
    ['-7', INTEGER],
    ['123456789012345', INTEGER],
    ['1234567890123456', OTHER],
    ['-0', OTHER],
    ['01', OTHER],
    ['-', OTHER],
    ['', OTHER],
    ['1e5', OTHER],
    ['true', OTHER],
    ['1.5', FRACTION],
    ['-0.25', FRACTION],
    ['0.00001', FRACTION],
    ['0.000001', LONG_FRACTION],
    ['12345678901.2345', FRACTION],
    ['12345678901.23456', LONG_FRACTION],
    ['1.50', LONG_FRACTION],
    ['0.0', LONG_FRACTION],
    ['-0.0', LONG_FRACTION],
    ['7.0', WHOLE_FRACTION],
    ['-70.00', WHOLE_FRACTION],
    ['1.', OTHER],
    ['.5', OTHER],
    ['00.5', OTHER],
    ['1.5.2', OTHER],
    ['1.5e3', OTHER],
    ['1.-5', OTHER],
  ])('%s', (text, kind) => {
    expect(kindOf(text)).toBe(kind);
  });

  it('says only of numbers that JavaScript writes alike that it does', () => {
    for (let exponent = -9; exponent < 9; exponent += 1) {
      for (const digits of ['1', '12', '120', '9', '123456789', '999999999999999', '100000000000001']) {
        for (const text of [`${Number(digits) * 10 ** exponent}`, (Number(digits) * 10 ** exponent).toFixed(6)]) {
          const isAlike = String(Number(text)) === text;
          const kind = kindOf(text);
          expect([text, kind === INTEGER || kind === FRACTION ? isAlike : true]).toEqual([text, true]);
          expect([text, kind === WHOLE_FRACTION ? Number.isSafeInteger(Number(text)) : true]).toEqual([text, true]);
        }
      }
    }
  });
});
