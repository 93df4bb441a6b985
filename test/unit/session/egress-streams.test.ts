/** Streams between a sandbox and the host: their bytes, their ends, and what a sandbox may not do. */
import { type Duplex, PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  MAX_EGRESS_BYTES,
  MAX_EGRESS_PIECE_BYTES,
  MAX_EGRESS_STREAM_BYTES,
  MAX_EGRESS_STREAMS,
  MIN_EGRESS_STREAM_BYTES,
} from '../../../src/core/base/egress-limits.ts';
import { type HostFrame, HostFrameSchema, type SandboxFrame } from '../../../src/core/protocol/frames.ts';
import { LineSplitter } from '../../../src/core/protocol/line-splitter.ts';
import { EgressStreams } from '../../../src/core/session/egress-streams.ts';
import { Outbox } from '../../../src/core/session/outbox.ts';

/** What a stream has given. An iterator would destroy it at the end. */
function read(stream: Duplex): Buffer[] {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  return chunks;
}

/** The test is the sandbox. Frames of the host are read in each turn, unless `isReading` is false. */
function setUp() {
  const pipe = new PassThrough({ highWaterMark: 1_024 });
  const opened: Duplex[] = [];
  const frames: HostFrame[] = [];
  const bytes = new Map<number, Buffer[]>();
  const outbox: Outbox = new Outbox(pipe, { onIdle: () => streams.next() });
  const streams = new EgressStreams(outbox, (stream) => opened.push(stream));
  const lines = new LineSplitter(
    1 << 20,
    (line) => {
      const frame = HostFrameSchema.parse(JSON.parse(line.toString('utf8')));
      frames.push(frame);
      if (frame.type === 'egress_data') {
        lines.takeBytes(frame.bytes, (part) => {
          bytes.set(frame.stream, [...(bytes.get(frame.stream) ?? []), part]);
        });
      }
    },
    () => expect.unreachable(),
  );
  pipe.on('data', (chunk: Buffer) => lines.push(chunk));
  const send = (type: SandboxFrame['type'], stream: number, data?: Buffer | number) => {
    const more = data === undefined ? {} : { bytes: typeof data === 'number' ? data : data.length };
    const part = typeof data === 'number' ? undefined : data;
    return streams.receive({ type, stream, ...more } as Parameters<typeof streams.receive>[0], part);
  };
  const open = (stream: number): Duplex => {
    expect(send('egress_open', stream)).toBe(true);
    return opened.at(-1) as Duplex;
  };
  /** Until nothing more comes. */
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) {
      // biome-ignore lint/performance/noAwaitInLoops: turns follow each other.
      await nextTurn();
    }
  };
  const received = (stream: number): Buffer => Buffer.concat(bytes.get(stream) ?? []);
  const typesOf = (stream: number) => frames.flatMap((f) => ('stream' in f && f.stream === stream ? f.type : []));
  const taken = (stream: number): number =>
    frames.reduce((sum, f) => sum + (f.type === 'egress_taken' && f.stream === stream ? f.bytes : 0), 0);
  return { pipe, opened, frames, outbox, streams, send, open, settle, received, typesOf, taken };
}

const KIB = 1024;

