/** One call of an API: the request that it sends, and the result that its answer becomes. Pure. */

import type { EgressSource } from '../../../core/base/egress.ts';
import { isObject, type JsonObject } from '../../../core/base/is-object.ts';
import { VERSION } from '../../../core/base/package.ts';
import { stringifyExact } from '../../../core/protocol/exact-json.ts';
import { JSON_BOUNDS, readUntrusted } from '../../../core/protocol/untrusted-json.ts';
import type { HttpRequest, HttpResponse } from '../http/http-client.ts';
import { mediaType } from '../http/response-reader.ts';
import { buildRequest } from './build-request.ts';
import type { ApiOperation } from './compiled-api.ts';
import { buildGraphqlRequest } from './graphql/request.ts';
import { resultOfGraphql } from './graphql/result.ts';
import { anyRequest } from './http-tools.ts';
import { hasPages } from './next-page.ts';
import { resultOfAnswer } from './read-answer.ts';

/** Some APIs refuse requests without one. */
const USER_AGENT = `mcp-server-code-execution-mode/${VERSION}`;

const JSON_TYPE = /[/+]json$/;
/** Of a body, so much is looked at to see what it is. */
const SHOWN_BYTES = 200;

const OK = 200;
/** What a GraphQL API answers that could not read the request, or that is not one. */
const GRAPHQL = { kind: 'http', method: 'POST', path: '/', parameters: [], accept: ['application/json'] } as const;
/** Nothing is known of the answers, nor of pages. */
const ANY = { kind: 'http', path: '/', parameters: [], accept: [] } as const;

export interface Exchange {
  readonly operation: ApiOperation;
  readonly args: JsonObject;
  /** Where the request was sent. */
  readonly url: URL;
  readonly response: HttpResponse;
}

/** Throws a `RequestError` that names the argument that cannot be sent. */
export function requestOf(
  operation: ApiOperation,
  args: JsonObject,
  { egress, url: base }: { readonly url: URL; readonly egress?: EgressSource | undefined },
): HttpRequest {
  if (operation.kind === 'any') {
    const request = anyRequest(operation, args, base, egress);
    return { ...request, headers: { 'user-agent': USER_AGENT, accept: '*/*', ...request.headers } };
  }
  if (operation.kind === 'http') {
    const built = buildRequest(operation, args, base, {});
    return { ...built, headers: { 'user-agent': USER_AGENT, ...built.headers } };
  }
  return {
    url: base,
    method: 'POST',
    headers: { 'user-agent': USER_AGENT, accept: 'application/json', 'content-type': 'application/json' },
    body: stringifyExact(buildGraphqlRequest(operation, args)),
  };
}

/** Whether an operation changes nothing, as its annotations say. */
export function onlyReads(operation: ApiOperation): boolean {
  switch (operation.kind) {
    case 'any':
    case 'http':
      return /^(?:GET|HEAD|OPTIONS)$/.test(operation.method);
    case 'graphql':
      return !/^\s*mutation\b/.test(operation.document);
    default:
      return operation.allows === 'query';
  }
}

/**
 * Whether the body is JSON that may be passed on without being parsed. That of a list whose pages can be asked for is looked at, because
 * code would take a page without a next one for the last.
 */
export function isJsonAnswer({ operation, response }: Exchange): boolean {
  const { status } = response;
  return (
    (operation.kind === 'any' || (operation.kind === 'http' && !hasPages(operation))) &&
    status >= 200 &&
    status <= 299 &&
    JSON_TYPE.test(mediaType(response))
  );
}

/**
 * The members of a result around a value that stays as it came. Structured content is an object, and one whose only member is `result`
 * would be taken for what Python servers put around other values.
 */
export function around(body: Buffer): { readonly before: string; readonly after: string } {
  const isPlain = /^\s*\{(?!\s*"result")/.test(body.toString('latin1', 0, SHOWN_BYTES));
  return isPlain
    ? { before: '"content":[],"structuredContent":', after: '' }
    : { before: '"content":[],"structuredContent":{"result":', after: '}' };
}

/** The result of a call (MCP, `CallToolResult`). Throws a `RequestError` for an answer that is beyond the bounds of results. */
export function resultOf({ operation, args, url, response }: Exchange, body: Buffer): JsonObject {
  const answer = { ...response, body, args, url };
  if (operation.kind === 'http') {
    return resultOfAnswer({ ...answer, operation });
  }
  if (operation.kind === 'any') {
    return resultOfAnswer({ ...answer, operation: { ...ANY, method: operation.method } });
  }
  const read = readUntrusted(body, JSON_BOUNDS.serverMessage);
  const isAnswer = read.ok && isObject(read.value) && ('data' in read.value || 'errors' in read.value);
  if (isAnswer || (read.ok && response.status === OK)) {
    return resultOfGraphql(read.value, operation, args);
  }
  const result = resultOfAnswer({ ...answer, operation: GRAPHQL });
  return response.status === OK ? { ...result, isError: true } : result;
}
