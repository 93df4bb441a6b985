/** What of `_meta` is taken as the context of a trace. Clients may send anything. */
import { createTraceState } from '@opentelemetry/api';
import { describe, expect, it } from 'vitest';
import { readTraceFields, readTraceparent, writeTraceFields } from '../../../src/record/telemetry/trace-fields.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const VALID = `00-${TRACE}-${SPAN}-01`;

const read = (meta: unknown) => readTraceFields(meta, createTraceState);

describe('a traceparent', () => {
  it.each([
    ['as it is written today', VALID, 1],
    ['that is not sampled', `00-${TRACE}-${SPAN}-00`, 0],
    ['with flags that are unknown', `00-${TRACE}-${SPAN}-ff`, 1],
    ['of a later version, with more in it', `cc-${TRACE}-${SPAN}-01-what-the-future-brings`, 1],
  ])('%s is taken', (_name, traceparent, traceFlags) => {
    expect(readTraceparent(traceparent)).toEqual({ traceId: TRACE, spanId: SPAN, traceFlags, isRemote: true });
  });

  it.each([
    ['nothing', undefined],
    ['empty', ''],
    ['a number', 7],
    ['an object', { traceparent: VALID }],
    ['a list', [VALID]],
    ['version ff', `ff-${TRACE}-${SPAN}-01`],
    ['version 00 with more in it', `${VALID}-more`],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['capital letters', VALID.toUpperCase()],
    ['a line feed at its end', `${VALID}\n`],
    ['white space before it', ` ${VALID}`],
    ['a control character', `cc-${TRACE}-${SPAN}-01-\u0000`],
    ['letters beyond ASCII', `cc-${TRACE}-${SPAN}-01-é`],
    ['one byte missing', VALID.slice(1)],
    ['100,000 characters', `cc-${TRACE}-${SPAN}-01-${'a'.repeat(100_000)}`],
  ])('is ignored: %s', (_name, traceparent) => {
    expect(readTraceparent(traceparent)).toBeUndefined();
  });
});

describe('a tracestate', () => {
  it('is passed on with the parent', () => {
    const { parent } = read({ traceparent: VALID, tracestate: 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE' });
    expect(parent && writeTraceFields(parent, undefined)).toEqual({
      traceparent: VALID,
      tracestate: 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
    });
  });

  it.each([
    ['too long', `a=${'b'.repeat(600)}`],
    ['a control character', 'a=b\r\nforged: 1'],
    ['no text', { a: 'b' }],
  ])('does not count, and the parent does: %s', (_name, tracestate) => {
    expect(read({ traceparent: VALID, tracestate }).parent).toEqual(readTraceparent(VALID));
  });

  it('does not count without a parent', () => {
    expect(read({ tracestate: 'a=b' })).toEqual({ parent: undefined, baggage: undefined });
  });

  it('loses members that are invalid', () => {
    const { parent } = read({ traceparent: VALID, tracestate: 'good=1,BAD KEY=2,=3,alone' });
    expect(parent?.traceState?.serialize()).toBe('good=1');
  });
});

describe('baggage', () => {
  it('is passed on as it came, also without a parent', () => {
    const { baggage } = read({ baggage: 'user=alice,node=DF%2028' });
    expect(baggage).toBe('user=alice,node=DF%2028');
    expect(writeTraceFields({ traceId: TRACE, spanId: SPAN, traceFlags: 1 }, baggage)).toEqual({
      traceparent: VALID,
      baggage,
    });
  });

  it.each([
    ['too long', 'a'.repeat(8193)],
    ['a control character', 'a=b\u0007'],
    ['no text', 5],
  ])('is ignored: %s', (_name, baggage) => {
    expect(read({ baggage }).baggage).toBeUndefined();
  });
});

it('nothing is read from what is no object', () => {
  for (const meta of [undefined, null, VALID, [VALID], 5]) {
    expect(read(meta)).toEqual({ parent: undefined, baggage: undefined });
  }
});
