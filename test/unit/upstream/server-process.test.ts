import { expect, it } from 'vitest';
import { createStderrTail } from '../../../src/edges/upstream/server-process.ts';

it('the end of stderr is the last lines of any amount, without colors and blank lines', () => {
  const tail = createStderrTail();
  expect(tail.lastLines()).toBe('');
  for (let line = 0; line < 100_000; line += 1) {
    tail.push(Buffer.from(`\u001b[31mline ${line}\u001b[0m\r\n\n`));
  }
  const expected = Array.from({ length: 12 }, (_, index) => `line ${99_988 + index}`);
  expect(tail.lastLines().split('\n')).toEqual(expected);
});

it('the end of stderr is cut from a chunk that is too large, and from an endless line', () => {
  const tail = createStderrTail();
  tail.push(Buffer.from(`${'x'.repeat(1_000_000)}\nthe end`));
  expect(tail.lastLines()).toMatch(/^x+\nthe end$/);
  expect(tail.lastLines()).toHaveLength(2_000);
});
