/**
 * The keywords of a schema as JSON Schema 2020-12 has them, whatever the version of the document: `nullable`, limits that are `true`,
 * types and values as people write them by mistake. What only concerns documents (`example`, `xml`, `discriminator` …) is left out.
 */
import { isObject, type JsonObject } from '../../../../core/base/is-object.ts';
import { listOf } from '../../../../core/catalog/json-schema.ts';
import { objectOf, shorten, textOf } from './api-document.ts';

/** Values of an enumeration that are kept, and characters of a default. Chosen: nobody reads more. */
const MAX_VALUES = 500;
const MAX_DEFAULT_CHARS = 1_000;
/** Levels of a default or a value. Chosen. */
const MAX_VALUE_DEPTH = 8;

const TYPES: ReadonlySet<string> = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null']);
/** What real descriptions have in place of a type. */
const MISTAKEN_TYPES: Readonly<Record<string, string>> = {
  int: 'integer',
  long: 'integer',
  float: 'number',
  double: 'number',
  decimal: 'number',
  bool: 'boolean',
  str: 'string',
  date: 'string',
  datetime: 'string',
  file: 'string',
};

/** Limits of values: of no use in the type of an answer. */
const LIMITS = ['minLength', 'maxLength', 'multipleOf', 'minItems', 'maxItems', 'minProperties', 'maxProperties'];
const FLAGS = ['uniqueItems', 'pattern'];

interface Types {
  /** Without null, unless there is nothing else. */
  readonly types: readonly string[];
  /** Whether null is allowed beside them. */
  readonly hasNull: boolean;
}

/** A fifth of the time went into finding them again, because many operations share schemas. */
const known = new WeakMap<JsonObject, Types>();

/** The types that `schema` names. */
export function typesOf(schema: JsonObject): Types {
  const types = known.get(schema) ?? findTypes(schema);
  known.set(schema, types);
  return types;
}

function findTypes(schema: JsonObject): Types {
  const named = (Array.isArray(schema['type']) ? listOf(schema['type']) : [schema['type']]).flatMap((type) => {
    const lower = textOf(type).toLowerCase();
    return TYPES.has(lower) ? lower : Object.hasOwn(MISTAKEN_TYPES, lower) ? (MISTAKEN_TYPES[lower] ?? []) : [];
  });
  const types = [...new Set(named)].filter((type) => type !== 'null');
  if (types.length === 0 && named.length > 0) {
    return { types: ['null'], hasNull: false };
  }
  return {
    types,
    hasNull: named.includes('null') || schema['nullable'] === true || schema['x-nullable'] === true,
  };
}

/** Everything of a schema but its subschemas, `required` and null. */
export function plainKeywords(schema: JsonObject, maxTextChars: number, hasLimits: boolean): JsonObject {
  const { types } = typesOf(schema);
  const description = descriptionOf(schema, maxTextChars);
  return {
    ...(types.length > 0 && { type: types.length === 1 ? types[0] : types }),
    ...(description !== '' && { description }),
    ...valuesOf(schema, types),
    ...encodingOf(schema),
    ...(hasLimits && limitsOf(schema)),
  };
}

function descriptionOf(schema: JsonObject, maxChars: number): string {
  const text = textOf(schema['description']) || textOf(schema['title']);
  return shorten(schema['deprecated'] === true ? `Deprecated. ${text}`.trim() : text, maxChars);
}

function valuesOf(schema: JsonObject, types: readonly string[]): JsonObject {
  const values = listOf(schema['enum']);
  const isText = types.length === 1 && types[0] === 'string';
  // YAML reads `1.0` and `true` in an enumeration of texts as something else.
  const exact = (value: unknown): unknown =>
    isText && /^(?:number|boolean)$/.test(typeof value) ? String(value) : value;
  const isKept = values.length > 0 && values.length <= MAX_VALUES && values.every((value) => isSmall(value));
  return {
    ...(isKept && { enum: [...new Set(values.map(exact))] }),
    ...(schema['const'] !== undefined && isSmall(schema['const']) && { const: exact(schema['const']) }),
    ...(schema['default'] !== undefined && isSmall(schema['default']) && { default: exact(schema['default']) }),
  };
}

