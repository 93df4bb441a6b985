import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { readEvents, StreamPosition } from '../../../../src/edges/upstream/http/event-stream.ts';

describe('a reopened stream', () => {
  it('waits longer before each attempt, whatever the server requests, until an event arrives', () => {
    const position = new StreamPosition();
    position.noteRetry(0);
    expect([1, 2, 3, 4].map(() => position.nextWaitMs())).toEqual([500, 1_000, 2_000, 4_000]);
    expect(position.fruitless).toBe(4);
    position.noteRetry(10_000);
    position.noteEvent({ name: 'message', data: Buffer.from('x'), id: 'e-1' });
    expect([1, 2, 3, 4, 5].map(() => position.nextWaitMs())).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
    expect(position.lastEventId).toBe('e-1');
  });

  it('keeps the last id if events without an id follow', async () => {
    const position = new StreamPosition();
    const body = new PassThrough();
    const seen: string[] = [];
    const ended = readEvents(body, 100, position, { onEvent: ({ data }) => seen.push(String(data)) });
    body.end('id: 7\nretry: 5\ndata: a\n\ndata: b\n\n');
    await ended;
    expect([seen, position.lastEventId]).toEqual([['a', 'b'], '7']);
  });
});
