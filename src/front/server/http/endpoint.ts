/**
 * MCP for one principal, in both protocol eras: 2026-07-28 without sessions, older versions with them. What a principal may have
 * open at once is limited here; who it is was decided before.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  type McpHttpHandler,
} from '@modelcontextprotocol/server';
import { isObject } from '../../../core/base/is-object.ts';
import type { Exchange } from '../answer-room.ts';
import type { FrontTool } from '../front-tool.ts';
import { createServerFactory, type FrontOptions } from '../server.ts';
import { readJson } from './body.ts';
import type { ClientUse } from './client-use.ts';
import type { HttpLimits } from './limits.ts';
import { McpSessions } from './mcp-sessions.ts';
import { OpenBody } from './open-body.ts';
import { busy, type HttpRefusal } from './refusal.ts';
import { writeResponse } from './response-writer.ts';
import { sessionHeader, sessionMismatch } from './session-header.ts';

const METHOD_NOT_FOUND = -32_601;
/** Streams of `subscriptions/listen`; no list of the bridge ever changes. Chosen. */
const MAX_SUBSCRIPTIONS = 16;

/** What it says of the client is kept as long as that is connected. Chosen: room for an icon. */
const MAX_INITIALIZE_BYTES = 256 * 1024;

const INITIALIZE_TOO_LARGE: HttpRefusal = {
  status: 413,
  reason: 'body',
  message: `A request to initialize has at most ${MAX_INITIALIZE_BYTES.toLocaleString('en-US')} bytes.`,
  hint: 'Say less about the client.',
};
const TOO_MUCH_OPEN = busy('busy', {
  message: 'The requests of this token that are not answered are too large together.',
  hint: 'Send fewer large requests at once.',
  retrySeconds: 1,
});
const NOT_ALLOWED: HttpRefusal = {
  status: 405,
  reason: 'method',
  message: 'MCP does not use this HTTP method.',
  hint: 'Send requests with POST.',
  headers: { Allow: 'GET, POST, DELETE' },
};

function waitOrRaise(setting: string): string {
  return `Wait as long as Retry-After says. The operator can raise ${setting}.`;
}

export interface EndpointOptions {
  /** The front of the principal. Its tools have the mark of `withSessionHeader`. */
  readonly front: FrontOptions & { readonly tools: readonly FrontTool[] };
  readonly limits: HttpLimits;
  readonly use: ClientUse;
  /** Whether no new work may begin. */
  readonly isDraining: () => boolean;
}

/** One HTTP request. */
interface OpenRequest {
  isWork: boolean;
  /** How many requests of MCP it has; a batch has several. */
  count: number;
  readonly exchange: Exchange;
  readonly body: OpenBody;
}

