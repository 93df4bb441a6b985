/** Types of GraphQL as JSON Schema: of arguments, with definitions for input objects and enums, and of results. */
import {
  type GraphQLArgument,
  type GraphQLEnumType,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLLeafType,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLScalarType,
  isEnumType,
  isListType,
  isNonNullType,
  isScalarType,
} from 'graphql';
import type { JsonObject } from '../../../../core/base/is-object.ts';

/** A description of an argument or a member. Chosen: what is shown of it is shorter. */
const DESCRIPTION_CHARS = 400;
/** A longer default is not shown. Chosen. */
const MAX_DEFAULT_CHARS = 400;
/** What a type costs that is only named. */
const STUB_BYTES = 120;
/** Nested lists that are distinguished. Chosen: real schemas have two. */
const MAX_LISTS = 8;

/** `Int` and `Float` of results can be any number of JSON; so can those of arguments, which the server checks. */
const SCALARS: ReadonlyMap<string, string> = new Map([
  ['Int', 'integer'],
  ['Float', 'number'],
  ['String', 'string'],
  ['Boolean', 'boolean'],
]);

/** A named input type as JSON Schema. */
interface Definition {
  readonly schema: JsonObject;
  readonly bytes: number;
  /** The types that it refers to. */
  readonly types: readonly NamedInput[];
}

type NamedInput = GraphQLInputObjectType | GraphQLEnumType;

export interface ArgumentSchema {
  readonly properties: ReadonlyMap<string, JsonObject>;
  readonly required: readonly string[];
  readonly definitions: ReadonlyMap<string, JsonObject>;
  /** Whether optional arguments or types were left out. */
  readonly isCut: boolean;
}

/** Makes schemas of arguments. One for each GraphQL schema, because tools share input types. */
export class ArgumentSchemas {
  readonly #definitions = new Map<NamedInput, Definition>();

  /** The schema of a field's arguments. With its definitions it has about `maxBytes`; what does not fit is left open. */
  of(args: readonly GraphQLArgument[], maxBytes: number): ArgumentSchema {
    const { schema, types, bytes, isCut } = this.#members(args, maxBytes / 2);
    const definitions = new Map<string, JsonObject>();
    const queue = new Set(types);
    let left = maxBytes - bytes;
    let isSimplified = isCut;
    // A set is walked in the order in which members are added, also while it is walked.
    for (const type of queue) {
      const definition = this.#definition(type);
      const cost = definition.bytes + definition.types.length * STUB_BYTES;
      if (cost <= left) {
        left -= cost;
        definitions.set(type.name, definition.schema);
        definition.types.forEach((each) => queue.add(each));
      } else {
        isSimplified = true;
        const kind = isEnumType(type) ? 'string' : 'object';
        definitions.set(type.name, { type: kind, description: `${type.name} of the GraphQL schema, not shown here` });
      }
    }
    return { ...schema, definitions, isCut: isSimplified };
  }

  #members(members: readonly (GraphQLArgument | GraphQLInputField)[], maxBytes: number) {
    const properties = new Map<string, JsonObject>();
    const required: string[] = [];
    const types = new Set<NamedInput>();
    let bytes = 0;
    let isCut = false;
    for (const member of members) {
      const isRequired = isNonNullType(member.type) && member.defaultValue === undefined;
      const schema = memberSchema(member, types);
      const cost = JSON.stringify(schema).length + member.name.length;
      if (bytes + cost <= maxBytes || isRequired) {
        bytes += cost;
        properties.set(member.name, schema);
        if (isRequired) {
          required.push(member.name);
        }
      } else {
        isCut = true;
      }
    }
    return { schema: { properties, required }, types: [...types], bytes, isCut };
  }

  #definition(type: NamedInput): Definition {
    const known = this.#definitions.get(type) ?? this.#define(type);
    this.#definitions.set(type, known);
    return known;
  }

  #define(type: NamedInput): Definition {
    if (isEnumType(type)) {
      const schema = { type: 'string', ...described(type.description), enum: type.getValues().map(({ name }) => name) };
      return { schema, bytes: JSON.stringify(schema).length, types: [] };
    }
    const { schema, types } = this.#members(Object.values(type.getFields()), Number.POSITIVE_INFINITY);
    const whole = {
      type: 'object',
      ...described(type.isOneOf ? `Exactly one of its members. ${type.description ?? ''}` : type.description),
      properties: Object.fromEntries(schema.properties),
      ...(schema.required.length === 0 ? {} : { required: schema.required }),
      ...(type.isOneOf ? { minProperties: 1, maxProperties: 1 } : {}),
      additionalProperties: false,
    };
    return { schema: whole, bytes: JSON.stringify(whole).length, types };
  }
}

