import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_SHOWN_CHARS, MAX_VALUE_CHARS } from '../../../src/core/base/limits.ts';
import { renderAnswer } from '../../../src/core/render/render.ts';
import { cutMiddle, describeGap, shareOut } from '../../../src/core/render/truncate.ts';
import { answerOf, text } from './answer-of.ts';

const nothing = { bytes: 0, lines: 0 };

describe('cutMiddle', () => {
  test('leaves text of exactly the limit alone', () => {
    expect(cutMiddle('0123456789', '', nothing, 10)).toEqual({ first: '0123456789', last: '' });
  });

  test('cuts at line ends', () => {
    expect(cutMiddle('aaa\nbbb\nccc\nddd\neee\n', '', nothing, 14)).toEqual({
      first: 'aaa\n',
      gap: { bytes: 12, lines: 3 },
      last: 'eee\n',
    });
  });

  test('cuts inside a line that is longer than the limit', () => {
    expect(cutMiddle('0123456789abcdef', '', nothing, 8)).toEqual({
      first: '0123',
      gap: { bytes: 8, lines: 0 },
      last: 'cdef',
    });
  });

  test('adds what the sandbox dropped to what it cuts', () => {
    expect(cutMiddle('aaa\nbbb\nccc\n', 'xxx\nyyy\nzzz\n', { bytes: 1000, lines: 50 }, 10)).toEqual({
      first: 'aaa\n',
      gap: { bytes: 1016, lines: 54 },
      last: 'zzz\n',
    });
  });

  test('gives the start the space that a short tail does not need', () => {
    const { first, gap, last } = cutMiddle('0123456789', 'z', { bytes: 5, lines: 0 }, 8);
    expect({ first, gap, last }).toEqual({ first: '0123456', gap: { bytes: 8, lines: 0 }, last: 'z' });
  });

  test('counts everything it cuts, respects the limit and splits no surrogate pair, for any text', () => {
    const character = fc.constantFrom('a', '\n', 'ä', '€', '😀', '\r');
    const anyText = fc.array(character, { maxLength: 80 }).map((characters) => characters.join(''));
    fc.assert(
      fc.property(anyText, anyText, fc.nat(5), fc.integer({ min: 2, max: 60 }), (head, tail, dropped, maxChars) => {
        const { first, gap, last } = cutMiddle(head, tail, { bytes: dropped, lines: 0 }, maxChars);
        expect(first.length + last.length).toBeLessThanOrEqual(maxChars);
        expect(first.isWellFormed() && last.isWellFormed()).toBe(true);
        expect((head + tail).startsWith(first) && (head + tail).endsWith(last)).toBe(true);
        const bytes = Buffer.byteLength(first) + Buffer.byteLength(last) + (gap?.bytes ?? 0);
        expect(bytes).toBe(Buffer.byteLength(head + tail) + dropped);
        const lineEnds = (part: string): number => part.split('\n').length - 1;
        expect(lineEnds(first) + lineEnds(last) + (gap?.lines ?? 0)).toBe(lineEnds(head + tail));
      }),
    );
  });
});

test.each([
  [{ bytes: 1_234_567, lines: 12_345 }, '[1,234,567 bytes (12,345 lines) omitted here.]'],
  [{ bytes: 10, lines: 1 }, '[10 bytes (1 line) omitted here.]'],
  [{ bytes: 10, lines: 0 }, '[10 bytes omitted here.]'],
  [{ bytes: 1, lines: 0 }, '[1 byte omitted here.]'],
])('describes the gap %j', (gap, sentence) => {
  expect(describeGap(gap)).toBe(sentence);
});

test.each([
  [100, [10, 20, 30], [10, 20, 30]],
  [100, [10, 500, 500], [10, 45, 45]],
  [100, [0, 500, 0], [0, 100, 0]],
  [0, [5, 5], [0, 0]],
])('shares %i among texts of %j', (total, needs, shares) => {
  expect(shareOut(total, needs)).toEqual(shares);
});

