/**
 * HTTP/1.1 on the socket of a bridge. The file mode keeps other users out; the checks here keep out pages in a browser, which could reach
 * a socket only through a careless proxy: they send `Origin` or `Sec-Fetch-…`, or a name of their own as `Host`. Bodies are
 * small, and nothing that is sent or answered is logged.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { MAX_CODE_BYTES } from '../../core/base/limits.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { API_HOST } from '../local-api/schema.ts';
import { type ApiAnswer, type ApiParts, answerApi, EVENTS_PATH, refusal } from './api.ts';
import type { EventReader, EventStreams } from './event-streams.ts';

/** Chosen: an answer to a question is far smaller. */
const MAX_BODY_BYTES = 64 * 1024;
/** Code as JSON may take twice as much. */
const MAX_BODY_WITH_CODE_BYTES = 2 * MAX_CODE_BYTES;
const RUN_PATH = /^\/v1\/sessions\/[^/]+\/run$/;
const MAX_CONNECTIONS = 64;
const REQUEST_TIMEOUT_MS = 10_000;
/** How long a reader that was sent away may take to read why. */
const LAST_WORD_MS = 2_000;

export interface ApiServer {
  close(): Promise<void>;
}

/** Resolves when it listens. */
export async function serveApi(socket: string, parts: ApiParts, events: EventStreams): Promise<ApiServer> {
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
    (...given) => {
      void answer(...given, parts, events).catch(() => given[1].destroy());
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', () => undefined);
  // The bridge ends with its client, whoever watches.
  server.unref();
  return { close: () => closeServer(server) };
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeIdleConnections();
  // What has been written is in the socket; who has not read it now will not.
  setImmediate(() => server.closeAllConnections());
  await closed;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  parts: ApiParts,
  events: EventStreams,
): Promise<void> {
  const refused = checkHead(request);
  if (refused !== undefined) {
    send(response, refused);
    return;
  }
  const { pathname, searchParams } = new URL(request.url ?? '/', `http://${API_HOST}`);
  const { method = '' } = request;
  if (pathname === EVENTS_PATH && method === 'GET') {
    stream(response, events);
    return;
  }
  const body = await readBody(request, RUN_PATH.test(pathname) ? MAX_BODY_WITH_CODE_BYTES : MAX_BODY_BYTES);
  if ('refused' in body) {
    send(response, body.refused);
    return;
  }
  send(response, await answerApi({ method, path: pathname, query: searchParams, body: body.json }, parts));
}

function checkHead({ headers, rawHeaders }: IncomingMessage): ApiAnswer | undefined {
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  if (headers.host !== API_HOST || names.filter((name) => name === 'host').length > 1) {
    return refusal(421, 'HTTP_REFUSED', 'The Host is not that of this API.', `Send Host: ${API_HOST}`);
  }
  if (names.some((name) => name === 'origin' || name.startsWith('sec-fetch-'))) {
    return refusal(403, 'HTTP_REFUSED', 'Pages in a browser may not use this API.');
  }
  return undefined;
}

type Body = { readonly json: unknown } | { readonly refused: ApiAnswer };

async function readBody(request: IncomingMessage, maxBytes: number): Promise<Body> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      return { refused: refusal(413, 'HTTP_REFUSED', `The body is larger than ${maxBytes} bytes.`) };
    }
    chunks.push(chunk);
  }
  if (bytes === 0) {
    return { json: undefined };
  }
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '')) {
    return { refused: refusal(415, 'HTTP_REFUSED', 'The body is not JSON, according to its header.') };
  }
  const read = readUntrusted(Buffer.concat(chunks), JSON_BOUNDS.request);
  return read.ok ? { json: read.value } : { refused: refusal(400, 'HTTP_REFUSED', `The body is ${read.reason}.`) };
}

/** For pages that get an answer anyway: it is no document, and no script. */
const HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

function send(response: ServerResponse, { status, json }: ApiAnswer): void {
  const text = JSON.stringify(json);
  response.writeHead(status, {
    ...HEADERS,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    ...(response.req.complete ? {} : { Connection: 'close' }),
  });
  response.end(text);
}

function stream(response: ServerResponse, events: EventStreams): void {
  const reader: EventReader = {
    write: (text) => void response.write(text),
    unreadBytes: () => response.writableLength,
    end(text) {
      response.end(text);
      setTimeout(() => response.destroy(), LAST_WORD_MS).unref();
    },
  };
  response.once('close', () => events.leave(reader));
  if (!events.isFull) {
    response.writeHead(200, { ...HEADERS, 'Content-Type': 'text/event-stream', Connection: 'close' });
    events.join(reader);
    return;
  }
  send(response, refusal(429, 'HTTP_BUSY', 'Too many programs read the events of this bridge.'));
}
