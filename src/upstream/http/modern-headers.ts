/**
 * Headers that repeat parts of a message, from MCP 2026-07-28 on ("Streamable HTTP", standard request headers): those in
 * between need not read the body. The SDK (2.4.0) has the same functions and does not export them.
 */
import { isObject, type JsonObject } from '../../base/is-object.ts';

/** Key of `_meta` that says which version a message speaks; only messages of 2026-07-28 and later have it. */
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
/** Which member of the parameters names what is asked for. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** The headers for a message; none for one of an earlier version. */
export function modernHeaders({ method, params }: JsonObject): Record<string, string> {
  const meta = isObject(params) ? params['_meta'] : undefined;
  const version = isObject(meta) ? meta[VERSION_KEY] : undefined;
  if (typeof version !== 'string' || typeof method !== 'string') {
    return {};
  }
  const key = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  const name = key !== undefined && isObject(params) ? params[key] : undefined;
  return {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': encodeHeaderValue(name) } : {}),
  };
}

/** A text as the value of a header: as it is when it is plain ASCII, else as `=?base64?…?=`. */
export function encodeHeaderValue(text: string): string {
  const isPlain = /^[\t\x20-\x7e]+$/.test(text) && text === text.trim();
  const looksEncoded = text.startsWith('=?base64?') && text.endsWith('?=');
  return isPlain && !looksEncoded ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
