/**
 * Reduces a tool's input schema to the parts that are certain, as draft 7, which the validator understands. Servers use every draft
 * and deviate from them. Keywords that a server may interpret differently are dropped, and left for the server to check.
 */
import { isObject } from '../../core/base/is-object.ts';
import { listOf, type Schema } from '../../core/catalog/json-schema.ts';

/** Keywords that mean the same in every draft and on every server. */
const CERTAIN = ['type', 'enum', 'const', 'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems'] as const;
const COUNTED = ['minProperties', 'maxProperties'] as const;
/** Draft 4 has booleans for the exclusive bounds. */
const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const;
const SCHEMAS_BY_NAME = ['properties', '$defs', 'definitions'] as const;

/** The schema without patterns and formats (each language has its own), `not`, conditions and unknown keywords; `oneOf` becomes `anyOf`. */
export function looseSchema(schema: Schema): Schema {
  const { $id: _, id: __, ...root } = schema;
  return looseObject(root);
}

function loose(schema: unknown): unknown {
  if (!isObject(schema)) {
    return schema !== false;
  }
  // In an embedded document, references are resolved differently.
  return schema['$id'] === undefined && typeof schema['id'] !== 'string' ? looseObject(schema) : true;
}

function looseObject(schema: Schema): Schema {
  // Only the reference: older drafts ignore everything next to it.
  if (typeof schema['$ref'] === 'string') {
    return { ...pick(schema, SCHEMAS_BY_NAME, looseMap), $ref: schema['$ref'] };
  }
  const { multipleOf, nullable } = schema;
  const found: Schema = {
    ...pick(schema, CERTAIN, (value) => value),
    ...pick(schema, COUNTED, (value) => value),
    ...pick(schema, BOUNDS, (value) => (typeof value === 'number' ? value : undefined)),
    // For fractions, the result depends on rounding.
    ...(Number.isInteger(multipleOf) && { multipleOf }),
    ...pick(schema, SCHEMAS_BY_NAME, looseMap),
    ...pick(schema, ['anyOf', 'allOf'], looseList),
    ...looseItems(schema),
    ...looseRest(schema),
    ...looseRequired(schema),
  };
  const oneOf = listOf(schema['oneOf']);
  const all =
    oneOf.length === 0 ? found : { ...found, allOf: [...listOf(found['allOf']), { anyOf: oneOf.map(loose) }] };
  return nullable === true ? { ...pick(all, SCHEMAS_BY_NAME, (value) => value), anyOf: [{ type: 'null' }, all] } : all;
}

/** `items`, or tuples in the notation of draft 7. */
function looseItems({ prefixItems, items, additionalItems }: Schema): Schema {
  const [first, rest] = Array.isArray(items) ? [items, additionalItems] : [prefixItems, items];
  const others = rest === undefined ? true : loose(rest);
  return Array.isArray(first) && first.length > 0
    ? { items: first.map(loose), additionalItems: others }
    : { items: others };
}

/** `additionalProperties`, unless a key might match a pattern: that is left to the server. */
function looseRest({ additionalProperties: rest, patternProperties }: Schema): Schema {
  return rest === undefined || patternProperties !== undefined ? {} : { additionalProperties: loose(rest) };
}

/** `required`, without keys that have a default: servers fill those in. */
function looseRequired({ required, properties }: Schema): Schema {
  const known = isObject(properties) ? properties : {};
  const names = listOf(required).filter((name) => {
    const property = typeof name === 'string' && Object.hasOwn(known, name) ? known[name] : undefined;
    return typeof name === 'string' && !(isObject(property) && Object.hasOwn(property, 'default'));
  });
  return names.length === 0 ? {} : { required: [...new Set(names)] };
}

function looseMap(value: unknown): Schema | undefined {
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, loose(one)]))
    : undefined;
}

function looseList(value: unknown): unknown[] | undefined {
  return Array.isArray(value) && value.length > 0 ? value.map(loose) : undefined;
}

/** The given keywords of a schema, converted by `read`; undefined values are left out. */
function pick(schema: Schema, keywords: readonly string[], read: (value: unknown) => unknown): Schema {
  const found = keywords.map((keyword) => [keyword, read(schema[keyword])] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}
