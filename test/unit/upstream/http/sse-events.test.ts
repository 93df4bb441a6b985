import { array, assert as assertProperty, nat, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventTooLongError, type SseEvent, SseParser } from '../../../../src/edges/upstream/http/sse-events.ts';

function parse(chunks: readonly Buffer[], maxEventBytes = 1_000) {
  const events: [string, string, string | undefined][] = [];
  const retries: number[] = [];
  const parser = new SseParser(maxEventBytes, {
    onEvent: ({ name, data, id }: SseEvent) => events.push([name, data.toString('utf8'), id]),
    onRetry: (retryMs) => retries.push(retryMs),
  });
  chunks.forEach((chunk) => parser.push(chunk));
  return { events, retries };
}

const STREAM = Buffer.from(
  '\uFEFF: comment\r\nevent: greeting\r\nid: 1\r\ndata: ä\r\ndata:b\r\n\r\n' +
    'data\n\nid: 2\n\nretry: 1500\nretry: soon\ndata: {"a":1}\n\r' +
    'unknown: x\rdata: last\r\rdata: unfinished\n',
);
const EVENTS = [
  ['greeting', 'ä\nb', '1'],
  ['message', '', undefined],
  ['message', '', '2'],
  ['message', '{"a":1}', undefined],
  ['message', 'last', undefined],
];

describe('server-sent events', () => {
  it('are read with every line end, and only when they are complete', () => {
    expect(parse([STREAM])).toEqual({ events: EVENTS, retries: [1_500] });
  });

  it('are the same wherever the stream is split', () => {
    assertProperty(
      property(array(nat(STREAM.length), { maxLength: 20 }), (cuts) => {
        const places = [0, ...cuts, STREAM.length].toSorted((a, b) => a - b);
        const chunks = places.slice(1).map((end, index) => STREAM.subarray(places[index], end));
        expect(parse(chunks).events).toEqual(EVENTS);
      }),
    );
    expect(parse([...STREAM].map((byte) => Buffer.from([byte]))).events).toEqual(EVENTS);
    // An empty chunk between the two halves of a CRLF used to produce an extra event.
    const withEmptyPieces = [...STREAM].flatMap((byte) => [Buffer.from([byte]), Buffer.alloc(0)]);
    expect(parse(withEmptyPieces).events).toEqual(EVENTS);
  });

  it('are bounded, with or without line ends', () => {
    expect(() => parse([Buffer.from(`data: ${'x'.repeat(200)}`)], 100)).toThrow(EventTooLongError);
    expect(() => parse([Buffer.from('data: x\n'.repeat(20))], 100)).toThrow(EventTooLongError);
    expect(parse([Buffer.from('data: x\n\n'.repeat(200))], 100).events).toHaveLength(200);
  });

  it('do not keep the buffer that they were read from', () => {
    const chunk = Buffer.from('data: one\n\nda');
    const rest = Buffer.from('ta: two\n\n');
    const seen: Buffer[] = [];
    const parser = new SseParser(100, { onEvent: ({ data }) => seen.push(data), onRetry: () => undefined });
    parser.push(chunk);
    chunk.fill(0);
    parser.push(rest);
    rest.fill(0);
    expect(seen.map(String)).toEqual(['one', 'two']);
  });
});
