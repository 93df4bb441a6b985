import { expect, it } from 'vitest';
import { KeptOutput } from '../../../src/features/languages/kept-output.ts';

it('keeps the beginning of a stream and counts the rest', () => {
  const kept = new KeptOutput(5);
  for (const piece of ['abc', 'def', 'ghi']) {
    kept.take(Buffer.from(piece));
  }
  kept.drop(10);
  expect([kept.text(), kept.droppedBytes]).toEqual(['abcde', 14]);
});
