/**
 * Reads a GraphQL schema: an introspection result as JSON, or the schema definition language (GraphQL, October 2021, sections 3
 * and 4). Schemas are taken as they are: real ones use directives that they do not define, and break other rules without harm.
 */
import {
  buildASTSchema,
  buildClientSchema,
  type DefinitionNode,
  type DocumentNode,
  type GraphQLSchema,
  type IntrospectionQuery,
  Kind,
  parse,
} from 'graphql';
import { messageOf } from '../../../../core/base/errors.ts';
import { isObject } from '../../../../core/base/is-object.ts';
import { JSON_BOUNDS, readUntrusted } from '../../../../core/protocol/untrusted-json.ts';

/** Chosen: six times those of GitHub's schema, which is one of the largest that are public. */
const MAX_TOKENS = 2_000_000;

/** The schema in `text`. Throws an Error whose message follows "the schema". */
export function readSchema(text: string): GraphQLSchema {
  try {
    return /^\uFEFF?\s*\{/.test(text) ? fromIntrospection(text) : fromDefinitions(text);
  } catch (error) {
    if (error instanceof RangeError) {
      throw new Error('is nested too deeply', { cause: error });
    }
    throw error;
  }
}

function fromIntrospection(text: string): GraphQLSchema {
  const read = readUntrusted(text.replace(/^\uFEFF/, ''), JSON_BOUNDS.publication);
  if (!read.ok) {
    throw new Error(`is ${read.reason}`);
  }
  const answer = isObject(read.value) ? read.value : {};
  const data = isObject(answer['data']) ? answer['data'] : answer;
  if (!isObject(data['__schema'])) {
    const said = Array.isArray(answer['errors']) ? `: ${JSON.stringify(answer['errors']).slice(0, 500)}` : '';
    throw new Error(`is not the result of an introspection query: it has no "__schema"${said}`);
  }
  try {
    return buildClientSchema(data as unknown as IntrospectionQuery, { assumeValid: true });
  } catch (cause) {
    throw new Error(`is not a complete result of an introspection query: ${shortened(cause)}`, { cause });
  }
}

function fromDefinitions(text: string): GraphQLSchema {
  try {
    const document = parse(text, { noLocation: true, maxTokens: MAX_TOKENS });
    return buildASTSchema(withDefinitions(document), { assumeValid: true, assumeValidSDL: true });
  } catch (cause) {
    if (cause instanceof RangeError) {
      throw cause;
    }
    throw new Error(`is neither an introspection result nor in the schema definition language: ${shortened(cause)}`, {
      cause,
    });
  }
}

/** Services of a federated graph only extend `Query` and `Mutation`. Without this, their fields would be missing silently. */
function withDefinitions(document: DocumentNode): DocumentNode {
  const defined = new Set<string>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OBJECT_TYPE_DEFINITION) {
      defined.add(definition.name.value);
    }
  }
  const definitions = document.definitions.map((definition): DefinitionNode => {
    if (definition.kind !== Kind.OBJECT_TYPE_EXTENSION || defined.has(definition.name.value)) {
      return definition;
    }
    defined.add(definition.name.value);
    return { ...definition, kind: Kind.OBJECT_TYPE_DEFINITION };
  });
  return { ...document, definitions };
}

function shortened(error: unknown): string {
  const text = messageOf(error).replaceAll(/\s+/g, ' ');
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
