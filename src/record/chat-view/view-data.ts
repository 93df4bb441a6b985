/** The data of a view, within its limits. Pure. */
import type { CellView, ViewedCall } from '../../core/base/cell.ts';

/** Calls that are traced; more are only counted. A person looks at a picture of them, not at each. Chosen. */
export const MAX_TRACED_CALLS = 200;
/** Of the code and of the calls, as JSON. Hosts keep every result of a conversation in memory. Chosen. */
const MAX_CODE_BYTES = 32 * 1024;
const MAX_CALLS_BYTES = 32 * 1024;
/** Names come from servers and may have any length. Chosen. */
const MAX_NAME_CHARS = 120;

export interface TracedCall {
  readonly server: string;
  readonly tool: string;
  /** Counted from the start of the cell. */
  readonly startMs: number;
  /** Undefined while it runs. */
  readonly end: { readonly atMs: number; readonly errorCode: string | undefined } | undefined;
}

export interface TracedCell {
  readonly code: string;
  readonly durationMs: number;
  /** At most `MAX_TRACED_CALLS`. */
  readonly calls: readonly TracedCall[];
  readonly moreCalls: number;
}

/** @param mask replaces known secrets. It comes first: a secret that was cut would not be found. */
export function buildView(
  { calls, durationMs, moreCalls, ...cell }: TracedCell,
  mask: (text: string) => string,
): CellView {
  const whole = mask(cell.code);
  const code = cutToBytes(whole, MAX_CODE_BYTES);
  const shown = withinBytes(
    calls.map((call) => showCall(call, durationMs, mask)),
    MAX_CALLS_BYTES,
  );
  return {
    code,
    ...(code.length < whole.length && { code_chars: whole.length }),
    duration_ms: rounded(durationMs),
    calls: shown,
    calls_left_out: calls.length - shown.length + moreCalls,
  };
}

function showCall(
  { end, server, startMs, tool }: TracedCall,
  cellMs: number,
  mask: (text: string) => string,
): ViewedCall {
  const name = (text: string): string => cutEnd(mask(text), MAX_NAME_CHARS);
  const endMs = end?.atMs ?? cellMs;
  return {
    server: name(server),
    tool: name(tool),
    start_ms: rounded(startMs),
    duration_ms: rounded(Math.max(0, endMs - startMs)),
    status: end === undefined ? 'cancelled' : end.errorCode === undefined ? 'ok' : 'error',
    ...(end?.errorCode !== undefined && { error_code: end.errorCode }),
  };
}

/** As many as fit, from the first one. */
function withinBytes<Item>(items: readonly Item[], maxBytes: number): Item[] {
  let bytes = 0;
  const end = items.findIndex((item) => {
    bytes += jsonBytes(item);
    return bytes > maxBytes;
  });
  return items.slice(0, end === -1 ? items.length : end);
}

/** The longest start of a text, or nearly so, whose JSON has at most `maxBytes`. */
function cutToBytes(text: string, maxBytes: number): string {
  // No character has less than a byte.
  let cut = text.slice(0, maxBytes);
  for (let bytes = jsonBytes(cut); bytes > maxBytes; bytes = jsonBytes(cut)) {
    cut = cut.slice(0, Math.floor((cut.length * maxBytes) / bytes) - 1);
  }
  return cut.length === text.length ? text : withoutHalf(cut);
}

function cutEnd(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${withoutHalf(text.slice(0, maxChars - 1))}…`;
}

/** A cut may have split a surrogate pair. */
function withoutHalf(text: string): string {
  return text.replace(/[\ud800-\udbff]$/, '');
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