export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #sessions: McpSessions;
  /** Answers as JSON, or as a stream if the handler sends anything before its result. */
  readonly #brief: McpHttpHandler;
  /** Streams from the start: a cell may be silent for longer than proxies wait, and only a stream has comments in between. */
  readonly #streaming: McpHttpHandler;
  /** Those that are open, with whether they are a stream that waits for what may never come. */
  readonly #open = new Map<ServerResponse, OpenRequest>();
  /** By the request as the SDK has it. */
  readonly #exchanges = new WeakMap<object, OpenRequest>();
  #lastUsed = performance.now();
  #isClosed = false;

  constructor(options: EndpointOptions) {
    this.#options = options;
    const { front, limits } = options;
    const { answers } = options.use;
    const isOver = (): boolean => this.#isClosed;
    const exchangeOf = (request: object | undefined) => request && this.#exchanges.get(request)?.exchange;
    const factory = createServerFactory({
      ...front,
      untilRoom: (request) => answers.untilRoom(exchangeOf(request), isOver),
      makeAnswer(id, request, work) {
        const exchange = exchangeOf(request);
        return exchange === undefined ? work() : answers.make(exchange, id, isOver, work);
      },
      hold: (request) => this.#exchanges.get(request)?.body.hold(),
      noteAnswer: (id, request, result) => answers.note(exchangeOf(request), id, result),
    });
    const handlerOptions = {
      legacy: 'reject',
      maxSubscriptions: MAX_SUBSCRIPTIONS,
      keepAliveMs: limits.keepAliveCommentMs,
      onerror: (error: Error) => front.logger.debug(`MCP over HTTP: ${error.message}`),
    } as const;
    this.#sessions = new McpSessions(factory, limits, front.logger);
    this.#brief = createMcpHandler(factory, handlerOptions);
    this.#streaming = createMcpHandler(factory, { ...handlerOptions, responseMode: 'sse' });
  }

  /** Connections of older protocol versions. */
  get mcpSessions(): number {
    return this.#sessions.size;
  }

  get openRequests(): number {
    return this.#open.size;
  }

  /** Requests that are being answered, without streams that only wait. */
  get work(): number {
    return [...this.#open.values()].filter(({ isWork }) => isWork).length;
  }

  /** When something was open last, in ms of `performance.now()`; what is open now does not count. */
  get lastUsed(): number {
    return this.#lastUsed;
  }

  /** For how long nothing was open; 0 while something is. */
  get unusedMs(): number {
    return this.#open.size > 0 || this.#sessions.size > 0 ? 0 : performance.now() - this.#lastUsed;
  }

  /** Serves one request. Returns why it is refused, otherwise resolves once it is answered. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<HttpRefusal | undefined> {
    const { limits, use } = this.#options;
    const retrySeconds = use.rate.take();
    if (retrySeconds > 0) {
      const message = `This token sends more than ${limits.maxRequestsPerSecond} requests per second, which is the limit.`;
      return busy('rate', { message, hint: waitOrRaise('MCP_BRIDGE_HTTP_MAX_RATE'), retrySeconds });
    }
    if (use.openRequests >= limits.maxOpenRequests) {
      const message = `${limits.maxOpenRequests} requests and streams of this token are open, which is the limit.`;
      return busy('busy', { message, hint: waitOrRaise('MCP_BRIDGE_HTTP_MAX_STREAMS'), retrySeconds: 1 });
    }
    const exchange = use.answers.open(() => response.writableLength);
    const state: OpenRequest = { isWork: request.method === 'POST', count: 1, exchange, body: new OpenBody(use) };
    this.#open.set(response, state);
    use.openRequests += 1;
    response.on('drain', use.answers.wake);
    const gone = new AbortController();
    const onClose = (): void => {
      use.openRequests -= this.#open.delete(response) ? state.count : 0;
      this.#lastUsed = performance.now();
      use.answers.close(exchange);
      state.body.release();
      gone.abort();
    };
    response.once('close', onClose);
    if (response.destroyed) {
      onClose();
    }
    return this.#answer(request, response, { state, signal: gone.signal });
  }

  expire(): void {
    this.#sessions.expire();
  }

  /** Ends every request and session: their cells are interrupted. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#sessions.close();
    await Promise.all([this.#brief.close(), this.#streaming.close()]);
    [...this.#open.keys()].forEach((response) => response.destroy());
    this.#options.use.answers.wake();
  }

  async #answer(
    incoming: IncomingMessage,
    response: ServerResponse,
    { state, signal }: { readonly state: OpenRequest; readonly signal: AbortSignal },
  ): Promise<HttpRefusal | undefined> {
    const { front, limits, isDraining } = this.#options;
    const { method = 'GET' } = incoming;
    const { largeTexts } = state.exchange;
    const write = (answer: Response): Promise<void> => writeResponse(response, answer, limits, largeTexts);
    if (method !== 'POST') {
      return method === 'GET' || method === 'DELETE'
        ? this.#sessions.serve(toRequest(incoming), undefined, write)
        : NOT_ALLOWED;
    }
    const body = await readJson(incoming, limits.maxBodyBytes, (bytes) =>
      state.body.grow(bytes, limits.maxOpenBodyBytes) ? undefined : TOO_MUCH_OPEN,
    );
    if ('refused' in body) {
      return body.refused;
    }
    const { bytes, json } = body;
    if (bytes > MAX_INITIALIZE_BYTES && isInitializeRequest(json)) {
      return INITIALIZE_TOO_LARGE;
    }
    const tooMany = this.#countBatch(json, state);
    if (tooMany !== undefined) {
      return tooMany;
    }
    if (isDraining() && beginsWork(json)) {
      return busy('draining', { message: 'The server is shutting down.', hint: 'Try again soon.', retrySeconds: 5 });
    }
    // Not cancelled if the client is gone: until 2025-11-25, that does not mean that it gives up.
    const request = this.#sent(toRequest(incoming), state);
    if (await isLegacyRequest(request, json)) {
      return this.#sessions.serve(request, json, write);
    }
    const message = isObject(json) ? json : {};
    state.isWork = message['method'] !== 'subscriptions/listen';
    const mismatch = sessionMismatch(message, sessionHeader(incoming.headers), front.tools);
    if (mismatch !== undefined) {
      return mismatch;
    }
    const isStream =
      message['method'] === 'tools/call' && (incoming.headers.accept ?? '').includes('text/event-stream');
    const handler = isStream ? this.#streaming : this.#brief;
    const sent = this.#sent(toRequest(incoming, signal), state);
    await write(await withStatus(await handler.fetch(sent, { parsedBody: json })));
    return undefined;
  }

  #sent(request: Request, state: OpenRequest): Request {
    this.#exchanges.set(request, state);
    return request;
  }

  /** Each request of a batch is one, for the limits of the principal. Returns why it is refused. */
  #countBatch(json: unknown, state: OpenRequest): HttpRefusal | undefined {
    const { limits, use } = this.#options;
    const more = Array.isArray(json) ? json.length - 1 : 0;
    if (more > 0 && use.openRequests + more > limits.maxOpenRequests) {
      const message = `With this batch, more than ${limits.maxOpenRequests} requests and streams of this token are open, which is the limit.`;
      return busy('busy', { message, hint: 'Send fewer requests at once.', retrySeconds: 1 });
    }
    state.count += Math.max(0, more);
    use.openRequests += Math.max(0, more);
    return undefined;
  }
}