describe('a stream', () => {
  it('passes bytes in both directions, and each direction ends by itself', async () => {
    const { open, send, settle, received, typesOf } = setUp();
    const stream = open(1);
    const chunks = read(stream);
    send('egress_data', 1, Buffer.from('request '));
    send('egress_data', 1, Buffer.from('body'));
    send('egress_end', 1);
    await settle();
    expect(String(Buffer.concat(chunks))).toBe('request body');
    expect(stream.readableEnded).toBe(true);
    expect(stream.destroyed).toBe(false);
    stream.write('answer ');
    stream.end(Buffer.from([0x0a, 0xff]));
    await settle();
    expect(received(1)).toEqual(Buffer.concat([Buffer.from('answer '), Buffer.from([0x0a, 0xff])]));
    expect(typesOf(1).at(-1)).toBe('egress_end');
    expect(typesOf(1)).not.toContain('egress_reset');
    expect(stream.destroyed).toBe(true);
  });

  it('is answered after the host has ended its direction first', async () => {
    const { open, send, settle, typesOf } = setUp();
    const stream = open(1);
    stream.end();
    await settle();
    expect(typesOf(1)).toEqual(['egress_end']);
    send('egress_data', 1, Buffer.from('late'));
    send('egress_end', 1);
    const chunks = read(stream);
    await settle();
    expect(String(Buffer.concat(chunks))).toBe('late');
    expect(stream.destroyed).toBe(true);
    expect(typesOf(1)).toEqual(['egress_end', 'egress_taken']);
  });

  it('has a limited number of bytes on its way to the sandbox, in pieces, and goes on with what was passed on', async () => {
    const { open, send, settle, received, frames } = setUp();
    const stream = open(1);
    const data = Buffer.alloc(3 * MAX_EGRESS_STREAM_BYTES, 'abcdefg');
    stream.end(data);
    await settle();
    expect(received(1).length).toBe(MAX_EGRESS_STREAM_BYTES);
    expect(stream.writableNeedDrain).toBe(false);
    expect(send('egress_taken', 1, 100)).toBe(true);
    await settle();
    expect(received(1).length).toBe(MAX_EGRESS_STREAM_BYTES + 100);
    for (let left = data.length; left > 0; left -= MAX_EGRESS_STREAM_BYTES) {
      send('egress_taken', 1, Math.min(MAX_EGRESS_STREAM_BYTES, received(1).length - (data.length - left) - 100));
      // biome-ignore lint/performance/noAwaitInLoops: turns follow each other.
      await settle();
    }
    expect(received(1).equals(data)).toBe(true);
    expect(Math.max(...frames.map((frame) => ('bytes' in frame ? frame.bytes : 0)))).toBe(MAX_EGRESS_PIECE_BYTES);
    expect(frames.at(-1)).toEqual({ type: 'egress_end', stream: 1 });
  });

  it('reports what was read, not what has arrived', async () => {
    const { open, send, settle, taken } = setUp();
    const stream = open(1);
    for (let count = 0; count < 4; count += 1) {
      expect(send('egress_data', 1, Buffer.alloc(MAX_EGRESS_PIECE_BYTES))).toBe(true);
    }
    await settle();
    expect(taken(1)).toBe(0);
    stream.on('data', () => undefined);
    await settle();
    expect(taken(1)).toBe(MAX_EGRESS_STREAM_BYTES);
    // A report for each byte would cost more than the byte.
    send('egress_data', 1, Buffer.from('x'));
    await settle();
    expect(taken(1)).toBe(MAX_EGRESS_STREAM_BYTES);
    send('egress_end', 1);
    await settle();
    expect(taken(1)).toBe(MAX_EGRESS_STREAM_BYTES + 1);
  });

  it('is reset if the host destroys it, with an error or without, and what still arrives is dropped', async () => {
    const { open, send, settle, typesOf, opened } = setUp();
    open(1).destroy();
    const second = open(2);
    second.on('error', () => undefined).destroy(new Error('the server is gone'));
    await settle();
    expect([...typesOf(1), ...typesOf(2)]).toEqual(['egress_reset', 'egress_reset']);
    expect([send('egress_data', 1, Buffer.from('x')), send('egress_end', 2), send('egress_taken', 2, 5)]).toEqual([
      true,
      true,
      true,
    ]);
    expect(opened.length).toBe(2);
  });

  it('is destroyed without an error if the sandbox resets it, and nothing is answered', async () => {
    const { open, send, settle, typesOf } = setUp();
    const stream = open(1);
    const errors: unknown[] = [];
    stream.on('error', (error) => errors.push(error));
    stream.write(Buffer.alloc(2 * MAX_EGRESS_STREAM_BYTES));
    await settle();
    send('egress_reset', 1);
    await settle();
    expect(stream.destroyed).toBe(true);
    expect(errors).toEqual([]);
    expect(typesOf(1)).not.toContain('egress_reset');
  });

  it('ends with the sandbox, and no later one begins', async () => {
    const { open, streams, send, settle, frames } = setUp();
    const stream = open(1);
    stream.write('x');
    await settle();
    const before = frames.length;
    streams.close();
    expect(stream.destroyed).toBe(true);
    expect(send('egress_open', 2)).toBe(false);
    await settle();
    expect(frames.length).toBe(before);
  });
});

