/**
 * HTTP requests of the bridge. On `node:http` and not on `fetch`: fetch of Node 20 gives up an answer that takes 300 s,
 * cannot be told which addresses to refuse, and has no way to close its sockets (docs/internals/decisions/026-remote-servers.md).
 */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { messageOf } from '../../base/errors.ts';
import {
  AddressRefusedError,
  type AddressRule,
  anyAddress,
  checkBehindProxy,
  guardedLookup,
  hostOf,
} from './addresses.ts';
import { describeProxy, noProxy, type ProxyChoice, type ProxyServer } from './proxies.ts';
import { redirectTarget } from './redirects.ts';
import { refusalOfProxy, TunnelAgent } from './tunnel-agent.ts';

/** Time to reach a host, TLS included. Chosen; a name of no host fails much sooner. */
const CONNECT_TIMEOUT_MS = 15_000;
/** Many servers close an idle connection after 5 s; one that is closed while it is used again fails a call. */
const IDLE_SOCKET_MS = 4_000;
/** Sockets to one server; further requests wait. Chosen below the 1,024 files a process may have open by default. */
const MAX_SOCKETS = 256;
const MAX_REDIRECTS = 5;

export interface HttpRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
  /** Ends the request and its answer. */
  readonly signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Must be read or destroyed. */
  readonly body: IncomingMessage;
  /** Where it came from, after redirects. */
  readonly url: URL;
}

const AGENT_OPTIONS = { keepAlive: true, maxSockets: MAX_SOCKETS, timeout: IDLE_SOCKET_MS };

export class HttpClient {
  readonly #rule: AddressRule;
  readonly #proxies: ProxyChoice;
  readonly #agents = { http: new HttpAgent(AGENT_OPTIONS), https: new HttpsAgent(AGENT_OPTIONS) };
  #tunnels: TunnelAgent | undefined;

  /** `rule` says which addresses are refused, `proxies` which proxy is asked instead. */
  constructor({ rule = anyAddress, proxies = noProxy }: { rule?: AddressRule; proxies?: ProxyChoice } = {}) {
    this.#rule = rule;
    this.#proxies = proxies;
  }

  /**
   * Sends a request and gives the head of its answer. Redirects are followed within the origin alone, so that headers
   * with secrets go nowhere else; another redirect is an answer. Rejects with the error of the network.
   */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    let { url } = request;
    for (let followed = 0; ; followed += 1) {
      const answer = await this.#sendOnce({ ...request, url });
      const target = redirectTarget(request.method, url, answer);
      if (target === undefined || followed === MAX_REDIRECTS) {
        return answer;
      }
      answer.body.destroy();
      url = target;
    }
  }

  /** Closes every socket. */
  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
    this.#tunnels?.destroy();
  }

  async #sendOnce(request: HttpRequest): Promise<HttpAnswer> {
    const { url, method, headers, body, signal } = request;
    const refused = isIP(hostOf(url)) === 0 ? undefined : this.#rule(hostOf(url));
    if (refused !== undefined) {
      throw new AddressRefusedError(hostOf(url), refused);
    }
    const proxy = this.#proxies(url);
    if (proxy !== undefined) {
      await checkBehindProxy(hostOf(url), this.#rule);
      signal?.throwIfAborted();
    }
    const sent = this.#begin(url, proxy, {
      method,
      // Compressed answers are not asked for: their size would be unknown until they are unpacked.
      headers: { 'accept-encoding': 'identity', ...headers, ...lengthOf(body) },
      ...(signal === undefined ? {} : { signal }),
    });
    return headOf(sent, url, body, proxy);
  }

  /** A request to the server, through a tunnel of the proxy, or, without TLS, to the proxy, which hands it on. */
  #begin(url: URL, proxy: ProxyServer | undefined, options: RequestOptions): ClientRequest {
    const isSecure = url.protocol === 'https:';
    if (proxy === undefined) {
      const guarded = { ...options, lookup: guardedLookup(this.#rule) };
      return isSecure
        ? httpsRequest(url, { ...guarded, agent: this.#agents.https })
        : httpRequest(url, { ...guarded, agent: this.#agents.http });
    }
    if (isSecure) {
      this.#tunnels ??= new TunnelAgent(proxy, { ...AGENT_OPTIONS, connectTimeoutMs: CONNECT_TIMEOUT_MS });
      return httpsRequest(url, { ...options, agent: this.#tunnels });
    }
    const handedOn = { ...options, ...handingOn(url, proxy, options.headers) };
    return proxy.url.protocol === 'https:'
      ? httpsRequest(proxy.url, { ...handedOn, agent: this.#agents.https })
      : httpRequest(proxy.url, { ...handedOn, agent: this.#agents.http });
  }
}

/** Sends the body, and gives the head of the answer. */
function headOf(
  sent: ClientRequest,
  url: URL,
  body: HttpRequest['body'],
  proxy: ProxyServer | undefined,
): Promise<HttpAnswer> {
  const isHandedOn = proxy !== undefined && url.protocol === 'http:';
  const isSecure = (isHandedOn ? proxy.url : url).protocol === 'https:';
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      sent.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS / 1000} s`));
    }, CONNECT_TIMEOUT_MS);
    let isConnected = false;
    const onConnected = (): void => {
      isConnected = true;
      clearTimeout(timer);
    };
    sent.once('socket', (socket) => {
      if (socket.connecting) {
        socket.once(isSecure ? 'secureConnect' : 'connect', onConnected);
      } else {
        onConnected();
      }
    });
    sent.once('response', (answer) => {
      const refusal = isHandedOn ? refusalOfProxy(proxy, answer) : undefined;
      if (refusal === undefined) {
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer, url });
      } else {
        answer.destroy();
        reject(refusal);
      }
    });
    // Stays: an error after the answer began reaches its reader through the body.
    sent.on('error', (cause) => {
      clearTimeout(timer);
      const isOfProxy = isHandedOn && !isConnected;
      const words = isOfProxy ? `${describeProxy(proxy)} could not be reached: ${messageOf(cause)}` : '';
      reject(isOfProxy ? new Error(words, { cause }) : cause);
    });
    sent.end(body);
  });
}

/** What makes a request one that a proxy hands on (RFC 9112, section 3.2.2). */
function handingOn(url: URL, { authorization }: ProxyServer, headers: RequestOptions['headers']): RequestOptions {
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

/** The body of an answer. Rejects with `BodyTooLongError` beyond `maxBytes`, and when the connection breaks. */
export async function readBody(answer: HttpAnswer, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      throw new BodyTooLongError(maxBytes);
    }
    chunks.push(chunk);
  }
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
}

/** An answer was longer than allowed. */
export class BodyTooLongError extends Error {
  constructor(maxBytes: number) {
    super(`an answer of more than ${maxBytes} bytes`);
  }
}

function lengthOf(body: string | Buffer | undefined): Record<string, string> {
  return body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
}