/** Bytes in a JSON text are base64. As a part of a form they are a file, which the form says. */
function encodingOf(schema: JsonObject): JsonObject {
  const { format, contentEncoding, contentMediaType } = schema;
  if (format === 'byte' || format === 'base64' || textOf(schema['type']) === 'file') {
    return { contentEncoding: 'base64' };
  }
  return {
    ...(typeof format === 'string' && { format: shorten(format, 100) }),
    ...(typeof contentEncoding === 'string' && { contentEncoding: shorten(contentEncoding, 100) }),
    ...(typeof contentMediaType === 'string' && { contentMediaType: shorten(contentMediaType, 100) }),
  };
}

function limitsOf(schema: JsonObject): JsonObject {
  const plain = [
    ...LIMITS.filter((key) => typeof schema[key] === 'number'),
    ...FLAGS.filter((key) => schema[key] === true || typeof schema[key] === 'string'),
  ];
  return {
    ...Object.fromEntries(plain.map((key) => [key, schema[key]])),
    ...bound(schema, 'minimum', 'exclusiveMinimum'),
    ...bound(schema, 'maximum', 'exclusiveMaximum'),
  };
}

/** Until OpenAPI 3.0, `exclusiveMinimum` says of `minimum` that it is exclusive. */
function bound(schema: JsonObject, inclusive: string, exclusive: string): JsonObject {
  const { [inclusive]: limit, [exclusive]: other } = schema;
  return {
    ...(typeof limit === 'number' && { [other === true ? exclusive : inclusive]: limit }),
    ...(typeof other === 'number' && { [exclusive]: other }),
  };
}

/** `written` for a value that can also be null. */
export function orNull(written: JsonObject): JsonObject {
  const { type, enum: values, anyOf, oneOf } = written;
  const nothing = { type: 'null' };
  if (Array.isArray(values)) {
    const withNull = { ...written, enum: values.includes(null) ? values : [...listOf(values), null] };
    return type === undefined ? withNull : { ...withNull, type: [...[type].flat(), 'null'] };
  }
  const alternatives = Array.isArray(anyOf) ? 'anyOf' : 'oneOf';
  if (type === undefined && Array.isArray(anyOf ?? oneOf)) {
    return { ...written, [alternatives]: [...listOf(written[alternatives]), nothing] };
  }
  const isNamed = ['$ref', 'allOf', 'properties', 'const'].some((key) => written[key] !== undefined);
  if (isNamed) {
    const { description, default: value, ...rest } = written;
    return {
      ...(description !== undefined && { description }),
      ...(value !== undefined && { default: value }),
      anyOf: [rest, nothing],
    };
  }
  return type === undefined ? written : { ...written, type: [...[type].flat(), 'null'] };
}

/** The names that a schema lists as required. Old descriptions also say it of the member. */
export function requiredOf(schema: JsonObject): string[] {
  const said = Object.entries(objectOf(schema['properties'])).filter(
    ([, member]) => isObject(member) && member['required'] === true,
  );
  const listed = listOf(schema['required']).filter((name) => typeof name === 'string');
  return [...new Set([...listed, ...said.map(([name]) => name)])];
}

function isSmall(value: unknown): boolean {
  return sizeOf(value, MAX_VALUE_DEPTH) <= MAX_DEFAULT_CHARS;
}

/** About the length of a value as JSON; infinite if it is too deep. */
function sizeOf(value: unknown, depth: number): number {
  if (typeof value === 'string') {
    return value.length;
  }
  if (typeof value !== 'object' || value === null) {
    return 4;
  }
  const members = Object.entries(value);
  let size = 2;
  for (const [key, member] of depth === 0 ? [] : members) {
    size += key.length + sizeOf(member, depth - 1);
    if (size > MAX_DEFAULT_CHARS) {
      break;
    }
  }
  return depth === 0 ? Number.POSITIVE_INFINITY : size;
}
