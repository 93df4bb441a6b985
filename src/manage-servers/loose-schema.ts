/**
 * A tool's input schema as far as it is certain, in draft 7, which the validator reads. Servers write every draft, and bend
 * them; what they may read in another way than the validator is left out, and the server judges it.
 */
import { isObject } from '../base/is-object.ts';
import { listOf, type Schema } from '../catalog/json-schema.ts';

/** Keywords that mean the same in every draft and on every server. */
const CERTAIN = ['type', 'enum', 'const', 'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems'] as const;
const COUNTED = ['minProperties', 'maxProperties'] as const;
/** Draft 4 has booleans here. */
const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'] as const;
const SCHEMAS_BY_NAME = ['properties', '$defs', 'definitions'] as const;

/** Without patterns and formats (each language has its own), `not`, conditions, and what is unknown; `oneOf` becomes `anyOf`. */
export function looseSchema(schema: Schema): Schema {
  const { $id: _, id: __, ...root } = schema;
  return looseObject(root);
}

function loose(schema: unknown): unknown {
  if (!isObject(schema)) {
    return schema !== false;
  }
  // An embedded document has references of its own.
  return schema['$id'] === undefined && typeof schema['id'] !== 'string' ? looseObject(schema) : true;
}

function looseObject(schema: Schema): Schema {
  // Alone: in older drafts everything beside a reference is ignored.
  if (typeof schema['$ref'] === 'string') {
    return { ...pick(schema, SCHEMAS_BY_NAME, looseMap), $ref: schema['$ref'] };
  }
  const { multipleOf, nullable } = schema;
  const found: Schema = {
    ...pick(schema, CERTAIN, (value) => value),
    ...pick(schema, COUNTED, (value) => value),
    ...pick(schema, BOUNDS, (value) => (typeof value === 'number' ? value : undefined)),
    // Of fractions, rounding decides.
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

/** Lists whose first members have schemas of their own, as draft 7 writes them. */
function looseItems({ prefixItems, items, additionalItems }: Schema): Schema {
  const [first, rest] = Array.isArray(items) ? [items, additionalItems] : [prefixItems, items];
  const others = rest === undefined ? true : loose(rest);
  return Array.isArray(first) && first.length > 0
    ? { items: first.map(loose), additionalItems: others }
    : { items: others };
}

/** A key that a pattern may match is left to the server. */
function looseRest({ additionalProperties: rest, patternProperties }: Schema): Schema {
  return rest === undefined || patternProperties !== undefined ? {} : { additionalProperties: loose(rest) };
}

/** A server fills in a default itself, also where it lists the key as required. */
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

/** The keywords of a schema that it has, read by `read`; those that give nothing are left out. */
function pick(schema: Schema, keywords: readonly string[], read: (value: unknown) => unknown): Schema {
  const found = keywords.map((keyword) => [keyword, read(schema[keyword])] as const);
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}
