/**
 * HTTP/1.1 on a loopback address, for the page and its API. Every request is checked before anything else is done: the name it came
 * under, the page it came from, and for the API the token. Nothing that is sent or answered is logged.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { type ConnectionLimits, Connections } from '../../core/base/connections.ts';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { JSON_BOUNDS, readUntrusted } from '../../core/protocol/untrusted-json.ts';
import { findBridges } from '../local-api/client.ts';
import { checkOrigin, checkToken, createToken, PAGE_POLICY, SAFE_HEADERS } from './access.ts';
import { Bridges } from './bridges.ts';
import { EventPages } from './event-stream.ts';
import { AuditViews } from './log.ts';
import { readPageFile } from './page-files.ts';
import type { PolicyEditor, UiContext, UiParts } from './parts.ts';
import { refusedAnswer, UiRefusal } from './refusal.ts';
import { answerRequest, Download, type RouteParts } from './routes.ts';

const ADDRESS = '127.0.0.1';
/** Chosen: the code of a cell is the longest, and has at most 1 MiB. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;
/** Chosen: far more than the pages of one person need, and too few to use up the files of the process. */
const CONNECTIONS: ConnectionLimits = { maxConnections: 128, maxStrangers: 64 };
const REQUEST_TIMEOUT_MS = 10_000;
/** How often Node looks for connections that are too slow. */
const CHECK_MS = 2_000;

interface ServeUiOptions {
  readonly port: number;
  readonly parts: UiParts;
  readonly context: UiContext;
  /** Where the files of the page are. */
  readonly pageFolder: string;
}

export interface ListeningUi {
  /** With the token in its fragment, which browsers send to no server. */
  readonly address: string;
  readonly port: number;
  readonly token: string;
  close(): Promise<void>;
}

/** Resolves when it listens. Rejects with `USAGE_INVALID` if it cannot. */
export async function serveUi({ context, pageFolder, parts, port }: ServeUiOptions): Promise<ListeningUi> {
  const { stateDir } = context.settings;
  const token = createToken();
  const bridges = new Bridges(() => findBridges(stateDir));
  const policy = createPolicyOpener(parts, context);
  const views = new AuditViews(stateDir);
  const waiting = parts.openQuestions(context);
  const routes: RouteParts = { bridges, views, parts, context, policy: policy.open, waiting };
  const work: Work = {
    token,
    port: 0,
    pageFolder,
    routes,
    events: new EventPages(bridges),
    connections: new Connections(CONNECTIONS),
  };
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS, connectionsCheckingInterval: CHECK_MS },
    (request, response) => {
      void answer(request, response, work).catch(() => response.destroy());
    },
  );
  work.connections.watch(server);
  await listen(server, port);
  const bound = server.address();
  work.port = typeof bound === 'object' && bound !== null ? bound.port : port;
  void views.warm();
  return {
    address: `http://${ADDRESS}:${work.port}/#token=${token}`,
    port: work.port,
    token,
    async close() {
      bridges.close();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      server.closeAllConnections();
      await closed;
      await policy.close();
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new BridgeError('USAGE_INVALID', `cannot listen on ${ADDRESS}:${port}: ${messageOf(error)}`, {
          hint: 'Choose another port with --port, or leave it out.',
          cause: error,
        }),
      ),
    );
    server.listen(port, ADDRESS, resolve);
  });
  server.removeAllListeners('error').on('error', () => undefined);
}

/** One configuration stays open for the policy, because every overview with a question asks it. */
function createPolicyOpener(parts: UiParts, context: UiContext) {
  let opened: ReturnType<typeof openOnce> | undefined;
  async function openOnce() {
    const servers = await context.openServers({ isSilent: true });
    return { servers, editor: parts.openPolicy(context, servers) };
  }
  return {
    async open(): Promise<PolicyEditor> {
      opened ??= openOnce().catch((error: unknown) => {
        // The configuration may be another one next time.
        opened = undefined;
        throw error;
      });
      const { editor, servers } = await opened;
      servers.refresh();
      return editor;
    },
    async close(): Promise<void> {
      const { servers } = (await opened?.catch(() => undefined)) ?? {};
      await Promise.all([servers?.pool.close(), servers?.known.close()]);
    },
  };
}