describe('streams of a sandbox', () => {
  it('share what may be on its way, and each has a part even if no one reads the others', async () => {
    const { open, settle, received } = setUp();
    const count = 20;
    for (let number = 1; number <= count; number += 1) {
      open(number).write(Buffer.alloc(2 * MAX_EGRESS_STREAM_BYTES));
    }
    await settle();
    await settle();
    const sizes = Array.from({ length: count }, (_, index) => received(index + 1).length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_EGRESS_STREAM_BYTES);
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(MIN_EGRESS_STREAM_BYTES);
    const sum = sizes.reduce((all, size) => all + size, 0);
    expect(sum).toBeGreaterThanOrEqual(MAX_EGRESS_BYTES);
    expect(sum).toBeLessThanOrEqual(MAX_EGRESS_BYTES + count * MIN_EGRESS_STREAM_BYTES);
  });

  it('take turns', async () => {
    const { open, settle, frames } = setUp();
    const three = [open(1), open(2), open(3)];
    for (const stream of three) {
      stream.write(Buffer.alloc(MAX_EGRESS_STREAM_BYTES));
    }
    await settle();
    const order = frames.flatMap((frame) => (frame.type === 'egress_data' ? frame.stream : []));
    // The first one began alone.
    expect(order.slice(1, 7)).toEqual([1, 2, 3, 1, 2, 3]);
  });

  it('let answers and other frames go first', async () => {
    const { pipe, open, outbox, settle, frames } = setUp();
    pipe.pause();
    open(1).write(Buffer.alloc(MAX_EGRESS_STREAM_BYTES));
    await settle();
    outbox.sendValue(7, '1');
    outbox.sendInterrupt({ cell: 1, reason: 'cancelled' });
    pipe.resume();
    await settle();
    expect(frames.map(({ type }) => type).slice(0, 4)).toEqual(['egress_data', 'interrupt', 'answer', 'egress_data']);
    expect(frames[1]).toMatchObject({ sent_before: 1 });
  });

  it('are so many at most; the next is reset, and counts as a violation', async () => {
    const { open, send, settle, typesOf } = setUp();
    const all = Array.from({ length: MAX_EGRESS_STREAMS }, (_, index) => open(index + 1));
    expect(send('egress_open', MAX_EGRESS_STREAMS + 1)).toBe(false);
    await settle();
    expect(typesOf(MAX_EGRESS_STREAMS + 1)).toEqual(['egress_reset']);
    all[0]?.destroy();
    open(MAX_EGRESS_STREAMS + 2);
  });

  it('are reset at once where no one answers them', async () => {
    const frames: unknown[] = [];
    const pipe = new PassThrough();
    const streams = new EgressStreams(new Outbox(pipe), undefined);
    expect(streams.receive({ type: 'egress_open', stream: 1 })).toBe(false);
    await nextTurn();
    frames.push(JSON.parse(String(pipe.read())));
    expect(frames).toEqual([{ type: 'egress_reset', stream: 1 }]);
  });
});

