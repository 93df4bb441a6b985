import { expect, it } from 'vitest';
import { skipPlainWords } from '../../../src/protocol/plain-words.ts';

const isPlain = (byte: number): boolean => byte >= 0x20 && byte !== 0x22 && byte !== 0x5c;
const range = (count: number): number[] => Array.from({ length: count }, (_, number) => number);
const PIECE_BYTES = 40;

/** One byte among plain ones, at each place of a word and of memory. */
const CASES = range(4).flatMap((shift) =>
  range(5).flatMap((from) =>
    range(PIECE_BYTES - from).flatMap((after) =>
      range(256).map((byte) => ({ shift, from, place: from + after, byte })),
    ),
  ),
);

it('stops in front of every special byte, wherever it is, and only there', () => {
  const memory = Buffer.alloc(64, 'a');
  const wrong = CASES.filter(({ shift, from, place, byte }) => {
    const piece = memory.subarray(shift, shift + PIECE_BYTES);
    piece[place] = byte;
    const end = skipPlainWords(piece, from);
    piece[place] = 0x61;
    // It may miss the rest of a word at either end.
    const most = isPlain(byte) ? piece.length : place;
    return end > most || end < most - 7;
  });
  expect(wrong).toEqual([]);
});

it('leaves short ends to others', () => {
  for (const text of ['', 'a', 'abc', '"abcdefgh']) {
    expect(skipPlainWords(Buffer.from(text), 0)).toBe(0);
  }
});
