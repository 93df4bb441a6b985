import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { buildPayload } from '../../../src/core/render/payload.ts';
import { asShown } from '../../../src/core/render/terminal-text.ts';

const RECORDED = join(import.meta.dirname, '../../fixtures/terminal-output');

test.each([
  ['no return at all\nnone', 'no return at all\nnone'],
  ['10%\r20%\r30%', '30%'],
  ['10%\r20%\r', '20%'],
  ['abcdef\rxy', 'xycdef'],
  ['one\r\ntwo\r\n', 'one\r\ntwo\r\n'],
  ['a\nbar 1\rbar 2\nc', 'a\nbar 2\nc'],
  ['\r\r\rx', 'x'],
  ['', ''],
  ['bar 1\r     \rdone', 'done'],
  ['bar 1\r     \r', ''],
  ['ab\b\bx', 'xb'],
  ['\u001b[1;31mred\u001b[0m \u001b[38;5;9mtoo\u001b[m', 'red too'],
  ['\u001b]8;;https://a.b\u001b\\link\u001b]8;;\u001b\\ \u001b]0;title\u0007x', 'link x'],
  ['\u001bPq#0;2;0~~\u001b\\after a picture', 'after a picture'],
  ['one\ntwo\u001b[1A\r\u001b[2KONE\n\u001b[2Kthree', 'ONE\nthree'],
  ['one\ntwo\nthree\u001b[2F\u001b[Jfour', 'four'],
  ['long line\r\u001b[Kshort', 'short'],
  ['kept\n\u001b[H\u001b[2J\u001b[3Jcleared', 'kept\ncleared'],
  ['\u001b[?25lhidden\u001b[?25h', 'hidden'],
  ['a\u001b[3Cb\u001b[2Gc', 'ac  b'],
  ['\u001b[999999999Cx', `${' '.repeat(80)}x`],
  ['x\u001b[999999999A\u001b[999999999Dy', 'y'],
  ['cut off \u001b[38;5', 'cut off '],
  ['cut off \u001b', 'cut off '],
  ['cut off \u001b]0;title', 'cut off '],
  ['👍 10%\r👍 99%', '👍 99%'],
])('shows %j as %j, as a terminal does', (written, shown) => {
  expect(asShown(written)).toBe(shown);
});

// Written by tqdm 4.70.1 and rich 15.0.0. A terminal emulator, pyte 0.8, shows the same.
describe('the last state of real progress bars', () => {
  test.each([
    ['tqdm-nested', /^inner: 100%\|█+\| 4\/4 \[.*\]\nouter: 100%\|█+\| 3\/3 \[.*\]\n$/],
    ['tqdm-colour', /^100%\|█+\| 5\/5 \[.*\]\n$/],
    ['tqdm-write', /^100%\|█+\| 5\/5 \[.*\]\n$/],
    ['rich-progress', /^hello x\nA ━+ 100% 0:00:00\nB ━+ 100% 0:00:00\nafter\n$/],
    ['rich-live', /^┏━━━┓\n┃ n ┃\n┡━━━┩\n│ 0 │\n│ 1 │\n└───┘\n$/],
  ])('%s', (name, shown) => {
    const written = readFileSync(join(RECORDED, `${name}.txt`), 'utf8');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about.
    expect(written).toMatch(/[\r\u001b]/);
    expect(asShown(written)).toMatch(shown);
  });
});