describe('a sandbox may not', () => {
  it.each<[string, (all: ReturnType<typeof setUp>) => boolean]>([
    ['open a stream twice', ({ send }) => send('egress_open', 3)],
    ['open a stream of an earlier number', ({ send }) => send('egress_open', 2)],
    ['send bytes of a stream that it has not opened', ({ send }) => send('egress_data', 9, Buffer.from('x'))],
    ['end one', ({ send }) => send('egress_end', 9)],
    ['reset one', ({ send }) => send('egress_reset', 9)],
    ['take of one', ({ send }) => send('egress_taken', 9, 1)],
  ])('%s, which changes nothing', async (_, act) => {
    const all = setUp();
    const stream = all.open(3);
    expect(act(all)).toBe(false);
    await all.settle();
    expect(stream.destroyed).toBe(false);
    expect(all.frames).toEqual([]);
  });

  it.each<[string, (all: ReturnType<typeof setUp>) => boolean]>([
    ['take what was not sent', ({ send }) => send('egress_taken', 3, 1)],
    ['end a stream twice', ({ send }) => [send('egress_end', 3), send('egress_end', 3)].at(-1) as boolean],
    [
      'send bytes after the end',
      ({ send }) => [send('egress_end', 3), send('egress_data', 3, Buffer.from('x'))].at(-1) as boolean,
    ],
    [
      'send more than may be on its way',
      ({ send }) =>
        Array.from({ length: 5 }, () => send('egress_data', 3, Buffer.alloc(MAX_EGRESS_PIECE_BYTES)))[4] as boolean,
    ],
  ])('%s: it loses the stream', async (_, act) => {
    const all = setUp();
    const stream = all.open(3);
    expect(act(all)).toBe(false);
    await all.settle();
    expect(stream.destroyed).toBe(true);
    expect(all.typesOf(3)).toEqual(['egress_reset']);
  });

  it('send more than may be on its way in all streams together', () => {
    const { open, send } = setUp();
    const results: boolean[] = [];
    for (let number = 1; number <= 9; number += 1) {
      open(number);
      for (let count = 0; count < MAX_EGRESS_STREAM_BYTES / MAX_EGRESS_PIECE_BYTES; count += 1) {
        results.push(send('egress_data', number, Buffer.alloc(MAX_EGRESS_PIECE_BYTES)));
      }
    }
    const allowed = MAX_EGRESS_BYTES / MAX_EGRESS_PIECE_BYTES;
    expect(results.slice(0, allowed)).not.toContain(false);
    expect(results[allowed]).toBe(false);
    // Each stream has its part.
    open(10);
    expect(send('egress_data', 10, Buffer.alloc(MIN_EGRESS_STREAM_BYTES))).toBe(true);
    expect(send('egress_data', 10, Buffer.alloc(1))).toBe(false);
    // What was lost counts no more.
    send('egress_reset', 1);
    open(11);
    expect(send('egress_data', 11, Buffer.alloc(MAX_EGRESS_PIECE_BYTES))).toBe(true);
  });
});

describe('a flood', () => {
  // A buffer for each byte took a hundred times as much memory.
  it('of single bytes that no one reads is kept in large pieces', async () => {
    const { open, send, settle } = setUp();
    const stream = open(1);
    for (let count = 0; count < 64 * KIB; count += 1) {
      send('egress_data', 1, Buffer.alloc(1));
    }
    await settle();
    const chunks = read(stream);
    await settle();
    expect(Buffer.concat(chunks).length).toBe(64 * KIB);
    expect(chunks.length).toBeLessThan(40);
  });

  it('of streams that open and are reset leaves nothing', async () => {
    const { open, send, settle, opened } = setUp();
    for (let number = 1; number <= 2_000; number += 1) {
      send('egress_open', number);
      send('egress_data', number, Buffer.alloc(KIB));
      send('egress_reset', number);
      opened.length = 0;
    }
    await settle();
    // Nothing of them counts any more.
    for (let number = 30_000; number < 30_000 + MAX_EGRESS_STREAMS; number += 1) {
      open(number);
    }
    expect(send('egress_data', 30_000, Buffer.alloc(MAX_EGRESS_PIECE_BYTES))).toBe(true);
  });
});
