import { describe, expect, it } from 'vitest';
import { encodeFrame } from '../../../../../src/core/protocol/codec.ts';
import { createLineWatch, INTERRUPT_LINE } from '../../../../../src/edges/engines/embedded/child/input-reader.ts';

describe('watching for a line', () => {
  it('finds it alone and among others', () => {
    const watch = createLineWatch(INTERRUPT_LINE);
    expect(watch(Buffer.from('{"type":"execute","cell":1}\n'))).toBe(false);
    expect(watch(Buffer.from('{"type":"answer"}\n{"type":"interrupt","cell":1}\n{"type":"answer"}\n'))).toBe(true);
    expect(watch(Buffer.from('{"type":"answer"}\n'))).toBe(false);
  });

  it('finds it once, however it is split into chunks', () => {
    const text = Buffer.from('{"a":1}\n{"type":"interrupt","cell":1}\n');
    for (let cut = 1; cut < text.length; cut += 1) {
      const watch = createLineWatch(INTERRUPT_LINE);
      const seen = [watch(text.subarray(0, cut)), watch(text.subarray(cut))];
      expect(seen.filter(Boolean)).toHaveLength(1);
    }
  });

  it('ignores the same text inside a line', () => {
    const watch = createLineWatch(INTERRUPT_LINE);
    expect(watch(Buffer.from('{"type":"execute","code":"{\\"type\\":\\"interrupt\\""}\n'))).toBe(false);
    expect(watch(Buffer.from('x{"type":"interrupt"'))).toBe(false);
  });

  it('matches what the codec writes', () => {
    const watch = createLineWatch(INTERRUPT_LINE);
    expect(watch(Buffer.from(encodeFrame({ type: 'interrupt', cell: 3, reason: 'deadline', sent_before: 0 })))).toBe(
      true,
    );
  });

  it('does not take bytes that follow a frame for lines', () => {
    const line = '{"type":"interrupt","cell":1}\n';
    const frames = [
      `{"type":"answer_bytes","call":7,"total":${line.length},"bytes":${line.length}}\n${line}\n`,
      `{"type":"checkpoint_data","bytes":${2 * line.length}}\n${line}${line}\n`,
      '{"type":"checkpoint_data","bytes":0}\n\n',
    ].join('');
    for (let size = 1; size < frames.length; size += 1) {
      const watch = createLineWatch(INTERRUPT_LINE);
      for (let start = 0; start < frames.length; start += size) {
        expect(watch(Buffer.from(frames.slice(start, start + size)))).toBe(false);
      }
      expect(watch(Buffer.from(line))).toBe(true);
    }
  });
});