/** Text, and what the terminal emulator pyte 0.8 shows of it without blanks at the ends of lines. */
const EMULATED: readonly (readonly [string, string])[] = [
  [
    'abc\u001b[A\u001b[?25l\u001b[J\u001b[B\u001b[Jx\u001b]8;;u\u001b\\\n  \u001b[Bhello w\u001b[?25l\u001b[31mhello whello wx\u001b[?25l\u001b[F\r\u001b[2C  \n\u001b[0m\n\u001b[?25l\u001b[31mabcabc\u001b[2C\u001b[2Chello w\u001b[31m',
    'abc\n   x\n\n  hello whello whello wx\nabcabc    hello w',
  ],
  [
    '\u001b[2C\u001b[J\n\r\u001b[31m\u001b[Jhello wabc\u001b[F\u001b[1K\u001b[1K\u001b[2C\u001b[0m\n\n\u001b[1K\u001b[J\u001b]8;;u\u001b\\ \u001b[31m\u001b[B\b\u001b[K\u001b[2Chello wabcabc  \u001b[Aabc\n\u001b[D',
    '\nhello wabc\n                 abc\n  hello wabcabc',
  ],
  [
    '\u001b[1K\u001b[F\n  █▌hello w  \u001b[2K\u001b[?25l  \u001b[D\u001b[Ahello w\u001b[Jhello w \u001b[Dhello w\bx\u001b[B\u001b[31m\u001b[Bhello w\u001b[2A  \u001b[A\u001b[2C\u001b[Fabc\u001b[K\u001b]8;;u\u001b\\\u001b]8;;u\u001b\\\b\r\u001b[?25l  ',
    '  c\n\n                                   hello w',
  ],
  [
    '█▌\r\u001b[B\u001b[J\u001b[B\r\u001b[A\u001b[1K\u001b[2C\u001b[F\u001b[B\u001b[1K█▌\u001b[2A\u001b[2Chello w\u001b[0m\u001b[F█▌\u001b[5G\r\u001b[2A\u001b[2Khello w\u001b[F\nhello w\u001b[B\u001b]8;;u\u001b\\\u001b[Ahello w\u001b[0m\u001b[B\u001b[2Kx\u001b[D\nhello w\u001b[?25l',
    'hello w\nhello whello w\n              x\nhello w',
  ],
  [
    '\u001b[1K\b  \u001b[5G\u001b[Khello w\u001b[2Chello w\u001b[31m\u001b[1K \u001b[A\u001b[31mabc\b\r\n\r\u001b[B\r\u001b[Kabc \u001b[A\u001b[5G\r\u001b[1Kabchello w\u001b[Jhello w\u001b[2K\u001b[2Kx\u001b[5G \r\u001b]8;;u\u001b\\\r',
    '                     abc\n                 x',
  ],
  [
    '\u001b[Jx\nhello w\u001b[5G \n\u001b]8;;u\u001b\\\u001b[2Chello w\u001b[B\u001b[2K\u001b[?25l\u001b[0m\u001b[K\u001b[0m\u001b[B\nx\u001b[2K\u001b[2Khello w\n\u001b[B\r\u001b[5Ghello w\u001b[F\r\u001b[31m\u001b[31m \u001b[5G\u001b[B\u001b[?25l',
    'x\nhell  w\n  hello w\n\n\n hello w\n\n    hello w',
  ],
  [
    '\n\r\u001b[?25l\u001b[0m\u001b[5G\u001b[31m\u001b[Ax\u001b[?25l\u001b[A\u001b[?25l\u001b[J\n  \u001b]8;;u\u001b\\\u001b[Ahello w\u001b[A\u001b[1K\b\u001b[K\u001b[D\u001b[2Aabc█▌\u001b[31m\u001b[B\u001b[2Cx\u001b[31m\u001b[0m\u001b[D\u001b[0mhello w\nhello w\r\b\r',
    '       abc█▌\n              hello w\nhello w',
  ],
  [
    '\u001b[B\u001b[B\nabc\u001b[Bhello w\u001b[B█▌\u001b[2K\u001b[5G\u001b]8;;u\u001b\\\u001b[A\b\n\u001b]8;;u\u001b\\x\u001b[?25l\u001b[1K\u001b[2Chello w\u001b]8;;u\u001b\\\u001b[B\u001b[1K\babc\n\u001b[1K',
    '\n\n\nabc\n   hello w\n   hello w\n         abc',
  ],
  [
    '\u001b[F\u001b[2A \u001b[31mx\u001b[D\n\u001b[2K\u001b[A\u001b[2A \u001b[31m\n\u001b[1K\u001b[5Ghello w\u001b[A\r\u001b[B\u001b[Jhello w\u001b[2A\u001b[Fhello w\u001b[31mhello w\u001b[0m\u001b[Bhello w \u001b[?25l abc\u001b[?25l',
    'hello whello w\nhello w       hello w  abc',
  ],
  [
    '\u001b[5G█▌  \u001b[1K\r\u001b[31m\u001b]8;;u\u001b\\hello w\nx\n\n\u001b[0m\u001b[2C\u001b[31m\u001b[Bhello w\u001b[D\u001b[D█▌abc\u001b[B\u001b[2Kabc\r\u001b[1K\r \u001b[D\u001b[2A\u001b[5G',
    'hello w\nx\n\n\n  hello█▌abc\n            abc',
  ],
  [
    '\u001b]8;;u\u001b\\\u001b[1K\u001b[D\u001b[2A\u001b]8;;u\u001b\\\u001b[0m\u001b[2K\u001b[F\u001b[2C\u001b[5G\u001b[1K\u001b[?25l\u001b[2C\u001b[0m\n  \u001b[F\u001b[1K\n\u001b[2C\u001b[Bhello w\u001b[K\u001b]8;;u\u001b\\\u001b[2C\u001b[2Chello w\u001b[31m\u001b[31m\u001b[F\u001b[5Ghello whello w\u001b[0m\u001b[2C\n',
    '\n    hello whello w\n  hello w    hello w',
  ],
  [
    ' \u001b[B\rhello w\u001b[J\u001b[?25l\n\u001b[1K\u001b[5G\u001b[31mhello w\u001b[B\bhello w\u001b[2C\u001b[F\u001b[31m\u001b[0m\u001b]8;;u\u001b\\\u001b[A\u001b[5G\r\n\r\u001b[31m',
    '\nhello w\n    hello w\n          hello w',
  ],
];

