/**
 * The HTTP server: takes connections, checks the head of each request, finds out who sends it, and passes it to the endpoint of that
 * principal. The checks are ordered by cost, so that a stranger is refused before anything of the body is read.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connections } from '../../../core/base/connections.ts';
import { BridgeError, messageOf } from '../../../core/base/errors.ts';
import type { Logger } from '../../../core/base/log.ts';
import { ClientUse } from './client-use.ts';
import { Endpoint, type EndpointOptions } from './endpoint.ts';
import { allowedHosts, checkHead } from './head-checks.ts';
import { HTTP_LIMITS, type HttpLimits } from './limits.ts';
import { hostInUrl, type ListenAddress } from './listen-address.ts';
import { type Gauge, METRICS_CONTENT_TYPE, type Metrics } from './metrics.ts';
import type { Identify, Principal, Unidentified } from './principal.ts';
import { challengeOf, metadataOf, type ProtectedResource, resourceAt } from './protected-resource.ts';
import { busy, type HttpRefusal, type RefusalReason, sendRefusal } from './refusal.ts';

/** Where MCP is served. */
const MCP_PATH = '/mcp';
/** Before the name of a profile. */
const PROFILE_PATH = '/mcp/p/';
/** How often Node looks for requests that take too long. */
const CHECK_INTERVAL_MS = 2_000;
/** How often what is unused is looked for. */
const EXPIRE_INTERVAL_MS = 60_000;
/** An endpoint that was unused for this long is closed with its servers. Longer than answers are kept for clients that come back. */
const UNUSED_MS = 1_800_000;
/** Chosen: until then, the keys of the issuer may have been read again. */
const ISSUER_RETRY_S = '15';
const DRAIN_POLL_MS = 50;
/** Refusals are logged once in this time for each reason. */
const LOG_INTERVAL_MS = 60_000;
/** How long a connection with too many requests is kept, unread, once its answers are written. It slows a flood down. */
const OVERRUN_HOLD_MS = 1_000;
/** More than one read of 64 KiB brings. */
const MAX_DROPPED = 4_096;

/** What serves one principal. */
export interface Tenant {
  readonly front: EndpointOptions['front'];
  /** Whether a cell runs or waits. */
  isBusy(): Promise<boolean>;
  /** Whether a session has a sandbox, in which code may run in the background. */
  hasSessions(): Promise<boolean>;
  /** Ends its sessions and servers. Running cells are answered first. */
  close(): Promise<void>;
}

export interface TenantParts {
  /** The profile that is served; undefined for all servers. */
  readonly profile: string | undefined;
  /** Shared by all tenants of the principal. */
  readonly use: ClientUse;
  /** Whether its token is still valid. */
  readonly isValid: () => Promise<boolean>;
}

export interface HttpFrontOptions {
  readonly address: ListenAddress;
  /** Further host names under which clients reach the server. */
  readonly hosts: readonly string[];
  readonly identify: Identify;
  /** Undefined if no tokens of OAuth are accepted. */
  readonly protectedResource?: ProtectedResource | undefined;
  /** `profile` is one that exists, or undefined for all servers. */
  readonly createTenant: (principal: Principal, given: TenantParts) => Tenant;
  readonly hasProfile: (name: string) => boolean;
  /** Answers pages for browsers, which send no token. Resolves with false for a path that is none. */
  readonly answerPage?:
    | ((request: IncomingMessage, response: ServerResponse, path: string) => Promise<boolean>)
    | undefined;
  readonly metrics: Metrics;
  /** Gauges of the rest of the program. */
  readonly readGauges: () => Promise<readonly Gauge[]>;
  readonly logger: Logger;
  readonly limits?: Partial<HttpLimits>;
}

interface Resident {
  readonly owner: string;
  readonly tenant: Tenant;
  readonly endpoint: Endpoint;
  readonly isValid: () => Promise<boolean>;
}

const NOT_FOUND: HttpRefusal = {
  status: 404,
  reason: 'path',
  message: 'There is nothing at this path.',
  hint: `MCP is at ${MCP_PATH}.`,
};
const PROFILE_GONE: HttpRefusal = {
  status: 403,
  reason: 'path',
  message: 'The profile of this token is not defined.',
  hint: 'Ask the operator of this server to add it to policy.json.',
};

const CROWDED = busy('busy', {
  message: 'Too many principals use this server at the moment.',
  hint: 'Wait as long as Retry-After says.',
  retrySeconds: 10,
});

