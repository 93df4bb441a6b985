/** Describes data without revealing it: types and sizes. Cheap, because every call goes through it. */

import { isCarriedNumber, stringifyExact } from '../../core/protocol/exact-json.ts';

/** Type and size of one value: `string(12)`, `array(3)`, `object(2)`, `number`, `boolean`, `null`. */
export function shapeOf(value: unknown): string {
  if (typeof value === 'string') {
    return `string(${value.length})`;
  }
  if (Array.isArray(value)) {
    return `array(${value.length})`;
  }
  if (value === null) {
    return 'null';
  }
  return typeof value === 'object' ? `object(${Object.keys(value).length})` : typeof value;
}

export interface ArgumentShape {
  /** Shape of each declared argument. */
  readonly shapes: Readonly<Record<string, string>>;
  /** Number of other arguments. */
  readonly undeclared: number;
}

/** Names of arguments in one record: records wait in memory, and a server may declare thousands of names. Chosen. */
const MAX_CHARS = 8_192;

/** Includes only names that the tool declares: the keys of a free-form map are data, and may be secret. */
export function shapeOfArguments(
  given: Readonly<Record<string, unknown>>,
  declared: ReadonlySet<string>,
): ArgumentShape {
  const names = Object.keys(given);
  const known: string[] = [];
  let chars = 0;
  for (const name of names) {
    if (declared.has(name) && chars + name.length <= MAX_CHARS) {
      chars += name.length + SHAPE_CHARS;
      known.push(name);
    }
  }
  // fromEntries defines properties, so `__proto__` is a name like any other.
  const shapes = Object.fromEntries(known.map((name) => [name, shapeOf(given[name])]));
  return { shapes, undeclared: names.length - known.length };
}

const SHAPE_CHARS = 'string(100)'.length;

/** Size of a value as JSON in UTF-8, ignoring escapes. Does not copy strings, so large ones cost little. */
export function jsonBytes(value: unknown): number {
  if (typeof value === 'string') {
    return Buffer.byteLength(value) + 2;
  }
  if (typeof value !== 'object' || value === null) {
    return String(value).length;
  }
  if (isCarriedNumber(value)) {
    return stringifyExact(value).length;
  }
  let bytes = 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      bytes += jsonBytes(item) + 1;
    }
    return bytes - Math.min(1, value.length);
  }
  let members = 0;
  for (const key in value) {
    bytes += Buffer.byteLength(key) + 4 + jsonBytes((value as Record<string, unknown>)[key]);
    members += 1;
  }
  return bytes - Math.min(1, members);
}
