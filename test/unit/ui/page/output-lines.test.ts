/** Lines of output, in bounded memory. */
import { expect, it } from 'vitest';
import { OutputLines } from '../../../../src/record/ui/page/output-lines.ts';

function linesOf(...pieces: string[]): string[] {
  const output = new OutputLines();
  for (const piece of pieces) {
    output.append('stdout', piece);
  }
  return output.lines.map(({ text }) => text);
}

it.each([
  [['a\nb\n'], ['a', 'b']],
  [
    ['a', 'b\nc'],
    ['ab', 'c'],
  ],
  [['\n\n'], ['', '']],
  [['a\r\nb'], ['a', 'b']],
  [
    ['a\r', '\nb'],
    ['a', 'b'],
  ],
  [
    ['secret\rshown', ''],
    ['secret', 'shown'],
  ],
  [[''], []],
])('makes lines of %j', (pieces, lines) => {
  expect(linesOf(...pieces)).toEqual(lines);
});

it('begins a line when the stream changes', () => {
  const output = new OutputLines();
  output.append('stdout', 'a');
  output.append('stderr', 'b');
  output.append('stdout', 'c');
  expect(output.lines.map(({ stream, text }) => `${stream} ${text}`)).toEqual(['stdout a', 'stderr b', 'stdout c']);
});

it('splits a line that is too long for one row, but no character', () => {
  const output = new OutputLines();
  output.append('stdout', `${'x'.repeat(999)}😀${'y'.repeat(1_500)}`);
  expect(output.lines.map(({ text }) => text.length)).toEqual([999, 1_000, 502]);
  expect(output.lines.map(({ isContinued }) => isContinued)).toEqual([false, true, true]);
  output.append('stdout', 'z');
  expect(output.lines).toHaveLength(3);
});

it('drops the oldest lines beyond 50,000, and counts them', () => {
  const output = new OutputLines();
  for (let index = 0; index < 60_000; index += 1) {
    output.append('stdout', `${index}\n`);
  }
  expect(output.lines.length).toBeLessThanOrEqual(50_000);
  expect(output.lines.length + output.droppedLines).toBe(60_000);
  expect(output.lines.at(-1)?.text).toBe('59999');
});

it('drops lines beyond 8 Mi characters', () => {
  const output = new OutputLines();
  for (let index = 0; index < 20; index += 1) {
    output.append('stdout', `${'x'.repeat(1024 * 1024)}\n`);
  }
  expect(output.lines.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(8 * 1024 * 1024);
});
