/**
 * The bridge's server factory behind HTTP, because the official conformance suite speaks only HTTP. The HTTP side is the SDK's;
 * the answers of our factory are under test. Listens on loopback only.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createMcpHandler, type McpServerFactory } from '@modelcontextprotocol/server';

export interface HttpServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves `factory` in both eras. For older revisions, it uses the SDK's stateless sessions. */
export async function serveOverHttp(factory: McpServerFactory): Promise<HttpServer> {
  const handler = createMcpHandler(factory);
  const server = createServer((request, response) => {
    answer(request, response, handler.fetch).catch((error: unknown) => response.destroy(error as Error));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async close() {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  fetch: (request: Request) => Promise<Response>,
): Promise<void> {
  if (!isLocal(request.headers.host) || !isLocalOrigin(request.headers.origin)) {
    response.writeHead(403).end();
    return;
  }
  const { method = 'GET', url = '/', headers } = request;
  const body = method === 'GET' || method === 'HEAD' ? null : await buffer(request);
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const answered = await fetch(
    new Request(`http://${headers.host}${url}`, { method, headers: toHeaders(headers), body, signal: gone.signal }),
  );
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  if (answered.body === null) {
    response.end();
  } else {
    Readable.fromWeb(answered.body).pipe(response);
  }
}

function toHeaders(headers: IncomingMessage['headers']): Headers {
  const pairs = Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, one]));
  return new Headers(pairs);
}

/** A web page can make a browser send requests here, but not with these host names. */
function isLocal(host: string | undefined): boolean {
  return /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(host ?? '');
}

function isLocalOrigin(origin: string | undefined): boolean {
  return origin === undefined || isLocal(origin.replace(/^https?:\/\//, ''));
}