const WHY: Record<Unidentified, Pick<HttpRefusal, 'message' | 'hint'>> = {
  missing: { message: 'A token is required.', hint: 'Send it in the header Authorization, as "Bearer TOKEN".' },
  unknown: { message: 'The token is not valid.', hint: 'Ask the operator of this server for a new one.' },
  expired: { message: 'The token has expired.', hint: 'Ask the operator of this server for a new one.' },
  subject: {
    message: 'The claim sub of the token must be a text of 1 to 255 characters without control characters.',
    hint: 'Ask the operator of the authorization server to correct it.',
  },
  scope: {
    message: 'The token does not allow the use of this server.',
    hint: 'Log in again, and allow all that is asked for.',
  },
  unavailable: {
    message: 'Tokens cannot be checked now, because the keys of their issuer cannot be read.',
    hint: 'Try again later. The log of this server says why.',
  },
};
/** Logging in again would not help, or is what the hint says. */
const KEEPS_HINT: ReadonlySet<Unidentified> = new Set<Unidentified>(['scope', 'subject']);
/** Where a client gets its tokens from the issuer itself. */
const HOW_TO_LOG_IN = 'Log in at the authorization server that the header WWW-Authenticate leads to.';

export class HttpFront {
  readonly #options: HttpFrontOptions;
  readonly #limits: HttpLimits;
  readonly #server: Server;
  readonly #hosts: ReadonlySet<string>;
  /** By name and profile; the empty name is everyone on this machine. */
  readonly #residents = new Map<string, Resident>();
  /** By name. */
  readonly #uses = new Map<string, ClientUse>();
  /** Of principals whose token was removed. Whoever comes under the same name waits until the sessions are saved. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #connections: Connections;
  readonly #loggedAt = new Map<string, number>();
  /** Responses of each connection that are not closed. */
  readonly #responses = new WeakMap<Socket, Set<ServerResponse>>();
  /** Connections whose further requests are dropped, and which end soon; with how many were dropped. */
  readonly #overrun = new WeakMap<Socket, number>();
  readonly #timers: NodeJS.Timeout[];
  #isDraining = false;

