import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DroppedLine, LineReader } from '../../../src/core/protocol/line-reader.ts';

/** Lines and dropped lines of `text`, read in chunks of `chunkBytes`. */
function read(text: string, maxLineBytes: number, chunkBytes: number) {
  const lines: string[] = [];
  const dropped: DroppedLine[] = [];
  const reader = new LineReader(() => maxLineBytes, {
    onLine: (line) => lines.push(line.toString('utf8')),
    onOversize: (line) => dropped.push(line),
  });
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    reader.push(bytes.subarray(start, start + chunkBytes));
  }
  return { lines, dropped };
}

describe('lines', () => {
  it('are complete for any chunks', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), fc.integer({ min: 1, max: 9 }), (texts, chunkBytes) => {
        const lines = texts.map((text) => text.replaceAll('\n', ' '));
        expect(read(lines.map((line) => `${line}\n`).join(''), 1_000, chunkBytes).lines).toEqual(lines);
      }),
    );
  });

  it('may have exactly the maximum length', () => {
    expect(read('abcd\nabcde\nab\n', 4, 3)).toMatchObject({ lines: ['abcd', 'ab'], dropped: [{ bytes: 5 }] });
  });
});

describe('noise', () => {
  const noise = 'x'.repeat(1024 * 1024);
  it('is limited to 1 MiB, a message to the maximum length', () => {
    const message = `{"result":"${noise}"}`;
    const { lines, dropped } = read(`${noise}\n${noise}x\n ${message}\n`, 2 ** 21, 65_536);
    expect(lines.map((line) => line.length)).toEqual([noise.length, message.length + 1]);
    expect(dropped).toEqual([{ bytes: noise.length + 1, id: undefined, isMessage: false, endsAsMessage: false }]);
  });

  it.each([
    ['last', '{"result":{},"jsonrpc":"2.0","id":7}', 7],
    ['first', '{"jsonrpc":"2.0","id":7,"result":{}}', undefined],
  ])('may be followed by an answer, whose id is found if it comes last (%s)', (_where, answer, id) => {
    const { dropped } = read(`${noise}${answer}\n`, 2 ** 21, 65_536);
    expect(dropped).toMatchObject([{ id, isMessage: false, endsAsMessage: true }]);
  });
});

describe('the id of a line that is too long', () => {
  const x = 'x'.repeat(2_000);
  it.each<[string, string, string | number | undefined]>([
    ['first', `{"id":7,"result":"${x}"}`, 7],
    ['after the version', `{ "jsonrpc": "2.0", "id": 7, "result": "${x}"}`, 7],
    ['last', `{"result":"${x}","jsonrpc":"2.0","id":1073741824}`, 1_073_741_824],
    ['before the version', `{"result":"${x}","id":-3,"jsonrpc":"2.0"}\r`, -3],
    ['a string', `{"result":"${x}","jsonrpc":"2.0","id":"a-1"}`, 'a-1'],
    ['in the middle', `{"method":"m","id":7,"params":"${x}"}`, undefined],
    ['of an inner object', `{"result":{"x":"${x}","id":7}}`, undefined],
    ['inside a string', `{"result":"${x},\\"id\\":7}"}`, undefined],
  ])('is found %s', (_where, line, id) => {
    for (const chunkBytes of [1, 100, 255, 256, 257, 1_500]) {
      const { dropped, lines } = read(`{"a":1}\n${line}\n{"b":2}\n`, 1_000, chunkBytes);
      expect(dropped).toEqual([{ bytes: Buffer.byteLength(line), id, isMessage: true, endsAsMessage: true }]);
      expect(lines).toEqual(['{"a":1}', '{"b":2}']);
    }
  });
});
