/**
 * TLS connections through a proxy (CONNECT, RFC 9110, section 9.3.6). The proxy sees the server's name and encrypted data.
 * `https-proxy-agent` is not used because it returns a proxy's refusal as if the server had sent it.
 */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { type AgentOptions, Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { messageOf } from '../../../core/base/errors.ts';
import { describeProxy, type ProxyServer } from './proxies.ts';

/** HTTP 407: the proxy requires a user name and password, or rejected those it got. */
const PROXY_AUTHENTICATION_REQUIRED = 407;

interface TunnelOptions extends AgentOptions {
  /** Time to connect to a server through the proxy, including TLS. */
  readonly connectTimeoutMs: number;
}

type TakeSocket = (error: Error | null, socket: Duplex) => void;
/** The real signature in Node: there is no socket if there is an error. */
type TakeEither = (error: Error | null, socket?: Duplex) => void;

export class TunnelAgent extends HttpsAgent {
  readonly #proxy: ProxyServer;
  readonly #connectTimeoutMs: number;
  readonly #opening = new Set<AbortController>();

  constructor(proxy: ProxyServer, { connectTimeoutMs, ...options }: TunnelOptions) {
    super(options);
    this.#proxy = proxy;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  override createConnection(options: RequestOptions, take: TakeSocket = () => undefined): undefined {
    void this.#give(options, take as TakeEither);
  }

  /** Also aborts connections in progress. */
  override destroy(): void {
    [...this.#opening].forEach((abort) => abort.abort(new Error('the connection was aborted')));
    super.destroy();
  }

  async #give(options: RequestOptions, take: TakeEither): Promise<void> {
    const opened = await this.#open(options).catch((error: unknown) => error as Error);
    if (opened instanceof Error) {
      take(opened);
    } else {
      take(null, opened);
    }
  }

  /** Resolves with a socket whose TLS handshake is done, so that its user need not know about the tunnel. */
  async #open(options: RequestOptions): Promise<Duplex> {
    const abort = new AbortController();
    this.#opening.add(abort);
    const reason = new Error(`no connection within ${this.#connectTimeoutMs / 1000} s`);
    const timer = setTimeout(() => abort.abort(reason), this.#connectTimeoutMs);
    try {
      const socket = await connectThrough(
        this.#proxy,
        `${bracketed(options.host ?? '')}:${options.port}`,
        abort.signal,
      );
      // `socket` is an option of tls.connect, which this calls.
      const secured = super.createConnection({ ...options, socket } as RequestOptions) as Duplex;
      await once(secured, 'secureConnect', { signal: abort.signal }).catch((error: unknown) => {
        secured.destroy();
        throw abort.signal.aborted ? abort.signal.reason : error;
      });
      return secured;
    } finally {
      clearTimeout(timer);
      this.#opening.delete(abort);
    }
  }
}

/** The error for a request that the proxy refused to forward; undefined if it may have forwarded it. */
export function refusalOfProxy(proxy: ProxyServer, { statusCode, statusMessage }: IncomingMessage): Error | undefined {
  return statusCode === PROXY_AUTHENTICATION_REQUIRED
    ? new Error(`${describeProxy(proxy)} requires another user name and password (HTTP ${statusCode} ${statusMessage})`)
    : undefined;
}

/** A socket to `target` (`host:port`) behind the proxy. */
function connectThrough(proxy: ProxyServer, target: string, signal: AbortSignal): Promise<Duplex> {
  const { url, authorization } = proxy;
  const begin = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const headers = { host: target, ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }) };
  const asked = begin(url, { method: 'CONNECT', path: target, headers, agent: false, signal });
  return new Promise((resolve, reject) => {
    asked.once('connect', (response, socket, head) => {
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 300) {
        // Bytes from the server that arrived with the proxy's response.
        socket.unshift(head);
        resolve(socket);
      } else {
        socket.destroy();
        const refusal = `${describeProxy(proxy)} did not connect to ${target} (HTTP ${status} ${response.statusMessage})`;
        reject(refusalOfProxy(proxy, response) ?? new Error(refusal));
      }
    });
    asked.on('error', (error) => {
      const cause = signal.aborted ? (signal.reason as unknown) : error;
      reject(new Error(`${describeProxy(proxy)} could not be reached: ${messageOf(cause)}`, { cause }));
    });
    asked.end();
  });
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
