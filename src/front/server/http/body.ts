/** The body of a request as JSON-RPC messages that the MCP SDK can read, read only up to the limit. */
import type { IncomingMessage } from 'node:http';
import { isJsonContentType } from '@modelcontextprotocol/server';
import { isObject } from '../../../core/base/is-object.ts';
import { BYTES_PER_VALUE, MAX_JSON_DEPTH } from '../../../core/base/limits.ts';
import { createPause } from '../../../core/base/slices.ts';
import { isDeeperThan } from '../../../core/protocol/json-depth.ts';
import { JSON_BOUNDS, readUntrusted } from '../../../core/protocol/untrusted-json.ts';
import { INVALID_REQUEST, isAnswerable, whyInvalid, withoutNulls } from '../client-message.ts';
import type { HttpRefusal } from './refusal.ts';

const PARSE_ERROR = -32_700;

/** `bytes` is the length of the body. */
export type Body = { readonly json: unknown; readonly bytes: number } | { readonly refused: HttpRefusal };

/** Says how much memory the body takes so far. Returns why it is refused. */
type CountBody = (bytes: number) => HttpRefusal | undefined;

/** Rejects if the connection breaks. Node ends a request that takes too long. */
export async function readJson(request: IncomingMessage, maxBytes: number, count: CountBody): Promise<Body> {
  const { headers } = request;
  if (!isJsonContentType(headers['content-type'] ?? null)) {
    return refused(415, 'The body is not JSON, according to its header.', 'Set Content-Type to application/json.');
  }
  if (headers['content-encoding'] !== undefined) {
    return refused(415, 'The body is compressed.', 'Send it as it is, without Content-Encoding.');
  }
  const tooLarge = (): Body =>
    refused(
      413,
      `The body is larger than ${maxBytes.toLocaleString('en-US')} bytes, which is the limit.`,
      'Send less. The operator can raise MCP_BRIDGE_HTTP_MAX_BODY.',
    );
  if (Number(headers['content-length'] ?? 0) > maxBytes) {
    return tooLarge();
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The refusal goes out on the same connection, so the request must not be destroyed.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      return tooLarge();
    }
    const tooMuch = count(bytes);
    if (tooMuch !== undefined) {
      return { refused: tooMuch };
    }
    chunks.push(chunk);
  }
  // Bodies that arrive together are read one after the other, with other work in between.
  await createPause()();
  return parse(Buffer.concat(chunks), count);
}

function parse(text: Buffer, count: CountBody): Body {
  const read = readUntrusted(text, JSON_BOUNDS.clientMessage);
  if (!read.ok) {
    return read.isTooMuch
      ? refused(400, `Invalid Request: ${read.reason}`, 'Send a smaller message.', INVALID_REQUEST)
      : refused(400, 'Parse error: the body is not JSON.', 'Send one JSON-RPC message.', PARSE_ERROR);
  }
  // V8 stores two bytes for each character of a text that has one beyond Latin-1, and the JSON may only escape it.
  const tooMuch = count(2 * text.length + read.values * BYTES_PER_VALUE);
  if (tooMuch !== undefined) {
    return { refused: tooMuch };
  }
  const json = read.value;
  if (isDeeperThan(json, MAX_JSON_DEPTH)) {
    const message = `Invalid Request: nested deeper than ${MAX_JSON_DEPTH} levels`;
    return refused(400, message, 'Send a flatter message.', INVALID_REQUEST);
  }
  const bytes = text.length;
  return Array.isArray(json)
    ? readBatch(json, bytes)
    : (whyUnreadable(readNulls(json)) ?? { json: readNulls(json), bytes });
}

/** One invalid request refuses the batch: the SDK would refuse it, too, but not name the request. */
function readBatch(messages: readonly unknown[], bytes: number): Body {
  const read = messages.map(readNulls);
  const hint = 'Correct it. No message of the batch was handled.';
  return (
    read.map((message) => whyUnreadable(message, hint)).find((reason) => reason !== undefined) ?? { json: read, bytes }
  );
}

function readNulls(message: unknown): unknown {
  return isObject(message) ? withoutNulls(message) : message;
}

function whyUnreadable(message: unknown, hint = 'Correct the request.'): Body | undefined {
  const reason = isObject(message) ? whyInvalid(message) : undefined;
  if (reason === undefined || !isObject(message) || !isAnswerable(message)) {
    return undefined;
  }
  const { id } = message;
  return {
    refused: { status: 400, reason: 'body', code: INVALID_REQUEST, message: `Invalid Request: ${reason}.`, hint, id },
  };
}

function refused(status: number, message: string, hint: string, code?: number): Body {
  return { refused: { status, reason: 'body', message, hint, ...(code !== undefined && { code }) } };
}
