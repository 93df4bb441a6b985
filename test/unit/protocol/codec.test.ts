import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  BYTES_PER_VALUE,
  MAX_JSON_DEPTH,
  MAX_LINE_LONG_NUMBERS,
  MAX_LINE_MEMBERS,
  MAX_LINE_VALUES,
} from '../../../src/core/base/limits.ts';
import { decodeFrame, encodeFrame } from '../../../src/core/protocol/codec.ts';

const AnySchema = z.unknown();

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) {
    value = level % 2 === 0 ? [value] : { value };
  }
  return value;
}

describe('encodeFrame', () => {
  it('leaves out undefined members', () => {
    expect(encodeFrame({ type: 'answer', call: 1, ok: true, value: undefined })).toBe(
      '{"type":"answer","call":1,"ok":true}\n',
    );
  });

  it('escapes lone surrogates, so that the line is valid UTF-8', () => {
    expect(encodeFrame({ text: '\ud83d' })).toBe('{"text":"\\ud83d"}\n');
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('refuses %s at any depth', (number) => {
    expect(() => encodeFrame({ value: [{ number }] })).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
  });

  it('writes null for null', () => {
    expect(encodeFrame({ value: [null] })).toBe('{"value":[null]}\n');
  });
});

describe('decodeFrame', () => {
  it('returns the reason and the first 200 characters of an invalid line', () => {
    expect(decodeFrame(AnySchema, Buffer.from('x'.repeat(1000)))).toEqual({
      ok: false,
      reason: 'not JSON',
      preview: 'x'.repeat(200),
    });
  });

  // Zod's message repeats the names of unknown members: megabytes of them used to reach the log.
  it('returns a short reason for a frame with long names', () => {
    const line = Buffer.from(JSON.stringify({ ['k'.repeat(100_000)]: 1 }));
    const decoded = decodeFrame(z.strictObject({}), line);
    expect(decoded.ok ? '' : decoded.reason).toMatch(/^not a known frame: .{100,181}$/);
  });

  it('names the invalid member', () => {
    const schema = z.strictObject({ cell: z.int() });
    const decoded = decodeFrame(schema, Buffer.from('{"cell":"1"}'));
    expect(decoded).toMatchObject({ ok: false, reason: expect.stringContaining('cell') });
  });

  it.each([
    ['plain text', JSON.stringify('x'.repeat(100)), 102],
    ['text with one wide character', JSON.stringify(`${'x'.repeat(99)}€`), 204],
    ['the same, escaped', `"${'x'.repeat(94)}\\u20ac"`, 204],
  ])('counts %s as V8 stores it', (_, line, expected) => {
    const decoded = decodeFrame(AnySchema, Buffer.from(line));
    const counted = decoded.ok ? decoded.bytes : 0;
    expect(counted % BYTES_PER_VALUE).toBe(expected % BYTES_PER_VALUE);
    expect(counted).toBeGreaterThanOrEqual(expected);
  });

  it('accepts JSON of the maximum depth, and refuses one level more', () => {
    const bytes = (levels: number) => Buffer.from(JSON.stringify(nested(levels)));
    expect(decodeFrame(AnySchema, bytes(MAX_JSON_DEPTH))).toMatchObject({ ok: true });
    expect(decodeFrame(AnySchema, bytes(MAX_JSON_DEPTH + 1))).toMatchObject({ ok: false });
  });

  it.each([
    ['values', `[${'1,'.repeat(MAX_LINE_VALUES - 1)}1]`, '[1,'],
    ['members', `{${members(MAX_LINE_MEMBERS)}}`, `{"b":1,`],
    ['long numbers', `[1${`,${2n ** 64n}`.repeat(MAX_LINE_LONG_NUMBERS)}]`, `[${2n ** 64n},`],
  ])('accepts the maximum number of %s, and reports one more as too much', (_, most, oneMore) => {
    expect(decodeFrame(AnySchema, Buffer.from(most))).toMatchObject({ ok: true });
    const tooMany = Buffer.from(oneMore + most.slice(1));
    expect(decodeFrame(AnySchema, tooMany)).toMatchObject({ ok: false, isTooMuch: true });
  });

  it('does not overflow on 100,000 levels', () => {
    const line = Buffer.from('['.repeat(100_000) + ']'.repeat(100_000));
    expect(decodeFrame(AnySchema, line)).toMatchObject({ ok: false, reason: expect.stringContaining('nested deeper') });
  });

  it('does not let a `__proto__` key reach the prototype', () => {
    const decoded = decodeFrame(z.record(z.string(), z.unknown()), Buffer.from('{"__proto__":{"polluted":true}}'));
    expect(decoded.ok).toBe(true);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

function members(count: number): string {
  return Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',');
}
