/** A GraphQL server with made-up data: every field of a schema has a value of its type. */
import {
  type GraphQLFieldResolver,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  graphql,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  isScalarType,
} from 'graphql';

const SCALARS: Readonly<Record<string, unknown>> = { Int: 3, Float: 0.5, Boolean: true };

/** Executes a request. Lists have an element for each type that is possible in them. */
export async function answer(schema: GraphQLSchema, request: { query: string; variables?: object }) {
  const typeOf: GraphQLFieldResolver<unknown, unknown> = (source, _args, _context, info) =>
    isMade(source) && source.value !== undefined ? source.value : made(schema, info.returnType);
  return graphql({
    schema,
    source: request.query,
    variableValues: { ...request.variables },
    fieldResolver: typeOf,
    typeResolver: (value) => (isMade(value) ? value.type : undefined),
  });
}

interface Made {
  readonly type: string;
  readonly value?: unknown;
}

function isMade(value: unknown): value is Made {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function made(schema: GraphQLSchema, type: GraphQLOutputType): unknown {
  if (isNonNullType(type)) {
    return made(schema, type.ofType);
  }
  if (isListType(type)) {
    const named = getNamedType(type);
    return isAbstractType(named)
      ? schema.getPossibleTypes(named).map(({ name }) => ({ type: name }))
      : [made(schema, type.ofType)];
  }
  if (isScalarType(type)) {
    return SCALARS[type.name] ?? 'text';
  }
  if (isEnumType(type)) {
    return type.getValues()[0]?.value;
  }
  const [first] = isAbstractType(type) ? schema.getPossibleTypes(type) : [type];
  return { type: first?.name };
}

/** A value for an argument of the type, with the members that are required. */
export function argumentFor(type: GraphQLInputType): unknown {
  if (isNonNullType(type)) {
    return argumentFor(type.ofType);
  }
  if (isListType(type)) {
    return [argumentFor(type.ofType)];
  }
  if (isInputObjectType(type)) {
    const fields = Object.values(type.getFields()).filter(isRequiredInputField);
    return Object.fromEntries(fields.map((field) => [field.name, argumentFor(field.type)]));
  }
  return isEnumType(type) ? type.getValues()[0]?.name : (SCALARS[getNamedType(type).name] ?? 'text');
}
