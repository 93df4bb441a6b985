import { describe, expect, it } from 'vitest';
import { LineSplitter } from '../../../src/core/protocol/line-splitter.ts';

function unexpected(): never {
  throw new Error('not expected here');
}

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
