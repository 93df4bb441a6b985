/**
 * Clients of 2025-11-25 and older: each has a connection with an id (`Mcp-Session-Id`), because a question to the person goes out on
 * the stream of a request and its reply comes back in another one. An id is worth nothing to another principal: each has its own
 * table. Sessions of Python are something else: the argument `session` names them.
 */
import { randomUUID } from 'node:crypto';
import {
  isInitializeRequest,
  type McpServerFactory,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { messageOf } from '../../../core/base/errors.ts';
import type { Logger } from '../../../core/base/log.ts';
import type { HttpLimits } from './limits.ts';
import { busy, type HttpRefusal } from './refusal.ts';

interface McpSession {
  readonly server: Pick<Server, 'close'>;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** Requests and streams that are open. */
  open: number;
  /** In ms of `performance.now()`. */
  lastUsed: number;
}

type Limits = Pick<HttpLimits, 'keepAliveCommentMs' | 'maxMcpSessions' | 'mcpSessionIdleMs'>;
type WriteResponse = (response: Response) => Promise<void>;

/** The specification (2025-11-25, basic/transports, session management) wants 404; clients then initialize again. */
const UNKNOWN: HttpRefusal = {
  status: 404,
  reason: 'session',
  code: -32_001,
  message: 'Session not found.',
  hint: 'Initialize again.',
};
const MISSING: HttpRefusal = {
  status: 400,
  reason: 'session',
  message: 'The header Mcp-Session-Id is missing.',
  hint: 'Initialize first, or use protocol version 2026-07-28.',
};
const FULL = busy('busy', {
  message: 'Too many clients are connected with this token.',
  hint: 'Close one of them, or wait until one is done.',
  retrySeconds: 10,
});

export class McpSessions {
  readonly #factory: McpServerFactory;
  readonly #limits: Limits;
  readonly #logger: Logger;
  readonly #byId = new Map<string, McpSession>();

  constructor(factory: McpServerFactory, limits: Limits, logger: Logger) {
    this.#factory = factory;
    this.#limits = limits;
    this.#logger = logger;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Serves a request; `json` is its body, undefined without one. Returns why it is refused, otherwise resolves once it is answered. */
  async serve(request: Request, json: unknown, write: WriteResponse): Promise<HttpRefusal | undefined> {
    const id = request.headers.get('mcp-session-id');
    if (id === null) {
      return isInitializeRequest(json) ? this.#begin(request, json, write) : MISSING;
    }
    const session = this.#byId.get(id);
    if (session === undefined) {
      return UNKNOWN;
    }
    await this.#answer(session, request, json, write);
    return undefined;
  }

  /** Ends those that were not used for long. */
  expire(): void {
    const oldest = performance.now() - this.#limits.mcpSessionIdleMs;
    for (const session of this.#byId.values()) {
      if (session.open === 0 && session.lastUsed < oldest) {
        this.#end(session);
      }
    }
  }

  /** Ends all: their requests are cancelled. */
  close(): void {
    [...this.#byId.values()].forEach((session) => this.#end(session));
  }

  async #begin(request: Request, json: unknown, write: WriteResponse): Promise<HttpRefusal | undefined> {
    if (!this.#hasRoom()) {
      return FULL;
    }
    const id = randomUUID();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      keepAliveMs: this.#limits.keepAliveCommentMs,
    });
    const server = await this.#factory({ era: 'legacy', requestInfo: request });
    const session: McpSession = { server, transport, open: 0, lastUsed: performance.now() };
    // Before it is answered: the limit holds for those that initialize at the same time, too.
    this.#byId.set(id, session);
    await server.connect(transport);
    const forget = transport.onclose;
    transport.onclose = () => {
      this.#byId.delete(id);
      forget?.();
    };
    await this.#answer(session, request, json, write);
    if (transport.sessionId === undefined) {
      // The transport has refused the request, for example because of its Accept header.
      this.#end(session);
    }
    return undefined;
  }

  async #answer(session: McpSession, request: Request, json: unknown, write: WriteResponse): Promise<void> {
    session.open += 1;
    try {
      await write(await session.transport.handleRequest(request, json === undefined ? {} : { parsedBody: json }));
    } finally {
      session.open -= 1;
      session.lastUsed = performance.now();
    }
  }

  /** Makes room by ending the one that was unused longest. A client that comes back initializes again. */
  #hasRoom(): boolean {
    if (this.#byId.size < this.#limits.maxMcpSessions) {
      return true;
    }
    const unused = [...this.#byId.values()].filter(({ open }) => open === 0);
    const oldest = unused.toSorted((a, b) => a.lastUsed - b.lastUsed)[0];
    if (oldest !== undefined) {
      this.#end(oldest);
    }
    return oldest !== undefined;
  }

  #end({ server, transport }: McpSession): void {
    transport.close().catch((error: unknown) => this.#logger.debug(`MCP over HTTP: ${messageOf(error)}`));
    server.close().catch((error: unknown) => this.#logger.debug(`MCP over HTTP: ${messageOf(error)}`));
  }
}