interface Work {
  readonly token: string;
  /** Known once the server listens. */
  port: number;
  readonly pageFolder: string;
  readonly routes: RouteParts;
  readonly events: EventPages;
  readonly connections: Connections;
}

/** There is one token. */
const OWNER = 'page';

/** A path of which events are asked is answered by a stream. */
const EVENTS_PATH = '/api/events';

async function answer(request: IncomingMessage, response: ServerResponse, work: Work): Promise<void> {
  try {
    checkOrigin(request, work.port);
    const { pathname, searchParams } = targetOf(request);
    if (!pathname.startsWith('/api/')) {
      await sendPage(request, response, pathname, work.pageFolder);
      return;
    }
    checkToken(request, work.token);
    work.connections.own(request.socket, OWNER);
    const { method = '' } = request;
    if (pathname === EVENTS_PATH && method === 'GET') {
      await work.events.serve(response);
      return;
    }
    const body = await readBody(request);
    const found = await answerRequest({ method, path: pathname, query: searchParams, body }, work.routes);
    await (found instanceof Download ? sendFile(response, found) : send(response, 200, found));
  } catch (error) {
    if (!response.headersSent) {
      const { json, status } = refusedAnswer(error);
      send(response, status, json);
    }
  }
}

/** Throws for the target of a proxy, and for one that is no path. */
function targetOf({ url = '/' }: IncomingMessage): URL {
  if (!url.startsWith('/') || url.startsWith('//')) {
    throw new UiRefusal(400, 'The target of the request is no path.');
  }
  try {
    return new URL(url, `http://${ADDRESS}`);
  } catch {
    throw new UiRefusal(400, 'The target of the request is no path.');
  }
}

async function sendPage(
  { method = '' }: IncomingMessage,
  response: ServerResponse,
  path: string,
  folder: string,
): Promise<void> {
  if (method !== 'GET' && method !== 'HEAD') {
    throw new UiRefusal(405, 'This path takes GET.');
  }
  const file = await readPageFile(folder, path);
  if (file === undefined) {
    throw new UiRefusal(404, 'There is no such file.');
  }
  const { content, type } = file;
  response.writeHead(200, {
    ...SAFE_HEADERS,
    'Content-Security-Policy': PAGE_POLICY,
    'Content-Type': type,
    'Content-Length': content.length,
    // A body, such as that of a request that is none, is not read.
    ...(response.req.complete ? {} : { Connection: 'close' }),
  });
  response.end(method === 'HEAD' ? undefined : content);
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) {
      throw new UiRefusal(413, `The body is larger than ${MAX_BODY_BYTES} bytes.`);
    }
    chunks.push(chunk);
  }
  if (bytes === 0) {
    return undefined;
  }
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new UiRefusal(415, 'The body is not JSON, according to its header.');
  }
  const read = readUntrusted(Buffer.concat(chunks), JSON_BOUNDS.request);
  if (!read.ok) {
    throw new UiRefusal(400, `The body is ${read.reason}.`);
  }
  return read.value;
}

function send(response: ServerResponse, status: number, json: unknown): void {
  const text = JSON.stringify(json);
  response.writeHead(status, {
    ...SAFE_HEADERS,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    ...(response.req.complete ? {} : { Connection: 'close' }),
  });
  response.end(text);
}

/**
 * A file that code has made: a browser saves it, and would run nothing in it. It is read as it is sent: requests whose answers nobody
 * reads must not fill the memory.
 */
async function sendFile(response: ServerResponse, { file }: Download): Promise<void> {
  const { mimeType, name, sizeBytes } = file;
  response.writeHead(200, {
    ...SAFE_HEADERS,
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'Content-Type': mimeType,
    'Content-Length': sizeBytes,
    'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(name)}`,
  });
  try {
    await pipeline(file.pieces, response);
  } finally {
    await file.close();
  }
}
