/** A request that is refused before MCP sees it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode } from '../../../core/base/errors.ts';

/** The label of the metric. */
export type RefusalReason =
  | 'headers'
  | 'host'
  | 'origin'
  | 'token'
  | 'path'
  | 'method'
  | 'body'
  | 'busy'
  | 'rate'
  | 'pipelined'
  | 'connections'
  | 'draining'
  | 'session'
  | 'mismatch'
  | 'failed';

export interface HttpRefusal {
  readonly status: number;
  readonly reason: RefusalReason;
  /** What is wrong, in one sentence. */
  readonly message: string;
  /** One next step for the person who configures the client or the server. */
  readonly hint: string;
  /** JSON-RPC code; -32000 by default. */
  readonly code?: number;
  /** Id of the request, if it is known. */
  readonly id?: string | number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** 429 or 503: the request may succeed later. */
export function busy(
  reason: 'busy' | 'rate' | 'draining',
  { message, hint, retrySeconds }: Pick<HttpRefusal, 'message' | 'hint'> & { readonly retrySeconds: number },
): HttpRefusal {
  const headers = { 'Retry-After': String(retrySeconds) };
  return { status: reason === 'draining' ? 503 : 429, reason, message, hint, headers };
}

/** JSON-RPC leaves -32000 to -32099 to servers. */
const REFUSED = -32_000;

/**
 * What is left of a shorter body is read and dropped. Otherwise the connection would be reset while the client still sends, and
 * the client would not see why it is refused. Chosen.
 */
const MAX_DROPPED_BYTES = 64 * 1024;

/** Answers with a JSON-RPC error. If much of the request is left, the connection is closed. */
export function sendRefusal(
  response: ServerResponse,
  { status, message, hint, code = REFUSED, id, headers }: HttpRefusal,
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  // Most clients show the message and nothing else.
  const name = codeOf(status);
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: id ?? null,
    error: { code, message: `${name}: ${message}\nHint: ${hint}`, data: { code: name, hint } },
  });
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
    ...(isShort(response.req) ? {} : { Connection: 'close' }),
    ...headers,
  });
  response.end(body);
}

function isShort({ complete, headers }: IncomingMessage): boolean {
  return (
    complete ||
    (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) <= MAX_DROPPED_BYTES)
  );
}

function codeOf(status: number): ErrorCode {
  return status === 500 ? 'INTERNAL' : status === 429 || status === 503 ? 'HTTP_BUSY' : 'HTTP_REFUSED';
}
