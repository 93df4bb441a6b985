import { describe, expect, it } from 'vitest';
import { createOutputBuffer } from '../../../src/core/session/output.ts';

describe('output buffer', () => {
  it('keeps short text unchanged', () => {
    const buffer = createOutputBuffer(10);
    buffer.add('abc\n');
    buffer.add('def');
    expect(buffer.take()).toEqual({ head: 'abc\ndef', droppedBytes: 0, droppedLines: 0, tail: '' });
  });

  it('keeps exactly twice the budget, and cuts one character more', () => {
    const whole = createOutputBuffer(4);
    whole.add('12345678');
    expect(whole.take()).toMatchObject({ head: '12345678', droppedBytes: 0 });
    const cut = createOutputBuffer(4);
    cut.add('1234é6789');
    expect(cut.take()).toEqual({ head: '1234', droppedBytes: 2, droppedLines: 0, tail: '6789' });
  });

  it('counts the bytes and lines that it drops, and those that the sandbox dropped', () => {
    const buffer = createOutputBuffer(4);
    buffer.add('head');
    buffer.add('\n\n\nlost');
    buffer.add('tail', 1_000, 7);
    expect(buffer.take()).toEqual({ head: 'head', droppedBytes: 1_007, droppedLines: 10, tail: 'tail' });
  });

  it('uses little memory for a flood', () => {
    const buffer = createOutputBuffer(100);
    for (let line = 0; line < 10_000; line += 1) {
      buffer.add('123456789\n');
    }
    const { head, tail, droppedBytes, droppedLines } = buffer.take();
    expect([head.length, tail.length, droppedBytes, droppedLines]).toEqual([100, 100, 99_800, 9_980]);
  });

  // The sum was no exact integer, so the reader of the audit log refused the record of the cell.
  it('stays countable, whatever the sandbox claims to have dropped', () => {
    const buffer = createOutputBuffer(10);
    for (let frame = 0; frame < 3; frame += 1) {
      buffer.add('x', Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    }
    const { droppedBytes, droppedLines } = buffer.take();
    expect([droppedBytes + 1, droppedLines + 1].every(Number.isSafeInteger)).toBe(true);
  });
});
