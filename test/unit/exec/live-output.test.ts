import { describe, expect, it } from 'vitest';
import { LiveOutput } from '../../../src/app/exec/live-output.ts';

const text = (head: string) => ({ head, droppedBytes: 0, droppedLines: 0, tail: '' });

function written(parts: readonly string[], isShown: boolean) {
  const seen: string[] = [];
  const live = new LiveOutput((part) => seen.push(part), isShown);
  parts.forEach((part) => live.add(part, 0));
  return { seen, rest: live.rest(text(parts.join(''))) };
}

describe('output that is written as it arrives', () => {
  it('is the same in a pipe, byte for byte', () => {
    const parts = ['a', '\u001B[2Jb\r', '\r\nc'];
    expect(written(parts, false)).toEqual({ seen: parts, rest: '' });
  });

  it('shows lines at a terminal, and lines that redraw themselves when they are complete', () => {
    expect(written(['.', '.', '\n'], true)).toEqual({ seen: ['.', '.', '\n'], rest: '' });
    expect(written(['a\n\r10 %', '\r90 %', '\nb\n'], true)).toEqual({ seen: ['a\n', '90 %\nb\n'], rest: '' });
    expect(written(['a\n10 %\r', '90 %'], true)).toEqual({ seen: ['a\n'], rest: '90 %' });
    expect(written(['10', ' %\r90 %\n'], true)).toEqual({ seen: ['10', '\n90 %\n'], rest: '' });
    expect(written(['a\r\n'], true).seen).toEqual(['a\r\n']);
  });

  it('waits for the end if it moves to other lines', () => {
    expect(written(['a\n', 'b\n\u001B[1Ac\n', 'd\n'], true)).toEqual({ seen: ['a\n'], rest: 'c\nd\n' });
  });

  it('says what is missing in the middle', () => {
    const seen: string[] = [];
    const live = new LiveOutput((part) => seen.push(part), false);
    live.add('start', 0);
    live.add('end', 7);
    const rest = live.rest({ head: 'start', droppedBytes: 7, droppedLines: 1, tail: 'end' });
    expect([seen, rest]).toEqual([['start'], expect.stringMatching(/^\n.*7 bytes.*\nend$/)]);
  });

  it('is written whole if it is not what was written', () => {
    const live = new LiveOutput(() => undefined, false);
    live.add('first try', 0);
    expect(live.rest(text('second'))).toBe('second');
  });
});
