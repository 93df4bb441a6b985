/**
 * Messages of clients before the MCP SDK sees them. The SDK (2.4.0) drops a request that does not match its schema without an
 * answer, and over HTTP answers it without its id, so such requests are refused here. A test compares the check with the SDK's.
 */
import { isObject, type JsonObject } from '../../core/base/is-object.ts';
import { isId } from './opening-checks.ts';

export const INVALID_REQUEST = -32_600;
/** Messages in one batch, which exist in 2025-03-26 only. The limit of the SDK over HTTP. */
export const MAX_BATCH = 100;

const MEMBERS = ['jsonrpc', 'id', 'method', 'params'];
const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** The message without `params` and `_meta` that are null: clients in some languages write what they leave out like that. */
export function withoutNulls(message: JsonObject): JsonObject {
  const { params, ...rest } = message;
  if (params === null) {
    return rest;
  }
  if (!isObject(params) || params['_meta'] !== null) {
    return message;
  }
  const { _meta, ...given } = params;
  return { ...message, params: given };
}

/** Whether the message asks for an answer that can name it: it has a method, and an id that JSON-RPC allows. */
export function isAnswerable(message: JsonObject): message is JsonObject & { readonly id: string | number } {
  const { id } = message;
  return 'method' in message && (typeof id === 'string' || (typeof id === 'number' && Number.isFinite(id)));
}

/** Why a request cannot be served, as a sentence; undefined for a valid one, and for everything that is no request. */
export function whyInvalid(message: JsonObject): string | undefined {
  if (!isAnswerable(message)) {
    return undefined;
  }
  const { jsonrpc, id, method, params = {} } = message;
  const other = Object.keys(message).find((name) => !MEMBERS.includes(name));
  if (jsonrpc !== '2.0') {
    return '"jsonrpc" must be "2.0"';
  }
  if (!isId(id)) {
    return '"id" must be a string or an integer';
  }
  if (typeof method !== 'string') {
    return '"method" must be a string';
  }
  if (other !== undefined) {
    return `a request has no member ${JSON.stringify(other.slice(0, 100))}`;
  }
  return isObject(params) ? whyInvalidMeta(params['_meta']) : '"params" must be an object';
}

function whyInvalidMeta(meta: unknown = {}): string | undefined {
  if (!isObject(meta)) {
    return '"_meta" must be an object';
  }
  const { progressToken, [RELATED_TASK]: task } = meta;
  if (progressToken !== undefined && !isId(progressToken)) {
    return '"progressToken" must be a string or an integer';
  }
  return task === undefined || (isObject(task) && typeof task['taskId'] === 'string')
    ? undefined
    : `"${RELATED_TASK}" must be an object with a "taskId"`;
}
