/**
 * Connections with TLS through a proxy (CONNECT, RFC 9110, section 9.3.6). The proxy sees the name of the server and what
 * is encrypted. Not `https-proxy-agent`, which hands what a proxy refuses with to the caller as the answer of the server.
 */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { type AgentOptions, Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { messageOf } from '../../base/errors.ts';
import { describeProxy, type ProxyServer } from './proxies.ts';

/** HTTP 407: the proxy wants a name and a password, or others. */
const PROXY_AUTHENTICATION_REQUIRED = 407;

interface TunnelOptions extends AgentOptions {
  /** Time to reach a server through the proxy, TLS included. */
  readonly connectTimeoutMs: number;
}

type TakeSocket = (error: Error | null, socket: Duplex) => void;
/** What Node really wants: no socket when there is an error. */
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

  /** Also ends the connections that are being made. */
  override destroy(): void {
    [...this.#opening].forEach((abort) => abort.abort(new Error('the connection was given up')));
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

  /** Gives a socket whose handshake is done, so that what waits for it need not know of the tunnel. */
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
      // `socket` is an option of tls.connect, which this comes to.
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

/** What the proxy said to a request that it did not hand on; undefined when it may have. */
export function refusalOfProxy(proxy: ProxyServer, { statusCode, statusMessage }: IncomingMessage): Error | undefined {
  return statusCode === PROXY_AUTHENTICATION_REQUIRED
    ? new Error(`${describeProxy(proxy)} wants another name and password (HTTP ${statusCode} ${statusMessage})`)
    : undefined;
}

/** A socket to `target` (`host:port`) behind the proxy. */
function connectThrough(proxy: ProxyServer, target: string, signal: AbortSignal): Promise<Duplex> {
  const { url, authorization } = proxy;
  const begin = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const headers = { host: target, ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }) };
  const asked = begin(url, { method: 'CONNECT', path: target, headers, agent: false, signal });
  return new Promise((resolve, reject) => {
    asked.once('connect', (answer, socket, head) => {
      const status = answer.statusCode ?? 0;
      if (status >= 200 && status < 300) {
        // Bytes of the server that came with the answer of the proxy.
        socket.unshift(head);
        resolve(socket);
      } else {
        socket.destroy();
        const words = `${describeProxy(proxy)} did not connect to ${target} (HTTP ${status} ${answer.statusMessage})`;
        reject(refusalOfProxy(proxy, answer) ?? new Error(words));
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
