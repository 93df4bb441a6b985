/** What is told of data without telling it: types and sizes. On the way of every call, so it looks at little. */

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
  /** Shape of each argument that is declared. */
  readonly shapes: Readonly<Record<string, string>>;
  /** How many others there are. */
  readonly undeclared: number;
}

/** Names are told only where the tool declares them: the keys of a free map are data, and may be secret. */
export function shapeOfArguments(
  given: Readonly<Record<string, unknown>>,
  declared: ReadonlySet<string>,
): ArgumentShape {
  const names = Object.keys(given);
  const told = names.filter((name) => declared.has(name));
  // fromEntries defines members, so a name `__proto__` is one like any other.
  const shapes = Object.fromEntries(told.map((name) => [name, shapeOf(given[name])]));
  return { shapes, undeclared: names.length - told.length };
}

/** Bytes of a JSON value as JSON in UTF-8, without escapes. Texts are not copied, so that a large one costs little. */
export function jsonBytes(value: unknown): number {
  if (typeof value === 'string') {
    return Buffer.byteLength(value) + 2;
  }
  if (typeof value !== 'object' || value === null) {
    return String(value).length;
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
