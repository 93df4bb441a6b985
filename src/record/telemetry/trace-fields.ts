/**
 * W3C Trace Context and Baggage in `_meta`, as SEP-414 of MCP writes them: `traceparent`, `tracestate` and `baggage` without a prefix.
 * A client may send anything, so what does not have the exact form is ignored, alone or with what depends on it.
 */
import type { SpanContext } from '@opentelemetry/api';
import { isObject } from '../../core/base/is-object.ts';

/** The context that a client or a header sent. */
export interface RemoteContext {
  readonly parent: SpanContext | undefined;
  readonly baggage: string | undefined;
}

/** Makes what a span context holds of `tracestate`. It leaves out invalid members. */
export type ReadTraceState = (text: string) => NonNullable<SpanContext['traceState']>;

/** Version 00 has 55; a later one may be longer, and its first 55 are read. */
const MAX_TRACEPARENT_CHARS = 128;
/** The specification wants at least 512 to be passed on. */
const MAX_TRACESTATE_CHARS = 512;
/** The limit of the specification. */
const MAX_BAGGAGE_CHARS = 8192;

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-[\x21-\x7e]*)?$/;
const PRINTABLE = /^[\x20-\x7e]*$/;
const ZEROS = /^0+$/;
export const SAMPLED = 1;

export function readTraceFields(meta: unknown, readState: ReadTraceState): RemoteContext {
  const { traceparent, tracestate, baggage } = isObject(meta) ? meta : {};
  const parent = readTraceparent(traceparent);
  const state = parent && printable(tracestate, MAX_TRACESTATE_CHARS);
  return {
    parent: parent && (state === undefined ? parent : { ...parent, traceState: readState(state) }),
    baggage: printable(baggage, MAX_BAGGAGE_CHARS),
  };
}

/** Undefined for anything but a valid one. */
export function readTraceparent(value: unknown): SpanContext | undefined {
  const match =
    typeof value === 'string' && value.length <= MAX_TRACEPARENT_CHARS ? TRACEPARENT.exec(value) : undefined;
  const [, version, traceId = '', spanId = '', flags = '', rest] = match ?? [];
  const isVersion = version !== undefined && version !== 'ff' && (version !== '00' || rest === undefined);
  return isVersion && !ZEROS.test(traceId) && !ZEROS.test(spanId)
    ? { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & SAMPLED, isRemote: true }
    : undefined;
}

function printable(value: unknown, maxChars: number): string | undefined {
  const isValid = typeof value === 'string' && value !== '' && value.length <= maxChars && PRINTABLE.test(value);
  return isValid ? value : undefined;
}

/** What to add to `_meta` of a request that belongs to a span. */
export function writeTraceFields(
  { traceId, spanId, traceFlags, traceState }: SpanContext,
  baggage: string | undefined,
): Record<string, string> {
  const fields: Record<string, string> = {
    traceparent: `00-${traceId}-${spanId}-0${traceFlags & SAMPLED}`,
  };
  const state = traceState?.serialize() ?? '';
  if (state !== '') {
    fields['tracestate'] = state;
  }
  if (baggage !== undefined) {
    fields['baggage'] = baggage;
  }
  return fields;
}