  constructor(options: HttpFrontOptions) {
    this.#options = options;
    this.#limits = { ...HTTP_LIMITS, ...options.limits };
    this.#hosts = allowedHosts(options.address, options.hosts);
    const { headersTimeoutMs, keepAliveTimeoutMs, recheckMs, requestTimeoutMs } = this.#limits;
    this.#server = createServer(
      {
        headersTimeout: headersTimeoutMs,
        requestTimeout: requestTimeoutMs,
        keepAliveTimeout: keepAliveTimeoutMs,
        connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, headersTimeoutMs),
        insecureHTTPParser: false,
      },
      (request, response) => void this.#take(request, response),
    );
    this.#connections = new Connections(this.#limits, () => this.#noteCrowd());
    this.#connections.watch(this.#server);
    this.#server.on('connection', (socket: Socket) => this.#follow(socket));
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => this.#clientFailed(error, socket));
    // Nothing else than HTTP is spoken here.
    this.#server.on('upgrade', (_request, socket) => socket.destroy());
    this.#server.on('connect', (_request, socket) => socket.destroy());
    this.#timers = [
      setInterval(() => void this.#recheck(), recheckMs).unref(),
      setInterval(() => void this.#expire(), EXPIRE_INTERVAL_MS).unref(),
    ];
  }

  /** Resolves with the URL of MCP. Rejects with `CONFIG_INVALID` if the address cannot be used. */
  async listen(): Promise<string> {
    const { host, port } = this.#options.address;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (error: NodeJS.ErrnoException) => reject(notListening(error, host, port)));
      this.#server.listen(port, host, resolve);
    });
    const { port: actual } = this.#server.address() as AddressInfo;
    return `http://${hostInUrl(host)}:${actual}${MCP_PATH}`;
  }

  /** Takes no new work, and waits until what runs is done, but not longer than `limitMs`. Resolves with whether it is. */
  async drain(limitMs: number, isHurried: () => boolean): Promise<boolean> {
    this.#isDraining = true;
    const end = performance.now() + limitMs;
    while (await this.#isBusy()) {
      if (performance.now() >= end || isHurried()) {
        return false;
      }
      await sleep(DRAIN_POLL_MS);
    }
    return true;
  }

  /** Ends sessions and servers, then connections. Cells that still run are answered with the reason. */
  async close(): Promise<void> {
    this.#isDraining = true;
    this.#timers.forEach((timer) => clearInterval(timer));
    const residents = [...this.#residents.values()];
    await Promise.all([...residents.map(({ tenant }) => tenant.close()), ...this.#leaving.values()]);
    // Answers that are ready are written first.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    await Promise.all(residents.map(({ endpoint }) => endpoint.close()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #isBusy(): Promise<boolean> {
    const residents = [...this.#residents.values()];
    if (residents.some(({ endpoint }) => endpoint.work > 0)) {
      return true;
    }
    return (await Promise.all(residents.map(({ tenant }) => tenant.isBusy()))).includes(true);
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    const others = this.#responses.get(socket);
    if (this.#isOverrun(request, others)) {
      return;
    }
    others?.add(response);
    response.once('close', () => {
      others?.delete(response);
      this.#options.metrics.count('http_requests_total', labelsOf(request, response));
      if (others?.size === 0 && this.#overrun.has(socket)) {
        setTimeout(() => socket.destroySoon(), OVERRUN_HOLD_MS).unref();
      }
    });
    try {
      const refusal = await this.#answer(request, response);
      if (refusal !== undefined) {
        this.#refuse(request, response, refusal);
      }
    } catch (error) {
      if (!response.destroyed) {
        this.#options.logger.error(`HTTP: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
      }
      const hint = 'The log of the server has more.';
      this.#refuse(request, response, { status: 500, reason: 'failed', message: 'Internal error.', hint });
    }
  }

  /**
   * Node passes on all requests that one read of a connection brings before anything else gets a turn: hundreds of bad ones would
   * delay everyone's cells.
   */
  #isOverrun(request: IncomingMessage, waiting: ReadonlySet<ServerResponse> | undefined): boolean {
    const { socket } = request;
    const dropped = this.#overrun.get(socket);
    if (dropped !== undefined) {
      // Node keeps what is dropped until the connection ends, and reads on after each request.
      this.#overrun.set(socket, dropped + 1);
      setImmediate(() => (dropped < MAX_DROPPED ? socket.pause() : socket.destroy()));
      return true;
    }
    if (waiting === undefined || waiting.size < this.#limits.maxPipelined) {
      return false;
    }
    this.#overrun.set(socket, 0);
    // Not at once: Node reads on when this request is complete.
    setImmediate(() => socket.pause());
    const message = `More than ${this.#limits.maxPipelined} requests came on one connection without waiting for answers.`;
    const refusal = { status: 429, reason: 'pipelined', message, hint: 'Wait for answers.' } as const;
    this.#options.metrics.count('http_refusals_total', { reason: refusal.reason });
    this.#log(refusal, request);
    return true;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<HttpRefusal | undefined> {
    const path = pathOf(request.url);
    // Probes come by address, whatever name clients use; these answers say nothing.
    if (request.method === 'GET' && (path === '/healthz' || path === '/readyz')) {
      const isUp = path === '/healthz' || !this.#isDraining;
      answerText(response, isUp ? 200 : 503, isUp ? 'ok\n' : 'draining\n');
      return undefined;
    }
    const wrong = checkHead(request, this.#hosts);
    if (wrong !== undefined) {
      return wrong;
    }
    const { protectedResource } = this.#options;
    const resource = resourceAt(path);
    if (protectedResource !== undefined && resource !== undefined && request.method === 'GET') {
      const metadata = JSON.stringify(metadataOf(protectedResource, resource, request));
      answerText(response, 200, metadata, 'application/json');
      return undefined;
    }
    if (path !== undefined && (await this.#options.answerPage?.(request, response, path)) === true) {
      return undefined;
    }
    const identity = await this.#options.identify(request.headers.authorization);
    if ('refused' in identity) {
      return this.#unidentified(identity.refused, path, request);
    }
    this.#connections.own(request.socket, identity.principal.name ?? '');
    if (path === MCP_PATH || path?.startsWith(PROFILE_PATH) === true) {
      const { principal, isValid } = identity;
      const asked = path === MCP_PATH ? principal.profile : path.slice(PROFILE_PATH.length);
      const without = this.#whyNoProfile(principal, asked);
      if (without !== undefined) {
        return without;
      }
      const resident = await this.#residentOf(principal, asked, isValid);
      return resident === undefined ? CROWDED : resident.endpoint.serve(request, response);
    }
    if (path === '/metrics' && request.method === 'GET') {
      answerText(response, 200, this.#options.metrics.render(await this.#gauges()), METRICS_CONTENT_TYPE);
      return undefined;
    }
    return NOT_FOUND;
  }

  #unidentified(reason: Unidentified, path: string | undefined, request: IncomingMessage): HttpRefusal {
    const why = WHY[reason];
    if (reason === 'unavailable') {
      return { status: 503, reason: 'token', ...why, headers: { 'Retry-After': ISSUER_RETRY_S } };
    }
    const { protectedResource } = this.#options;
    const challenge = challengeOf(reason, why.message, protectedResource, { path, request });
    return {
      status: reason === 'scope' ? 403 : 401,
      reason: 'token',
      ...why,
      ...(protectedResource !== undefined && !KEEPS_HINT.has(reason) && { hint: HOW_TO_LOG_IN }),
      headers: { 'WWW-Authenticate': challenge },
    };
  }

  /** A profile that may not be used is answered like one that does not exist. */
  #whyNoProfile({ profile: own }: Principal, asked: string | undefined): HttpRefusal | undefined {
    if (asked === undefined) {
      return undefined;
    }
    if (own !== undefined && own !== asked) {
      return NOT_FOUND;
    }
    if (this.#options.hasProfile(asked)) {
      return undefined;
    }
    return own === undefined ? NOT_FOUND : PROFILE_GONE;
  }

  /** Undefined if there is no room for another one. */
  async #residentOf(
    principal: Principal,
    profile: string | undefined,
    isValid: Resident['isValid'],
  ): Promise<Resident | undefined> {
    const owner = principal.name ?? '';
    // A profile has no slash.
    const name = `${owner}/${profile ?? ''}`;
    for (let leaving = this.#leaving.get(name); leaving !== undefined; leaving = this.#leaving.get(name)) {
      await leaving;
    }
    const known = this.#residents.get(name);
    if (known !== undefined) {
      if (await known.isValid()) {
        return known;
      }
      // A new token of the same principal: what the old one has open ends first.
      this.#retire(name, known);
      return this.#residentOf(principal, profile, isValid);
    }
    if (this.#residents.size + this.#leaving.size >= this.#limits.maxTenants) {
      return (await this.#makeRoom()) ? this.#residentOf(principal, profile, isValid) : undefined;
    }
    const use = this.#uses.get(owner) ?? new ClientUse(this.#limits);
    this.#uses.set(owner, use);
    const tenant = this.#options.createTenant(principal, { profile, use, isValid });
    const isDraining = (): boolean => this.#isDraining;
    const endpoint = new Endpoint({ front: tenant.front, limits: this.#limits, use, isDraining });
    const resident: Resident = { owner, tenant, endpoint, isValid };
    this.#residents.set(name, resident);
    return resident;
  }

  /** Ends what was unused longest: its sessions are saved, and streams that only wait can be opened again. False if all are used. */
  async #makeRoom(): Promise<boolean> {
    const [leaving] = this.#leaving.values();
    if (leaving !== undefined) {
      await leaving;
      return true;
    }
    const unused = [...this.#residents].toSorted(([, a], [, b]) => a.endpoint.lastUsed - b.endpoint.lastUsed);
    for (const [name, resident] of unused) {
      const { endpoint, tenant } = resident;
      // biome-ignore lint/performance/noAwaitInLoops: the first that is unused is enough.
      const isUsed = endpoint.work > 0 || (await tenant.hasSessions().catch(() => true));
      if (!isUsed && endpoint.work === 0 && this.#residents.get(name) === resident) {
        this.#retire(name, resident);
        await this.#leaving.get(name);
        return true;
      }
    }
    return false;
  }

  /** Ends what principals have open whose tokens were removed or have expired. */
  async #recheck(): Promise<void> {
    for (const [name, resident] of this.#residents) {
      const isValid = await resident.isValid().catch(() => false);
      if (!isValid && this.#residents.get(name) === resident) {
        const { owner } = resident;
        const why = owner === '' ? 'A token is required from now on' : `The token of ${owner} is no longer valid`;
        this.#options.logger.info(`${why}: what is open without it ends.`);
        this.#retire(name, resident);
      }
    }
  }

  async #expire(): Promise<void> {
    for (const [name, resident] of this.#residents) {
      const { endpoint, tenant } = resident;
      endpoint.expire();
      const isInUse = endpoint.unusedMs <= UNUSED_MS || (await tenant.hasSessions().catch(() => true));
      // A request may have come meanwhile.
      if (!isInUse && endpoint.unusedMs > UNUSED_MS && this.#residents.get(name) === resident) {
        this.#retire(name, resident);
      }
    }
  }

  #retire(name: string, { owner, tenant, endpoint }: Resident): void {
    if (this.#leaving.has(name)) {
      return;
    }
    this.#residents.delete(name);
    const gone = Promise.all([endpoint.close(), tenant.close()])
      .catch((error: unknown) => this.#options.logger.error(`HTTP: ${messageOf(error)}`))
      .then(() => {
        this.#leaving.delete(name);
        this.#forgetUse(owner);
      });
    this.#leaving.set(name, gone);
  }

  /** Once nothing is left of a principal. */
  #forgetUse(owner: string): void {
    const hasProfile = [...this.#residents.values()].some((resident) => resident.owner === owner);
    const { cells = 0, openRequests = 0 } = this.#uses.get(owner) ?? {};
    if (!hasProfile && cells === 0 && openRequests === 0) {
      this.#uses.delete(owner);
    }
  }

  async #gauges(): Promise<readonly Gauge[]> {
    const residents = [...this.#residents.values()];
    const sum = (count: (endpoint: Endpoint) => number): number =>
      residents.reduce((all, { endpoint }) => all + count(endpoint), 0);
    return [
      gauge('http_connections', 'Open connections.', this.#connections.size),
      gauge(
        'http_open_requests',
        'Requests and streams that are open.',
        sum(({ openRequests }) => openRequests),
      ),
      gauge(
        'mcp_sessions',
        'Clients of protocol versions up to 2025-11-25.',
        sum(({ mcpSessions }) => mcpSessions),
      ),
      gauge(
        'principals',
        'Principals that have used the server lately.',
        new Set(residents.map(({ owner }) => owner)).size,
      ),
      ...(await this.#options.readGauges()),
    ];
  }

  #refuse(request: IncomingMessage, response: ServerResponse, refusal: HttpRefusal): void {
    this.#options.metrics.count('http_refusals_total', { reason: refusal.reason });
    this.#log(refusal, request);
    sendRefusal(response, refusal);
  }

  /** A stranger must not fill the log. */
  #log({ message, reason, status }: HttpRefusal, request: IncomingMessage): void {
    // The types do not say that a request that was destroyed has none.
    const socket: Socket | null = request.socket;
    const text = `HTTP: refused a request from ${socket?.remoteAddress ?? 'a closed connection'} with ${status}: ${message}`;
    const isDue = this.#isDue(reason);
    this.#options.logger[isDue && reason !== 'failed' ? 'warning' : 'debug'](text);
  }

  #isDue(reason: RefusalReason): boolean {
    const now = performance.now();
    const isDue = now - (this.#loggedAt.get(reason) ?? Number.NEGATIVE_INFINITY) > LOG_INTERVAL_MS;
    if (isDue) {
      this.#loggedAt.set(reason, now);
    }
    return isDue;
  }

  #noteCrowd(): void {
    this.#options.metrics.count('http_refusals_total', { reason: 'connections' });
    if (this.#isDue('connections')) {
      const { maxConnections, maxStrangers } = this.#limits;
      this.#options.logger.warning(
        `HTTP: there are ${maxStrangers} connections that have sent no token, or ${maxConnections} in all, which is the limit. The oldest ones without a request are closed.`,
      );
    }
  }

  #follow(socket: Socket): void {
    const responses = new Set<ServerResponse>();
    this.#responses.set(socket, responses);
    socket.once('close', () => {
      setImmediate(() => responses.forEach(closeUnsent));
    });
  }

  /** What is not HTTP, or too slow, or has too large a head. */
  #clientFailed(error: NodeJS.ErrnoException, socket: Socket): void {
    this.#options.metrics.count('http_refusals_total', { reason: 'headers' });
    const status = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? '408 Request Timeout' : '400 Bad Request';
    if (socket.writable && socket.bytesWritten === 0) {
      socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    }
    socket.destroySoon();
  }
}

