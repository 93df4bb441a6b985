import { expect, it } from 'vitest';
import { skipPlainWords } from '../../../src/protocol/plain-words.ts';

const isPlain = (byte: number): boolean => byte >= 0x20 && byte !== 0x22 && byte !== 0x5c;

it('stops in front of every special byte, wherever it is, and only there', () => {
  const large = Buffer.alloc(64, 'a');
  const wrong: object[] = [];
  for (let shift = 0; shift < 4; shift += 1) {
    for (let from = 0; from < 5; from += 1) {
      const piece = large.subarray(shift, shift + 40);
      for (let place = from; place < piece.length; place += 1) {
        for (let byte = 0; byte < 256; byte += 1) {
          piece[place] = byte;
          const end = skipPlainWords(piece, from);
          // It may miss the rest of a word at either end.
          const least = (isPlain(byte) ? piece.length : place) - 7;
          if (end < least || (!isPlain(byte) && end > place)) {
            wrong.push({ shift, from, place, byte, end });
          }
        }
        piece[place] = 0x61;
      }
    }
  }
  expect(wrong).toEqual([]);
});

it('leaves short ends to others', () => {
  for (const text of ['', 'a', 'abc', '"abcdefgh']) {
    expect(skipPlainWords(Buffer.from(text), 0)).toBe(0);
  }
});
