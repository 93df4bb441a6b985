import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  BYTES_PER_VALUE,
  MAX_JSON_DEPTH,
  MAX_LINE_LONG_NUMBERS,
  MAX_LINE_MEMBERS,
  MAX_LINE_VALUES,
} from '../../../src/base/limits.ts';
import { decodeFrame, encodeFrame, isDeeperThan, LineSplitter } from '../../../src/protocol/codec.ts';

const AnySchema = z.unknown();

function unexpected(): never {
  throw new Error('not expected here');
}

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

describe('LineSplitter', () => {
  it('does not copy a line that came in one piece', () => {
    const chunk = Buffer.from('abc\n');
    const lines: Buffer[] = [];
    new LineSplitter(10, (line) => lines.push(line), unexpected).push(chunk);
    expect(lines[0]?.buffer).toBe(chunk.buffer);
  });

  // With one buffer each, two million single bytes took 900 MB.
  it('copies small pieces together', () => {
    const lines: string[] = [];
    const splitter = new LineSplitter(10_000, (line) => lines.push(line.toString()), unexpected);
    const read = Buffer.alloc(3);
    for (const piece of ['abc', 'def', '\n..']) {
      read.write(piece);
      splitter.push(read);
    }
    expect(lines).toEqual(['abcdef']);
  });

  it('stores nothing of a line that is too long', () => {
    const splitter = new LineSplitter(10, unexpected, unexpected);
    splitter.push(Buffer.alloc(8, 'x'));
    expect(splitter.pendingBytes).toBe(8);
    splitter.push(Buffer.alloc(8, 'x'));
    expect(splitter.pendingBytes).toBe(0);
    splitter.push(Buffer.alloc(8, 'x'));
    expect(splitter.pendingBytes).toBe(0);
  });

  it.each([1, 2, 3, 5, 100])('passes on bytes that follow a line, read %i at a time', (size) => {
    const seen: string[] = [];
    const splitter = new LineSplitter(
      10,
      (line) => {
        seen.push(`line ${line.toString()}`);
        if (/^\d/.test(line.toString())) {
          splitter.takeBytes(Number(line.toString()), (bytes) => seen.push(`bytes ${bytes.toString()}`));
        }
      },
      unexpected,
    );
    const all = Buffer.from('a\n12\n\n7\nlonger..\n\n0\n\nb\n');
    for (let start = 0; start < all.length; start += size) {
      splitter.push(all.subarray(start, start + size));
    }
    expect(seen).toEqual(['line a', 'line 12', 'bytes \n7\nlonger..\n', 'line 0', 'bytes ', 'line b']);
  });
});

describe('isDeeperThan', () => {
  it.each([
    [1, 0, false],
    [[], 0, true],
    [[], 1, false],
    [{ a: [] }, 1, true],
    [{ a: [] }, 2, false],
    [null, 0, false],
  ])('%j deeper than %i: %s', (value, limit, expected) => {
    expect(isDeeperThan(value, limit)).toBe(expected);
  });
});

function members(count: number): string {
  return Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',');
}
