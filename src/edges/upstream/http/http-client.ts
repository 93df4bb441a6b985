/**
 * Sends HTTP requests to remote servers. Uses `node:http` because `fetch` in Node 20 aborts responses that take 300 s, cannot
 * refuse addresses, and cannot close its sockets (docs/internals/decisions/026-remote-servers.md).
 */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, type RequestOptions as HttpsRequestOptions, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import { messageOf } from '../../../core/base/errors.ts';
import { createPieces } from '../../../core/protocol/line-splitter.ts';
import {
  AddressRefusedError,
  type AddressRule,
  anyAddress,
  checkHost,
  guardedLookup,
  hostOf,
  type Resolve,
} from './addresses.ts';
import { describeProxy, noProxy, type ProxyChoice, type ProxyServer } from './proxies.ts';
import { redirectTarget } from './redirects.ts';
import { refusalOfProxy, TunnelAgent } from './tunnel-agent.ts';

/** Time to connect to a host, including TLS. Chosen; an unknown host name fails much sooner. */
const CONNECT_TIMEOUT_MS = 15_000;
/** Many servers close an idle connection after 5 s. A call fails if that happens while the connection is being reused. */
const IDLE_SOCKET_MS = 4_000;
/** Sockets per server; more requests wait. Chosen below 1,024, the default limit of open files per process. */
const MAX_SOCKETS = 256;
const MAX_REDIRECTS = 5;
/** A body that no one reads is short. A longer one costs the connection instead of the time to read it. Both chosen. */
const MAX_DISCARDED_BYTES = 64 * 1024;
const MAX_DISCARD_MS = 5_000;

export type HttpMethod = 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface HttpRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A stream is sent in chunks unless `content-length` says its length, and only once: no redirect of such a request is followed. */
  readonly body?: string | Buffer | Readable | undefined;
  /** Aborts the request and its response. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the certificate of the host is taken as it is. */
  readonly isTrusted?: boolean;
  /** Whether redirects within the origin are followed; they are by default. */
  readonly followsRedirects?: boolean;
  /** The head of the response may have so many bytes; 16 KiB by default. */
  readonly maxHeadBytes?: number;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Must be read or destroyed. */
  readonly body: Readable;
  /** The final address, after redirects. */
  readonly url: URL;
  /** The IP address that sent the response; undefined behind a proxy. */
  readonly from: string | undefined;
}

/** As it comes from the network, with its raw headers. */
export interface ReceivedResponse extends HttpResponse {
  readonly body: IncomingMessage;
}

interface HttpClientOptions {
  /** The rule that decides which addresses are refused, read again for each request. */
  readonly rule?: () => AddressRule;
  /** Whether `rule` always returns the same rule, so that connections can be used again. */
  readonly isRuleFixed?: boolean;
  readonly proxies?: ProxyChoice;
  readonly resolve?: Resolve | undefined;
  /** Certificates of authorities as PEM, instead of those of Node. */
  readonly certificates?: string | undefined;
}

const AGENT_OPTIONS = { keepAlive: true, maxSockets: MAX_SOCKETS, timeout: IDLE_SOCKET_MS };

export class HttpClient {
  readonly #rule: () => AddressRule;
  readonly #proxies: ProxyChoice;
  readonly #resolve: Resolve | undefined;
  readonly #tls: { readonly ca?: string };
  readonly #agents: { readonly http: HttpAgent; readonly https: HttpsAgent };
  #tunnels: TunnelAgent | undefined;

  constructor({ certificates, rule, isRuleFixed, proxies = noProxy, resolve }: HttpClientOptions = {}) {
    this.#rule = rule ?? (() => anyAddress);
    // With a rule that changes, each request opens a connection: an open one was judged by the rule of that time.
    const options = { ...AGENT_OPTIONS, keepAlive: rule === undefined || isRuleFixed === true };
    this.#tls = certificates === undefined ? {} : { ca: certificates };
    this.#agents = { http: new HttpAgent(options), https: new HttpsAgent({ ...options, ...this.#tls }) };
    this.#proxies = proxies;
    this.#resolve = resolve;
  }

