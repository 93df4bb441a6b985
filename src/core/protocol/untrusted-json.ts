/**
 * How JSON is read that somebody else has written: a client, a server, a sandbox, an index. A short text can be crafted so that
 * parsing it, or walking through the result, blocks the bridge for seconds and takes gigabytes; so it is measured before it is
 * parsed. A contract test (`untrusted-json.test.ts`) fails for `JSON.parse` anywhere else, unless it names why that is safe.
 */
import {
  MAX_CLIENT_KEYS,
  MAX_CLIENT_LINE_BYTES,
  MAX_CLIENT_MEMBERS,
  MAX_CLIENT_VALUES,
  MAX_JSON_DEPTH,
  MAX_LINE_LONG_NUMBERS,
  MAX_LINE_MEMBERS,
  MAX_LINE_VALUES,
  MAX_RESULT_BYTES,
  MAX_RESULT_KEYS,
  MAX_RESULT_LONG_NUMBERS,
  MAX_RESULT_VALUES,
  MAX_SANDBOX_LINE_BYTES,
} from '../base/limits.ts';
import { parseExact } from './exact-json.ts';
import { type JsonExtent, measureJson } from './json-extent.ts';

const MIB = 1024 * 1024;

/** What one kind of JSON may have at most, as `measureJson` counts it. */
export interface JsonBounds extends JsonExtent {
  readonly bytes: number;
  /** If set, numbers that JavaScript would change are carried (`parseExact`), and so many at most. */
  readonly longNumbers?: number;
}

/** Of a text that describes something, rather than being data: it is parsed within a few milliseconds. Chosen. */
const FEW = { depth: MAX_JSON_DEPTH, values: 40_000, members: 10_000, keys: 10_000 };
const OF_SANDBOX = {
  depth: MAX_JSON_DEPTH,
  values: MAX_LINE_VALUES,
  members: MAX_LINE_MEMBERS,
  keys: MAX_LINE_MEMBERS,
};

/** Every kind of JSON that comes from outside. Readers that stop earlier by bytes, as those of sockets do, say so beside it. */
export const JSON_BOUNDS = {
  /** A message of an MCP client, over stdio or HTTP. How deeply it is nested is looked at later, because its id must be known. */
  clientMessage: {
    bytes: MAX_CLIENT_LINE_BYTES,
    depth: Number.POSITIVE_INFINITY,
    values: MAX_CLIENT_VALUES,
    members: MAX_CLIENT_MEMBERS,
    keys: MAX_CLIENT_KEYS,
  },
  /** A message of an MCP server. How deeply it is nested is looked at later, because the request that it answers must be known. */
  serverMessage: {
    bytes: MAX_RESULT_BYTES,
    depth: Number.POSITIVE_INFINITY,
    values: MAX_RESULT_VALUES,
    members: MAX_RESULT_VALUES,
    keys: MAX_RESULT_KEYS,
    longNumbers: MAX_RESULT_LONG_NUMBERS,
  },
  /**
   * A part of a message that is read alone: a tool, a member of a tool, a cursor, an error. The largest of 1,084 real tools has 0.1 MB
   * and 8,000 values.
   */
  serverPart: {
    bytes: 1 * MIB,
    depth: MAX_JSON_DEPTH,
    values: 250_000,
    members: 100_000,
    keys: 20_000,
    longNumbers: 10_000,
  },
  /** A frame of a sandbox. */
  frame: { bytes: MAX_SANDBOX_LINE_BYTES, ...OF_SANDBOX, longNumbers: MAX_LINE_LONG_NUMBERS },
  /** A line of a program's runner, other than its last. */
  runnerLine: { bytes: MAX_SANDBOX_LINE_BYTES, ...OF_SANDBOX },
  /** Anything that is written for the page, the local API and the commands: requests, bundles, rules. */
  request: { bytes: 8 * MIB, ...FEW },
  /** A description of an API, which is parsed in a thread of its own. The largest public one found has 260,000 values and 6,600 keys. */
  apiDescription: { bytes: 32 * MIB, depth: MAX_JSON_DEPTH, values: 1_000_000, members: 1_000_000, keys: 50_000 },
  /** What an index, an issuer or an authorization server publishes. */
  publication: { bytes: 64 * MIB, depth: MAX_JSON_DEPTH, values: 1_000_000, members: 1_000_000, keys: 50_000 },
} as const satisfies Record<string, JsonBounds>;

export type ReadJson =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** How many values it has, as `measureJson` counts them. */
      readonly values: number;
    }
  | {
      readonly ok: false;
      /** What the text is: `not JSON`, or in which way it is too large, to follow "is". */
      readonly reason: string;
      /** Whether it may be valid and only exceeds a bound. */
      readonly isTooMuch: boolean;
    };

/** The value of a text in UTF-8, if it is JSON within `bounds`. Never throws. */
export function readUntrusted(text: Buffer | string, bounds: JsonBounds): ReadJson {
  const bytes = typeof text === 'string' ? Buffer.byteLength(text) : text.length;
  if (bytes > bounds.bytes) {
    return tooMuch(`too large: more than ${formatCount(bounds.bytes)} bytes`);
  }
  const extent = measureJson(typeof text === 'string' ? Buffer.from(text) : text, bounds);
  return parseMeasured(text.toString('utf8'), extent, bounds);
}

/** The same for a text whose extent and bytes the caller knows. */
export function parseMeasured(text: string, extent: JsonExtent, bounds: JsonBounds): ReadJson {
  const excess = whatExceeds(extent, bounds);
  if (excess !== undefined) {
    return tooMuch(excess);
  }
  try {
    const { longNumbers } = bounds;
    const value: unknown = longNumbers === undefined ? JSON.parse(text) : parseExact(text, longNumbers);
    return { ok: true, value, values: extent.values };
  } catch (error) {
    return error instanceof RangeError ? tooMuch(error.message) : { ok: false, reason: 'not JSON', isTooMuch: false };
  }
}

/** What of a text is beyond its bounds, to follow "is"; undefined if nothing is. */
function whatExceeds(extent: JsonExtent, bounds: JsonBounds): string | undefined {
  if (extent.depth > bounds.depth) {
    return `nested deeper than ${bounds.depth} levels`;
  }
  const units = { values: 'values', members: 'object members', keys: 'different keys' } as const;
  const unit = (['values', 'members', 'keys'] as const).find((each) => extent[each] > bounds[each]);
  return unit && `too large: more than ${formatCount(bounds[unit])} ${units[unit]}`;
}

function tooMuch(reason: string): ReadJson {
  return { ok: false, reason, isTooMuch: true };
}

function formatCount(count: number): string {
  return count.toLocaleString('en-US');
}