/** One value without labels. */
function gauge(name: string, help: string, value: number): Gauge {
  return { name, help, values: [{ value }] };
}

/** Without the query; undefined for what is no path. */
function pathOf(url: string | undefined): string | undefined {
  return /^(\/[^?#]*)/.exec(url ?? '')?.[1];
}

function answerText(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store' });
  response.end(text);
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'DELETE']);

/** A client chooses the method: others are one. */
function labelsOf({ method = '' }: IncomingMessage, { statusCode }: ServerResponse) {
  return { method: METHODS.has(method) ? method : 'other', status: String(statusCode) };
}

function notListening(error: NodeJS.ErrnoException, host: string, port: number): BridgeError {
  const why =
    error.code === 'EADDRINUSE' ? 'another program uses it' : error.code === 'EACCES' ? 'no permission' : error.message;
  return new BridgeError('CONFIG_INVALID', `cannot listen on ${hostInUrl(host)}:${port}: ${why}`, {
    hint: 'Choose another address: serve --http ADDRESS:PORT.',
    cause: error,
  });
}

/**
 * Of the requests that come on one connection without waiting for answers, Node (20.20) reports the end of the connection only to the
 * one whose answer is being written. The others would stay open forever.
 */
function closeUnsent(response: ServerResponse): void {
  response.destroy();
  response.emit('close');
}
