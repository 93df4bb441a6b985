/** What readers of events get, and that nothing grows: neither with many events nor with a reader that does not read. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type EventReader, EventStreams } from '../../../src/record/live/event-streams.ts';
import { EventSchema, type LiveEvent } from '../../../src/record/local-api/schema.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const AT = '2026-11-26T00:00:00.000Z';
const call = (number: number): LiveEvent => ({
  type: 'call_started',
  at: AT,
  session: 's',
  cell: 'b/s/1/1',
  call: number,
  server: 'files',
  tool: 'read',
});
const output = (text: string, cell = 'b/s/1/1') =>
  ({ type: 'cell_output', at: AT, session: 's', cell, stream: 'stdout', from_char: 0, text }) as const;

/** A reader, and the events that it has got. */
function createReader() {
  const reader = { text: '', unread: 0, last: undefined as string | undefined };
  const events = (): LiveEvent[] =>
    (reader.text + (reader.last ?? ''))
      .split('\n')
      .filter((line) => line.startsWith('data: '))
      .map((line) => EventSchema.parse(JSON.parse(line.slice('data: '.length))));
  const sink: EventReader = {
    write: (text) => {
      reader.text += text;
    },
    unreadBytes: () => reader.unread,
    end: (text) => {
      reader.last = text;
    },
  };
  return { reader, events, sink };
}

function open() {
  const watched: boolean[] = [];
  const streams = new EventStreams((is) => watched.push(is));
  const first = createReader();
  streams.join(first.sink);
  return { streams, watched, ...first };
}

describe('events', () => {
  it('of a short time arrive together, numbered and in order', () => {
    const { events, reader, streams } = open();
    streams.add(call(1));
    streams.add(call(2));
    expect(events()).toEqual([]);
    vi.advanceTimersByTime(50);
    expect(events()).toEqual([call(1), call(2)]);
    expect(reader.text).toContain('id: 1\nevent: call_started\ndata: {');
    expect(reader.text).toContain('id: 2\n');
  });

  it('that happened before a reader came are not for it', () => {
    const { streams, events } = open();
    streams.add(call(1));
    const late = createReader();
    streams.join(late.sink);
    streams.add(call(2));
    vi.advanceTimersByTime(50);
    expect([events().length, late.events()]).toEqual([2, [call(2)]]);
  });

  it('are dropped while no one reads', () => {
    const { sink, streams, watched } = open();
    streams.leave(sink);
    streams.add(call(1));
    streams.addOutput(output('x'));
    expect([streams.isWatched, watched, vi.getTimerCount()]).toEqual([false, [true, false], 0]);
  });

  it('beyond what a stream carries are counted', () => {
    const { events, streams } = open();
    for (let number = 1; number <= 10_050; number += 1) {
      streams.add(call(number));
    }
    vi.advanceTimersByTime(50);
    expect([events().length, events().at(-1)]).toMatchObject([10_001, { type: 'lost', events: 50 }]);
  });
});

describe('output', () => {
  it('of 10,000 lines is one event, cut at its limit', () => {
    const { events, streams } = open();
    for (let number = 0; number < 10_000; number += 1) {
      streams.addOutput(output('0123456789\n'));
    }
    vi.advanceTimersByTime(50);
    expect(events()).toHaveLength(1);
    expect(events()[0]).toMatchObject({ dropped_chars: 110_000 - 65_536 });
  });

  it('of other cells and streams, and after a call, is an event of its own', () => {
    const { events, streams } = open();
    streams.addOutput(output('a'));
    streams.addOutput(output('b'));
    streams.addOutput(output('other', 'b/t/1/1'));
    streams.add(call(1));
    streams.addOutput({ ...output('c'), stream: 'stderr' });
    vi.advanceTimersByTime(50);
    expect(events().map((event) => (event.type === 'cell_output' ? event.text : event.type))).toEqual([
      'ab',
      'other',
      'call_started',
      'c',
    ]);
  });
});

describe('a reader', () => {
  it('that is too slow is sent away with a reason, and others stay', () => {
    const { events, reader, streams } = open();
    const other = createReader();
    streams.join(other.sink);
    reader.unread = 5 * 1024 ** 2;
    streams.add(call(1));
    vi.advanceTimersByTime(50);
    streams.add(call(2));
    vi.advanceTimersByTime(50);
    expect(events()).toMatchObject([{ type: 'end', reason: 'the reader is too slow' }]);
    expect(other.events()).toEqual([call(1), call(2)]);
  });

  it('gets a comment when nothing happens, and the reason when the bridge ends', () => {
    const { events, reader, streams } = open();
    vi.advanceTimersByTime(15_000);
    expect(reader.text.endsWith('\n\n:\n\n')).toBe(true);
    streams.close('the bridge has ended');
    expect([events().at(-1), streams.isWatched]).toMatchObject([
      { type: 'end', reason: 'the bridge has ended' },
      false,
    ]);
  });

  it('is refused if there are sixteen', () => {
    const streams = new EventStreams();
    for (let number = 0; number < 16; number += 1) {
      expect(streams.isFull).toBe(false);
      streams.join(createReader().sink);
    }
    expect(streams.isFull).toBe(true);
  });
});
