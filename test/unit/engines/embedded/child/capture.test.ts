import { describe, expect, it } from 'vitest';
import { Capture } from '../../../../../src/edges/engines/embedded/child/capture.ts';

const KEPT_BYTES = 512 * 1024;

function add(capture: Capture, text: string): void {
  capture.writeEnd.write?.(Buffer.from(text));
}

function take(capture: Capture, length: number): string {
  const target = Buffer.alloc(length);
  return target.toString('utf8', 0, capture.readEnd.read?.(target) ?? 0);
}

describe('captured output', () => {
  it('is read as it was written, in pieces of any size', () => {
    const capture = new Capture('stdout');
    add(capture, 'one ');
    add(capture, 'two');
    expect([take(capture, 2), take(capture, 3)]).toEqual(['on', 'e t']);
    add(capture, ' three');
    expect([take(capture, 100), take(capture, 100)]).toEqual(['wo three', '']);
  });

  it('is complete at exactly the limit', () => {
    const capture = new Capture('stdout');
    const text = 'x'.repeat(2 * KEPT_BYTES);
    add(capture, text);
    expect(take(capture, 4 * KEPT_BYTES) === text).toBe(true);
  });

  it('keeps the start and end of a flood, and says how much is missing between them', () => {
    const capture = new Capture('stderr');
    for (let line = 0; line < 200_000; line += 1) {
      add(capture, `line ${String(line).padStart(9)}\n`);
    }
    const [start = '', notice = '', end = ''] = take(capture, 4 * KEPT_BYTES).split(/\n(\[.*\])\n/);
    expect(start).toHaveLength(KEPT_BYTES);
    expect(start.startsWith('line         0\n')).toBe(true);
    expect(end).toHaveLength(KEPT_BYTES);
    expect(end.endsWith('line    199999\n')).toBe(true);
    const dropped = 200_000 * 15 - 2 * KEPT_BYTES;
    expect(notice).toContain(`[${dropped.toLocaleString('en-US')} bytes (`);
    expect(notice).toContain('written to stderr left out here]');
  });

  it('counts the lines of one huge write', () => {
    const capture = new Capture('stdout');
    add(capture, 'ab\n'.repeat(1_000_000));
    const text = take(capture, 4 * KEPT_BYTES);
    const lines = Number(/bytes \(([\d,]+) lines\)/.exec(text)?.[1]?.replaceAll(',', ''));
    const shown = text.split('\n').length - 1 - 2; // The notice adds two line breaks.
    expect(lines + shown).toBe(1_000_000);
  });

  it('returns what has not been read', () => {
    const capture = new Capture('stdout');
    add(capture, 'taken, left');
    take(capture, 7);
    expect(Buffer.from(capture.rest()).toString()).toBe('left');
  });
});