  /**
   * Sends a request; resolves with the head of the response. Redirects are followed only within the origin, so that headers
   * with secrets go nowhere else; any other redirect is returned as the response. Rejects with the network error.
   */
  async send(request: HttpRequest): Promise<ReceivedResponse> {
    let { url } = request;
    for (let followed = 0; ; followed += 1) {
      const response = await this.#sendOnce({ ...request, url });
      const isFinal = request.followsRedirects === false || request.body instanceof Readable;
      const target = isFinal ? undefined : redirectTarget(request.method, url, response);
      if (target === undefined || followed === MAX_REDIRECTS) {
        return response;
      }
      response.body.destroy();
      url = target;
    }
  }

  /** Like `send`. Some servers close an idle connection without a word: what only reads, and has no body, is sent once more then. */
  async sendAgain(request: HttpRequest): Promise<ReceivedResponse> {
    const isSafe = (request.method === 'GET' || request.method === 'HEAD') && !(request.body instanceof Readable);
    return this.send(request).catch((error: unknown) => {
      if (isSafe && (error as NodeJS.ErrnoException).code === 'ECONNRESET') {
        return this.send(request);
      }
      throw error;
    });
  }

  /** Closes every socket. */
  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
    this.#tunnels?.destroy();
  }

  async #sendOnce(request: HttpRequest): Promise<ReceivedResponse> {
    const { url, method, headers, body, isTrusted = false, maxHeadBytes, signal } = request;
    const rule = this.#rule();
    const host = hostOf(url);
    const refused = isIP(host) === 0 ? undefined : rule(host);
    if (refused !== undefined) {
      throw new AddressRefusedError(host, refused);
    }
    const proxy = this.#proxies(url);
    if (proxy !== undefined) {
      await checkHost(host, rule, this.#resolve);
      signal?.throwIfAborted();
    }
    const sent = this.#begin(url, proxy, {
      method,
      // No compression: the size of a response would be unknown until it is decompressed.
      headers: { 'accept-encoding': 'identity', ...headers, ...framingOf(body, headers) },
      ...(signal === undefined ? {} : { signal }),
      ...(maxHeadBytes === undefined ? {} : { maxHeaderSize: maxHeadBytes }),
      ...(isTrusted && url.protocol === 'https:' && { rejectUnauthorized: false }),
    });
    return headOf(sent, url, body, proxy);
  }

  /** Starts a request to the server: directly, through a tunnel of the proxy or, without TLS, to the proxy, which forwards it. */
  #begin(url: URL, proxy: ProxyServer | undefined, options: HttpsRequestOptions): ClientRequest {
    const isSecure = url.protocol === 'https:';
    if (proxy === undefined) {
      const guarded = { ...options, lookup: guardedLookup(this.#rule(), this.#resolve) };
      return isSecure
        ? httpsRequest(url, { ...guarded, agent: this.#agents.https })
        : httpRequest(url, { ...guarded, agent: this.#agents.http });
    }
    if (isSecure) {
      this.#tunnels ??= new TunnelAgent(proxy, {
        ...AGENT_OPTIONS,
        ...this.#tls,
        connectTimeoutMs: CONNECT_TIMEOUT_MS,
      });
      return httpsRequest(url, { ...options, agent: this.#tunnels });
    }
    const forwarded = { ...options, ...forwardedBy(proxy, url, options.headers) };
    return proxy.url.protocol === 'https:'
      ? httpsRequest(proxy.url, { ...forwarded, agent: this.#agents.https })
      : httpRequest(proxy.url, { ...forwarded, agent: this.#agents.http });
  }
}

/** Sends the body; resolves with the head of the response. */
function headOf(
  sent: ClientRequest,
  url: URL,
  body: HttpRequest['body'],
  proxy: ProxyServer | undefined,
): Promise<ReceivedResponse> {
  const isForwarded = proxy !== undefined && url.protocol === 'http:';
  const isSecure = (isForwarded ? proxy.url : url).protocol === 'https:';
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    let isConnected = false;
    const onConnected = (): void => {
      isConnected = true;
      clearTimeout(timer);
    };
    sent.once('socket', (socket) => {
      // Not before: with many requests at once, one waits for a socket.
      timer = setTimeout(() => {
        sent.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS / 1000} s`));
      }, CONNECT_TIMEOUT_MS);
      if (socket.connecting) {
        socket.once(isSecure ? 'secureConnect' : 'connect', onConnected);
      } else {
        onConnected();
      }
    });
    sent.once('response', (response) => {
      const refusal = isForwarded ? refusalOfProxy(proxy, response) : undefined;
      if (refusal === undefined) {
        const from = proxy === undefined ? response.socket.remoteAddress : undefined;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: response, url, from });
      } else {
        response.destroy();
        reject(refusal);
      }
    });
    // Never removed: after the response has begun, an error reaches its reader through the body.
    sent.on('error', (cause) => {
      clearTimeout(timer);
      const isOfProxy = isForwarded && !isConnected;
      reject(
        isOfProxy ? new Error(`${describeProxy(proxy)} could not be reached: ${messageOf(cause)}`, { cause }) : cause,
      );
    });
    // An answer that switches to another protocol closes the connection, without an error.
    sent.once('close', () => reject(new Error('the connection was closed without an answer')));
    if (body instanceof Readable) {
      pass(body, sent);
    } else {
      sent.end(body);
    }
  });
}

/** By hand: `pipeline` replaces an error of the body by one of its own. */
function pass(body: Readable, sent: ClientRequest): void {
  body.on('error', (error) => sent.destroy(error));
  body.once('close', () => {
    if (!body.readableEnded) {
      sent.destroy(new Error('the body of the request ended too early'));
    }
  });
  sent.once('close', () => body.destroy());
  body.pipe(sent);
}

/** Options for a request that the proxy forwards (RFC 9112, section 3.2.2). */
function forwardedBy({ authorization }: ProxyServer, url: URL, headers: RequestOptions['headers']): RequestOptions {
  const { username, password } = url;
  const plain = new URL(url);
  [plain.username, plain.password, plain.hash] = ['', '', ''];
  return {
    path: plain.href,
    auth: username === '' && password === '' ? null : `${decodeURIComponent(username)}:${decodeURIComponent(password)}`,
    headers: {
      ...(headers as Record<string, string>),
      host: url.host,
      ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }),
    },
  };
}

/**
 * Reads the body of a response. Rejects with `BodyTooLongError` beyond `maxBytes`, and if the connection breaks. `onBytes` is
 * called with the bytes so far; what it throws ends the reading.
 */
export async function readBody(
  response: HttpResponse,
  maxBytes: number,
  onBytes: (bytes: number) => void = () => undefined,
): Promise<Buffer> {
  const pieces = createPieces();
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    if (pieces.bytes + chunk.length > maxBytes) {
      throw new BodyTooLongError(maxBytes);
    }
    // Copied, because a short chunk would keep the buffer of a whole read alive.
    pieces.add(Buffer.from(chunk));
    onBytes(pieces.bytes);
  }
  return pieces.takeAll();
}

/** Lets the connection be used again if the rest of the body is short, as it is for messages that have no answer. */
export function discardBody({ body }: HttpResponse): void {
  let bytes = 0;
  body.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_DISCARDED_BYTES) {
      body.destroy();
    }
  });
  const timer = setTimeout(() => body.destroy(), MAX_DISCARD_MS).unref();
  body.once('close', () => clearTimeout(timer));
  body.on('error', () => undefined);
}

/** A response was longer than allowed. */
export class BodyTooLongError extends Error {
  constructor(maxBytes: number) {
    super(`a response of more than ${maxBytes} bytes`);
  }
}

/** Without one of these headers, Node sends the body of a GET or DELETE bare, and a server reads it as further requests. */
function framingOf(body: HttpRequest['body'], headers: HttpRequest['headers']): Record<string, string> {
  if (body instanceof Readable) {
    return headers['content-length'] === undefined ? { 'transfer-encoding': 'chunked' } : {};
  }
  return body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
}
