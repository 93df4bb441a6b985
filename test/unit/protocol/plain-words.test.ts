import { expect, it } from 'vitest';
import { skipPlainWords } from '../../../src/core/protocol/plain-words.ts';

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

/** Whether the end is right if `byte` is the only one that is not `a`. It may miss the rest of a word at either end. */
function isRight(piece: Buffer, from: number, place: number, byte: number): boolean {
  piece[place] = byte;
  const end = skipPlainWords(piece, from);
  piece[place] = 0x61;
  const most = isPlain(byte) ? piece.length : place;
  return end <= most && end >= most - 7;
}

it('stops in front of every special byte, wherever it is, and only there', () => {
  const memory = Buffer.alloc(64, 'a');
  const wrong = CASES.filter(
    ({ shift, from, place, byte }) => !isRight(memory.subarray(shift, shift + PIECE_BYTES), from, place, byte),
  );
  expect(wrong).toEqual([]);
});

it('stops there in long texts, too', () => {
  const memory = Buffer.alloc(20_003, 'a');
  const places = [500, 511, 512, 513, 516, 8_000, 8_703, 8_704, 8_705, 16_895, 16_896, 16_899, 19_990];
  const wrong = range(4).flatMap((shift) =>
    range(5).flatMap((from) =>
      places.flatMap((place) =>
        [0x00, 0x1f, 0x22, 0x5c, 0x20, 0xff].filter(
          (byte) => !isRight(memory.subarray(shift, shift + 20_000), from, place, byte),
        ),
      ),
    ),
  );
  expect(wrong).toEqual([]);
});

it('leaves short ends to others', () => {
  for (const text of ['', 'a', 'abc', '"abcdefgh']) {
    expect(skipPlainWords(Buffer.from(text), 0)).toBe(0);
  }
  // Nothing follows in memory.
  for (const bytes of [1, 2, 3, 5, 517]) {
    const piece = Buffer.alloc(bytes, 'a');
    expect(skipPlainWords(piece.subarray(1), 0)).toBeGreaterThanOrEqual(Math.max(0, bytes - 5));
  }
});
