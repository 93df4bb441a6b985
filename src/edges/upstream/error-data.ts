/** The data of a JSON-RPC error, which often only say what is wrong (JSON-RPC 2.0, section 5.1). Bounded, and masked. */
import type { JsonObject } from '../../core/base/is-object.ts';
import { carriedAsText } from '../../core/protocol/exact-json.ts';
import { isDeeperThan } from '../../core/protocol/json-depth.ts';

/** Data with more reach neither code nor a message. Both chosen. */
const MAX_CHARS = 8_000;
const MAX_LEVELS = 50;
/** The message has this much of them. */
const SHOWN_CHARS = 1_000;
const LEFT_OUT = ` (with data of more than ${MAX_CHARS.toLocaleString('en-US')} characters or ${MAX_LEVELS} levels, which were left out)`;

export interface ErrorData {
  /** The end of the message. */
  readonly said: string;
  /** Members of the error that code sees. */
  readonly kept: JsonObject;
}

/** `message` is that of the error: what it says is not repeated. */
export function readErrorData(data: unknown, message: string, mask: (text: string) => string): ErrorData {
  if (data === undefined || data === null) {
    return { said: '', kept: {} };
  }
  if (isDeeperThan(data, MAX_LEVELS) || isLong(data)) {
    return { said: LEFT_OUT, kept: {} };
  }
  const masked = mask(JSON.stringify(carriedAsText(data)));
  const value = parse(masked) ?? masked;
  const text = typeof value === 'string' ? value : masked;
  const shown = text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
  return { said: message.includes(text) ? '' : `: ${shown}`, kept: { rpc_data: value } };
}

/** Stops writing at the limit. */
function isLong(data: unknown): boolean {
  let left = MAX_CHARS;
  const count = (key: string, value: unknown): unknown => {
    left -= key.length + (typeof value === 'string' ? value.length : 1);
    if (left < 0) {
      throw new RangeError('more characters');
    }
    return value;
  };
  try {
    return JSON.stringify(data, count).length > MAX_CHARS;
  } catch (error) {
    if (error instanceof RangeError) {
      return true;
    }
    throw error;
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // A secret was more than a text; what is left of the JSON is the value.
    return undefined;
  }
}