test.each(EMULATED)('%j is shown as by an emulator', (written, shown) => {
  const lines = asShown(written).replaceAll('\r\n', '\n').split('\n');
  expect(
    lines
      .map((line) => line.trimEnd())
      .join('\n')
      .replace(/\n+$/, ''),
  ).toBe(shown);
});

test('nothing that a terminal acts on is left of any text, and other text stays', () => {
  const part = fc.constantFrom(
    '\u001b',
    '[',
    '\u009b',
    '3',
    ';',
    'A',
    'K',
    'J',
    'm',
    ']',
    '\u0007',
    '\\',
    'é',
    '👍',
    '\n',
    '\r',
    '\b',
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
      const text = parts.join('');
      const shown = asShown(text);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about.
      expect(shown).not.toMatch(/[\u001b\u009b\b]|\r(?!\n)/);
      expect(asShown(shown)).toBe(shown);
      const plain = text.replaceAll(/[\u001b\u009b\r\b]/g, '');
      expect(asShown(plain)).toBe(plain);
    }),
  );
});

// Each took minutes if every change copied its line, during which the bridge did nothing else.
test.each([
  ['a line that is redrawn a million times', `${'x'.repeat(4_000_000)}${'\ra'.repeat(1_000_000)}`, 4_000_000],
  ['its end erased at each step', `${'x'.repeat(500_000)}${'\b\u001b[Kx'.repeat(200_000)}`, 500_000],
  [
    'many lines, and as many movements',
    `${'x\n'.repeat(200_000)}${'\u001b[200000A\u001b[200000B'.repeat(50_000)}`,
    400_000,
  ],
  ['strings without an end', '\u001b]'.repeat(300_000), 0],
  ['far movements', '\u001b[99C.'.repeat(50_000), 50_000 * 81],
])('is fast for %s', (_, written, length) => {
  expect(asShown(written)).toHaveLength(length);
});

test('what is left out does not count as output, and pieces on both sides of a gap are shown alike', () => {
  const bar = Array.from({ length: 5_000 }, (__, index) => `\r\u001b[32m${index} of 5000\u001b[0m`).join('');
  const none = { head: '', droppedBytes: 0, droppedLines: 0, tail: '' };
  const answer = {
    cell: 1,
    status: 'success',
    stdout: { ...none, head: bar },
    stderr: { head: bar, droppedBytes: 10, droppedLines: 0, tail: bar },
    value: 'v'.repeat(800),
    notices: [],
    servers: [],
    timeoutSeconds: 30,
    session: 'default',
  } as unknown as Parameters<typeof buildPayload>[0];
  const payload = buildPayload(answer, 1_000);
  expect(payload.stdout).toEqual(['4999 of 5000']);
  expect(payload.stderr?.[0]).toBe('4999 of 5000');
  expect(payload.stderr?.at(-1)).toBe('4999 of 5000');
  expect(payload.result).toBe('v'.repeat(800));
});
