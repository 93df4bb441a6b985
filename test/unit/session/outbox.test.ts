import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { MAX_HOST_LINE_BYTES, MAX_UNSENT_BYTES, MAX_UNSENT_FRAME_BYTES } from '../../../src/core/base/limits.ts';
import { Outbox } from '../../../src/core/session/outbox.ts';

/** An outbox on a pipe with a small buffer, and what it has sent so far. */
function setUp() {
  const pipe = new PassThrough({ highWaterMark: 1_024 });
  const outbox = new Outbox(pipe);
  const read = async (): Promise<Record<string, unknown>[]> => {
    const chunks: Buffer[] = [];
    setImmediate(() => pipe.end());
    for await (const chunk of pipe) {
      chunks.push(chunk as Buffer);
    }
    const lines = Buffer.concat(chunks).toString('utf8').split('\n').slice(0, -1);
    expect(Math.max(...lines.map((line) => Buffer.byteLength(line)))).toBeLessThan(MAX_HOST_LINE_BYTES);
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  return { pipe, outbox, read };
}

/** Takes frames apart, and the bytes that follow some of them. */
function readFrames(all: Buffer) {
  const frames: Record<string, unknown>[] = [];
  const bytes: Buffer[] = [];
  for (let at = 0; at < all.length; ) {
    const end = all.indexOf('\n', at);
    const frame = JSON.parse(all.toString('utf8', at, end)) as { type: string; bytes?: number };
    frames.push(frame);
    at = end + 1;
    if (frame.bytes !== undefined) {
      bytes.push(all.subarray(at, at + frame.bytes));
      at += frame.bytes + 1;
    }
  }
  return { frames, bytes, types: frames.map(({ type }) => type) };
}

describe('outbox', () => {
  it('keeps the order of frames', async () => {
    const { outbox, read } = setUp();
    outbox.send({ type: 'execute', cell: 1, code: '', servers: [] });
    outbox.sendValue(7, '{"a":1}');
    expect(await read()).toEqual([
      { type: 'execute', cell: 1, code: '', servers: [] },
      { type: 'answer', call: 7, ok: true, value: { a: 1 } },
    ]);
  });

  it('writes the frames of one turn together, and long ones by themselves', async () => {
    const { pipe, outbox } = setUp();
    const writes: number[] = [];
    pipe.write = (data: string | Buffer) => {
      writes.push(data.toString().split('\n').length - 1);
      return true;
    };
    for (let call = 0; call < 100; call += 1) {
      outbox.sendValue(call, '{"a":1}');
    }
    expect(writes).toEqual([]);
    await nextTurn();
    expect(writes).toEqual([100]);
    outbox.sendValue(100, JSON.stringify('x'.repeat(100_000)));
    outbox.send({ type: 'answer', call: 101, ok: true });
    await nextTurn();
    expect(writes).toEqual([100, 1, 1]);
  });

  it('sends a long value in parts that join to the same text and cut no character', async () => {
    const { pipe, outbox } = setUp();
    const value = `x${'𝒳'.repeat(400_000)}`;
    const chunks: Buffer[] = [];
    pipe.on('data', (chunk: Buffer) => chunks.push(chunk));
    outbox.sendValue(1, JSON.stringify(value));
    await expect.poll(() => Buffer.concat(chunks).toString('utf8').endsWith('}\n')).toBe(true);
    await expect.poll(() => Buffer.concat(chunks).includes('"type":"answer",')).toBe(true);
    const frames = Buffer.concat(chunks)
      .toString('utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { type: string; data: string; parts?: number });
    const parts = frames.filter(({ type }) => type === 'answer_part').map(({ data }) => data);
    expect(parts.every((part) => part.isWellFormed())).toBe(true);
    expect(JSON.parse(parts.join(''))).toBe(value);
    expect(frames.at(-1)).toMatchObject({ type: 'answer', parts: parts.length });
  });

  it('sends a value in bytes as frames of limited size, which an interrupt overtakes but never cuts', async () => {
    const { pipe, outbox } = setUp();
    const sent = Buffer.alloc(2.5 * MAX_HOST_LINE_BYTES, 'line\n{"type":"interrupt"}');
    const pieces = [
      sent.subarray(0, 10),
      sent.subarray(10, 2 * MAX_HOST_LINE_BYTES),
      sent.subarray(2 * MAX_HOST_LINE_BYTES),
    ];
    const chunks: Buffer[] = [];
    outbox.sendValue(1, pieces);
    outbox.sendInterrupt({ cell: 1, reason: 'cancelled' });
    pipe.on('data', (chunk: Buffer) => chunks.push(chunk));
    await expect.poll(() => Buffer.concat(chunks.slice(-1)).includes('"type":"answer",')).toBe(true);
    const { types, bytes, frames } = readFrames(Buffer.concat(chunks));
    expect(types).toEqual(['answer_bytes', 'interrupt', 'answer_bytes', 'answer_bytes', 'answer']);
    expect(frames[1]).toMatchObject({ sent_before: 1 });
    expect(frames.at(-1)).toEqual({ type: 'answer', call: 1, ok: true, parts: 3 });
    expect(Math.max(...bytes.map(({ length }) => length))).toBeLessThan(MAX_HOST_LINE_BYTES);
    expect(Buffer.concat(bytes).equals(sent)).toBe(true);
  });

  it('sends a value in bytes in its place among small answers of the same turn', async () => {
    const { pipe, outbox } = setUp();
    const chunks: Buffer[] = [];
    pipe.on('data', (chunk: Buffer) => chunks.push(chunk));
    outbox.sendValue(1, '"before"');
    outbox.sendValue(2, [Buffer.from('"by'), Buffer.from('tes"')]);
    outbox.sendValue(3, '"after"');
    outbox.sendInterrupt({ cell: 1, reason: 'cancelled' });
    await expect.poll(() => Buffer.concat(chunks).includes('"interrupt"')).toBe(true);
    const { frames, bytes } = readFrames(Buffer.concat(chunks));
    expect(frames).toEqual([
      { type: 'answer', call: 1, ok: true, value: 'before' },
      { type: 'answer_bytes', call: 2, total: 7, bytes: 7 },
      { type: 'answer', call: 2, ok: true, parts: 1 },
      { type: 'answer', call: 3, ok: true, value: 'after' },
      { type: 'interrupt', cell: 1, reason: 'cancelled', sent_before: 4 },
    ]);
    expect(String(Buffer.concat(bytes))).toBe('"bytes"');
  });

  it('refuses a value in bytes if too much is unread', () => {
    const { outbox } = setUp();
    const large = [Buffer.alloc(MAX_UNSENT_BYTES / 2), Buffer.alloc(10)];
    expect(outbox.sendValue(1, large)).toBe(true);
    expect(outbox.sendValue(2, large)).toBe(false);
  });

  it('lets an interrupt overtake waiting frames, with the number of frames sent before it', async () => {
    const { pipe, outbox } = setUp();
    pipe.write('{}\n');
    outbox.send({ type: 'answer', call: 0, ok: true });
    outbox.sendValue(1, JSON.stringify('x'.repeat(2_000_000)));
    outbox.send({ type: 'answer', call: 2, ok: true, value: 'later' });
    outbox.sendInterrupt({ cell: 1, reason: 'cancelled' });
    const chunks: Buffer[] = [];
    pipe.on('data', (chunk: Buffer) => chunks.push(chunk));
    await expect.poll(() => Buffer.concat(chunks).includes('later')).toBe(true);
    const frames = Buffer.concat(chunks)
      .toString('utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { type?: string });
    const types = frames.map(({ type }) => type);
    expect(types.slice(0, 4)).toEqual([undefined, 'answer', 'answer_part', 'interrupt']);
    expect(frames[3]).toEqual({ type: 'interrupt', cell: 1, reason: 'cancelled', sent_before: 2 });
    expect(types.slice(-2)).toEqual(['answer', 'answer']);
  });

  it('takes one value of any size, and counts two bytes for each character beyond Latin-1', () => {
    const large = JSON.stringify('x'.repeat(MAX_UNSENT_BYTES + 1));
    expect(setUp().outbox.sendValue(1, large)).toBe(true);
    const { outbox } = setUp();
    const wide = JSON.stringify(`€${'x'.repeat(MAX_UNSENT_BYTES / 4)}`);
    expect(outbox.sendValue(1, wide)).toBe(true);
    expect(outbox.sendValue(2, wide)).toBe(false);
    // Limits a hang: the texts have hundreds of millions of characters.
  }, 120_000);

  it('reports a sandbox that reads no frames, and keeps no more of them', () => {
    const overflows: number[] = [];
    const outbox = new Outbox(new PassThrough({ highWaterMark: 1_024 }), {
      onOverflow: (bytes) => overflows.push(bytes),
    });
    const message = 'x'.repeat(1 << 20);
    for (let call = 0; call < MAX_UNSENT_FRAME_BYTES / message.length + 3; call += 1) {
      outbox.send({ type: 'answer', call, ok: false, error: { code: 'CALL_REFUSED', message } });
    }
    expect(overflows.length).toBeGreaterThan(0);
    expect(Math.max(...overflows)).toBeLessThan(MAX_UNSENT_FRAME_BYTES + 2 * message.length);
  });

  it('refuses a value if too much is unread', () => {
    const { outbox } = setUp();
    const large = JSON.stringify('x'.repeat(MAX_UNSENT_BYTES / 2));
    expect(outbox.sendValue(1, large)).toBe(true);
    expect(outbox.sendValue(2, large)).toBe(false);
  });

  it('drops waiting frames when the pipe is closed', () => {
    const { pipe, outbox } = setUp();
    pipe.destroy();
    outbox.sendInterrupt({ cell: 1, reason: 'deadline' });
    expect(pipe.readableLength).toBe(0);
  });
});