describe('an answer', () => {
  test('shows the start and the end of a long stream, and says what is missing between them', async () => {
    const lines = Array.from({ length: 100_000 }, (_, index) => `line ${index}`);
    const { structuredContent, content } = await renderAnswer(
      answerOf({ stdout: text(`${lines.join('\n')}\n`) }),
      'compact',
    );
    const shown = structuredContent.stdout as string[];
    expect(shown[0]).toBe('line 0');
    expect(shown.at(-1)).toBe('line 99999');
    const at = shown.findIndex((line) => line.startsWith('['));
    const missing = lines.length - (shown.length - 1);
    expect(shown[at]).toContain(`(${missing.toLocaleString('en')} lines) omitted here.]`);
    expect(content[0].text).toBe(shown.join('\n'));
    expect(content[0].text.length).toBeLessThan(MAX_SHOWN_CHARS + 100);
  });

  test('says how to get what is missing, if a cell ran', async () => {
    const long = text('line\n'.repeat(10_000));
    const answer = answerOf({ cell: 7, stdout: long, stderr: long, value: 'x'.repeat(50_000) });
    const { structuredContent } = await renderAnswer(answer, 'compact', 1_000);
    const gaps = JSON.stringify(structuredContent).match(/omitted here; [^\]]*\]/g);
    expect(gaps).toEqual([
      'omitted here; runtime.output(7) has all of it.]',
      String.raw`omitted here; runtime.output(7, \"stderr\") has all of it.]`,
      'omitted here; _ has all of it.]',
    ]);
  });

  test('says what the sandbox dropped', async () => {
    const stdout = { head: 'first\n', droppedBytes: 500, droppedLines: 20, tail: 'last\n' };
    const { content } = await renderAnswer(answerOf({ stdout }), 'compact');
    expect(content[0].text).toBe('first\n[500 bytes (20 lines) omitted here.]\nlast');
  });

  test('cuts values and errors too', async () => {
    const long = 'x'.repeat(MAX_SHOWN_CHARS * 3);
    const { structuredContent } = await renderAnswer(
      answerOf({ status: 'error', value: long, error: { message: long } }),
      'compact',
    );
    expect(structuredContent.result).toContain('bytes omitted here.]');
    expect(structuredContent.error).toContain('bytes omitted here.]');
  });

  test('counts what the sandbox has cut from values and errors already', async () => {
    const half = MAX_VALUE_CHARS / 2;
    const total = 1_000_000;
    const begin = 'x\n'.repeat(half / 2);
    const cut = `${begin}\n[${(total - MAX_VALUE_CHARS).toLocaleString('en')} bytes (7 lines) omitted here.]\n${'z'.repeat(half)}`;
    const error = { message: 'no', exception: 'ValueError', traceback: cut };
    const answer = answerOf({ status: 'error', value: cut, error });
    const { structuredContent } = await renderAnswer(answer, 'compact');
    for (const shown of [structuredContent.result, structuredContent.error] as string[]) {
      const [first = '', gap = '', last = ''] = shown.split(/^(\[.*omitted here\.\])$/m);
      const [, bytes = '', lines = ''] = /^\[([\d,]+) bytes \(([\d,]+) lines\)/.exec(gap) ?? [];
      const kept = first.length + last.trim().length;
      expect(Number(bytes.replaceAll(',', ''))).toBe(total - kept);
      expect(Number(lines.replaceAll(',', ''))).toBe(half / 2 - first.trimEnd().split('\n').length + 7);
    }
  });

  test('does not take the words of code for a cut of the sandbox', async () => {
    const value = `${'x'.repeat(30_000)}\n[9,000,000 bytes omitted here.]\n${'z'.repeat(30_000)}`;
    const { structuredContent } = await renderAnswer(answerOf({ value }), 'compact');
    expect(structuredContent.result).toMatch(/\n\[20,033 bytes \(2 lines\) omitted here\.\]\n/);
  });

  test('limits all parts together, and gives the space that short ones leave to long ones', async () => {
    const long = 'x'.repeat(50_000);
    const whole = answerOf({
      status: 'error',
      stdout: text('short\n'),
      stderr: text(long),
      value: long,
      error: { message: 'E: short' },
    });
    const { content, structuredContent } = await renderAnswer(whole, 'compact', 10_000);
    expect(content[0].text.length).toBeGreaterThan(9_900);
    expect(content[0].text.length).toBeLessThan(10_300);
    expect(structuredContent).toMatchObject({ stdout: ['short'], error: 'E: short' });
  });

  test('splits no emoji in a long row of them', async () => {
    const { structuredContent } = await renderAnswer(
      answerOf({ stdout: text('😀'.repeat(MAX_SHOWN_CHARS)) }),
      'compact',
    );
    expect((structuredContent.stdout as string[]).join('').isWellFormed()).toBe(true);
    expect((structuredContent.stdout as string[]).join('')).not.toContain('\ufffd');
  });
});