/** The request as the SDK takes it, without its body, which is already read. */
function toRequest({ headers, method = 'GET', url = '/' }: IncomingMessage, signal?: AbortSignal): Request {
  const pairs = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  return new Request(new URL(url, `http://${headers.host}`), {
    method,
    headers: pairs.filter(([name]) => name !== 'content-length'),
    ...(signal !== undefined && { signal }),
  });
}

/** The specification wants 404 for an unknown method. The SDK (2.4.0) sends it only if its server has no fallback handler. */
async function withStatus(response: Response): Promise<Response> {
  if (response.status !== 200 || !(response.headers.get('content-type') ?? '').startsWith('application/json')) {
    return response;
  }
  const text = await response.text();
  const { headers } = response;
  return new Response(text, { status: isUnknownMethod(text) ? 404 : 200, headers });
}

function isUnknownMethod(text: string): boolean {
  // Long answers are results: they need not be parsed.
  const message: unknown = text.includes(String(METHOD_NOT_FOUND)) ? JSON.parse(text) : undefined;
  const error = isObject(message) ? message['error'] : undefined;
  return isObject(error) && error['code'] === METHOD_NOT_FOUND;
}

/** Whether a message asks for anything new. Replies, notifications and the continuation of a call must come through. */
function beginsWork(json: unknown): boolean {
  return [json].flat().some((message) => {
    if (!isObject(message) || typeof message['method'] !== 'string' || message['id'] === undefined) {
      return false;
    }
    const { params } = message;
    return !(isObject(params) && params['requestState'] !== undefined);
  });
}
