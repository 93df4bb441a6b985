import { describe, expect, it, vi } from 'vitest';
import { carriedAsText, parseExact, stringifyExact, withoutMarker } from '../../../src/core/protocol/exact-json.ts';

describe('exact JSON', () => {
  it.each([
    '9007199254740993',
    '-9223372036854775808',
    '[12345678901234567890,{"id":18446744073709551615}]',
    '9'.repeat(5_000),
    '1e999',
    '[-1e+400,1E400]',
    '{"text":"9007199254740993 \\" 12345678901234567890 \\\\","id":9007199254740993}',
    '"\\\\\\"12345678901234567890"',
  ])('preserves %.60s', (text) => {
    expect(stringifyExact(parseExact(text))).toBe(text);
  });

  it.each(['9007199254740991', '0.1234567890123456789', '1234567890123456.5', '1e300', '[1,"a",null,true]'])(
    'leaves %s to JavaScript',
    (text) => {
      expect(parseExact(text)).toEqual(JSON.parse(text));
    },
  );

  it.each(['12345678901234567890 1', '"12345678901234567890', '[012345678901234567890]', 'NaN'])(
    'refuses %s as JSON.parse does',
    (text) => {
      expect(() => parseExact(text)).toThrow(SyntaxError);
    },
  );

  it('keeps a number of 8 million digits, and one of 8 million decimals', () => {
    const digits = '1'.repeat(8_000_000);
    expect(stringifyExact(parseExact(digits))).toBe(digits);
    expect(parseExact(`0.${digits}`)).toBeCloseTo(1 / 9);
  });

  // Each took a step of its own: 8 MiB of them that are no JSON held the thread for 1 s.
  it('examines few of the long numbers in a text that is not JSON', () => {
    const convert = vi.spyOn(Number, 'isSafeInteger');
    expect(() => parseExact('0'.repeat(100_000), 10)).toThrow(SyntaxError);
    expect(() => parseExact('1e100 '.repeat(1_000), 10)).toThrow(RangeError);
    expect(convert.mock.calls.length).toBeLessThan(200);
    convert.mockRestore();
  });

  it('does not overflow on a long text of many escapes', () => {
    const text = JSON.stringify({ long: '\\"\n'.repeat(2_000_000), id: 1 }).replace('"id":1', '"id":9007199254740993');
    expect(stringifyExact(parseExact(text))).toBe(text);
  });
});

describe('whoever learns the key', () => {
  const [key = ''] = Object.keys(parseExact('1e999') as object);

  it.each(['[', '['.repeat(50_000), '1,"injected":true', '01', 'NaN', '', '1\n', '-', '1e', '0x1'])(
    'cannot write %.20j as a number',
    (forged) => {
      expect(JSON.parse(stringifyExact({ a: { [key]: forged } }))).toEqual({ a: { [key]: forged } });
    },
  );

  it('does not learn it from a text for people', () => {
    expect(withoutMarker(`there is no '${key}'`)).toBe("there is no 'number'");
  });
});

it('converts carried numbers to strings of digits for code that needs plain JSON', () => {
  const value = parseExact('{"id":9007199254740993,"list":[-12345678901234567890,1.5],"text":"9007199254740993"}');
  expect(carriedAsText(value)).toEqual({
    id: '9007199254740993',
    list: ['-12345678901234567890', 1.5],
    text: '9007199254740993',
  });
  const plain = { a: [1, null] };
  expect(carriedAsText(plain)).toBe(plain);
  expect(carriedAsText(undefined)).toBeUndefined();
});
