/** `structuredClone` for data: primitives, objects, arrays, maps, sets, dates, errors, patterns and bytes. */

export function cloneValue<T>(value: T): T {
  return copy(value, new Map()) as T;
}

function copy(value: unknown, known: Map<object, unknown>): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw new DOMException(`${String(value)} could not be cloned.`, 'DataCloneError');
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  if (known.has(value)) {
    return known.get(value);
  }
  return copyObject(value, known);
}

function copyObject(value: object, known: Map<object, unknown>): unknown {
  const made = emptyCopy(value);
  known.set(value, made);
  if (value instanceof Map) {
    value.forEach((item, key) => (made as typeof value).set(copy(key, known), copy(item, known)));
  } else if (value instanceof Set) {
    value.forEach((item) => (made as typeof value).add(copy(item, known)));
  } else if (Array.isArray(value) || isPlain(value)) {
    for (const [key, item] of Object.entries(value)) {
      Object.defineProperty(made, key, {
        value: copy(item, known),
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
  }
  return made;
}

/** Complete for values without parts. */
function emptyCopy(value: object): object {
  if (Array.isArray(value)) {
    return Array.from({ length: value.length });
  }
  if (value instanceof Map || value instanceof Set) {
    return value instanceof Map ? new Map() : new Set();
  }
  if (value instanceof Date) {
    return new Date(value.getTime());
  }
  if (value instanceof RegExp) {
    return new RegExp(value.source, value.flags);
  }
  if (value instanceof ArrayBuffer) {
    return value.slice(0);
  }
  if (ArrayBuffer.isView(value)) {
    return (value as Uint8Array).slice();
  }
  if (value instanceof Error) {
    return Object.assign(new Error(value.message), { name: value.name, stack: value.stack });
  }
  return {};
}

function isPlain(value: object): boolean {
  return (
    !(value instanceof Date || value instanceof RegExp || value instanceof ArrayBuffer || value instanceof Error) &&
    !ArrayBuffer.isView(value)
  );
}
