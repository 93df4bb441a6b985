/** What a call of a compiled tool sends to a GraphQL server. */
import { messageOf } from '../../../../core/base/errors.ts';
import { isObject, type JsonObject } from '../../../../core/base/is-object.ts';
import { RequestError } from '../../../../core/protocol/server-requests.ts';
import type { GraphqlDocumentOperation, GraphqlOperation } from '../compiled-api.ts';
import { checkSelection, operationsIn } from './document-scan.ts';

const INVALID_PARAMS = -32_602;

/** The body of a request (GraphQL over HTTP). */
export interface GraphqlRequest {
  readonly query: string;
  readonly variables: JsonObject;
}

/** Throws a `RequestError` with the code of invalid parameters for arguments that cannot be sent. */
export function buildGraphqlRequest(
  operation: GraphqlOperation | GraphqlDocumentOperation,
  args: JsonObject,
): GraphqlRequest {
  return operation.kind === 'graphql' ? fieldRequest(operation, args) : documentRequest(operation, args);
}

function fieldRequest({ document, variables, selection }: GraphqlOperation, args: JsonObject): GraphqlRequest {
  const known = new Set(variables);
  const given = Object.entries(args).filter(([name, value]) => name !== selection?.argument && value !== undefined);
  const unknown = given.find(([name]) => !known.has(name));
  if (unknown !== undefined) {
    throw invalid(`there is no argument "${unknown[0]}"`);
  }
  const query = selection === undefined ? document : withSelection(document, selection, args[selection.argument]);
  // `fromEntries` defines members, so that `__proto__` is one like any other.
  return { query, variables: Object.fromEntries(given) };
}

function withSelection(
  document: string,
  { argument, start, end }: NonNullable<GraphqlOperation['selection']>,
  own: unknown,
): string {
  if (own === undefined || own === null) {
    return document;
  }
  const selected = textOf(own, argument, checkSelection);
  return `${document.slice(0, start)}${selected}${document.slice(end)}`;
}

function documentRequest({ allows }: GraphqlDocumentOperation, args: JsonObject): GraphqlRequest {
  const { document, variables } = args;
  const kinds = textOf(document, 'document', operationsIn);
  const refused = kinds.find((kind) => kind !== 'query' && kind !== allows);
  if (refused !== undefined) {
    throw invalid(
      `document may only have ${allows === 'query' ? 'queries' : 'queries and mutations'}, not "${refused.slice(0, 40)}"`,
    );
  }
  if (kinds.length !== 1) {
    throw invalid(`document must have one operation, not ${kinds.length}`);
  }
  if (variables !== undefined && variables !== null && !isObject(variables)) {
    throw invalid('variables must be an object');
  }
  return { query: String(document), variables: isObject(variables) ? variables : {} };
}

/** What `check` returns for an argument that is a text. */
function textOf<Checked>(value: unknown, argument: string, check: (text: string) => Checked): Checked {
  if (typeof value !== 'string') {
    throw invalid(`${argument} must be a text`);
  }
  try {
    return check(value);
  } catch (error) {
    throw invalid(`${argument} ${messageOf(error)}`);
  }
}

function invalid(message: string): RequestError {
  return new RequestError('rpc', message, { code: INVALID_PARAMS });
}