function memberSchema(member: GraphQLArgument | GraphQLInputField, types: Set<NamedInput>): JsonObject {
  const { schema, scalar } = inputSchema(member.type, types, 0);
  const deprecated = typeof member.deprecationReason === 'string' ? `Deprecated: ${member.deprecationReason} ` : '';
  const text = `${deprecated}${member.description ?? ''}`.trim();
  const isShown = member.defaultValue !== undefined && JSON.stringify(member.defaultValue).length <= MAX_DEFAULT_CHARS;
  return {
    ...schema,
    ...described(scalar === undefined ? text : `${scalarText(scalar)}${text === '' ? '' : `. ${text}`}`),
    ...(isShown ? { default: member.defaultValue } : {}),
  };
}

/** `scalar` is the custom scalar in the type, of which JSON Schema cannot say more than its name. */
interface InputSchema {
  readonly schema: JsonObject;
  readonly scalar?: GraphQLScalarType | undefined;
}

function inputSchema(type: GraphQLInputType, types: Set<NamedInput>, lists: number): InputSchema {
  if (isNonNullType(type)) {
    return inputSchemaOfNonNull(type.ofType, types, lists);
  }
  const { schema, scalar } = inputSchemaOfNonNull(type, types, lists);
  return { schema: orNull(schema), scalar };
}

function inputSchemaOfNonNull(type: GraphQLInputType, types: Set<NamedInput>, lists: number): InputSchema {
  if (isListType(type)) {
    if (lists >= MAX_LISTS) {
      return { schema: { type: 'array' } };
    }
    // Null is allowed as an element, but nobody means it.
    const element = isNonNullType(type.ofType) ? type.ofType.ofType : type.ofType;
    const { schema, scalar } = inputSchemaOfNonNull(element, types, lists + 1);
    return { schema: { type: 'array', items: schema }, scalar };
  }
  if (isScalarType(type)) {
    const plain = SCALARS.get(type.name);
    if (plain !== undefined) {
      return { schema: { type: plain } };
    }
    return type.name === 'ID' ? { schema: { type: ['string', 'integer'] } } : { schema: {}, scalar: type };
  }
  const named = type;
  types.add(named);
  return { schema: { $ref: `#/$defs/${named.name}` } };
}

/** The schema of a result of this type, if `ofNamed` gives that of its named type. */
export function outputSchema(
  type: GraphQLOutputType,
  ofNamed: (type: GraphQLNamedType) => JsonObject,
  lists = 0,
): JsonObject {
  const inner = isNonNullType(type) ? type.ofType : type;
  const schema = isListType(inner) ? listSchema(inner.ofType, ofNamed, lists) : ofNamed(inner as GraphQLNamedType);
  return isNonNullType(type) ? schema : orNull(schema);
}

function listSchema(
  element: GraphQLOutputType,
  ofNamed: (type: GraphQLNamedType) => JsonObject,
  lists: number,
): JsonObject {
  return lists >= MAX_LISTS ? { type: 'array' } : { type: 'array', items: outputSchema(element, ofNamed, lists + 1) };
}

/** The schema of a scalar or enum in a result. */
export function leafSchema(type: GraphQLLeafType): JsonObject {
  if (isEnumType(type)) {
    return { type: 'string', enum: type.getValues().map(({ name }) => name) };
  }
  const plain = type.name === 'ID' ? 'string' : SCALARS.get(type.name);
  return plain === undefined ? described(type.name) : { type: plain };
}

function orNull(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema;
  if (Array.isArray(values)) {
    return { ...schema, ...(type === undefined ? {} : { type: [type, 'null'] }), enum: [...values, null] };
  }
  if (schema['$ref'] !== undefined || schema['properties'] !== undefined) {
    return { anyOf: [schema, { type: 'null' }] };
  }
  return type === undefined ? schema : { ...schema, type: [type, 'null'].flat() };
}

function scalarText({ name, description, specifiedByURL }: GraphQLScalarType): string {
  const [first = ''] = (description ?? specifiedByURL ?? '').split('\n');
  return `${name}${first === '' ? '' : ` (${first.slice(0, 150)})`}`;
}

function described(text: string | null | undefined): JsonObject {
  const shown = cutText(text ?? '', DESCRIPTION_CHARS);
  return shown === '' ? {} : { description: shown };
}

/** The text, or its beginning with `…`. */
export function cutText(text: string, maxChars: number): string {
  const trimmed = text.trim();
  return trimmed.length > maxChars ? `${trimmed.slice(0, maxChars)}…` : trimmed;
}
