/**
 * HTTP requests of the bridge. On `node:http` and not on `fetch`: fetch of Node 20 gives up an answer that takes 300 s,
 * cannot be told which addresses to refuse, and has no way to close its sockets (docs/decisions/026-remote-servers.md).
 * Proxies named in the environment are not used.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { AddressRefusedError, type AddressRule, anyAddress, guardedLookup, hostOf } from './addresses.ts';
import { redirectTarget } from './redirects.ts';

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

export class HttpClient {
  readonly #rule: AddressRule;
  readonly #agents: { readonly http: HttpAgent; readonly https: HttpsAgent };

  /** `rule` says which addresses are refused. */
  constructor(rule: AddressRule = anyAddress) {
    const options = { keepAlive: true, maxSockets: MAX_SOCKETS, timeout: IDLE_SOCKET_MS };
    this.#rule = rule;
    this.#agents = { http: new HttpAgent(options), https: new HttpsAgent(options) };
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
  }

  #sendOnce(request: HttpRequest): Promise<HttpAnswer> {
    const { url, method, headers, body, signal } = request;
    const refused = isIP(hostOf(url)) === 0 ? undefined : this.#rule(hostOf(url));
    if (refused !== undefined) {
      return Promise.reject(new AddressRefusedError(hostOf(url), refused));
    }
    const isSecure = url.protocol === 'https:';
    const options = {
      method,
      // Compressed answers are not asked for: their size would be unknown until they are unpacked.
      headers: { 'accept-encoding': 'identity', ...headers, ...lengthOf(body) },
      lookup: guardedLookup(this.#rule),
      ...(signal === undefined ? {} : { signal }),
    };
    return new Promise((resolve, reject) => {
      const sent = isSecure
        ? httpsRequest(url, { ...options, agent: this.#agents.https })
        : httpRequest(url, { ...options, agent: this.#agents.http });
      const timer = setTimeout(() => {
        sent.destroy(new Error(`no connection within ${CONNECT_TIMEOUT_MS / 1000} s`));
      }, CONNECT_TIMEOUT_MS);
      sent.once('socket', (socket) => {
        if (socket.connecting) {
          socket.once(isSecure ? 'secureConnect' : 'connect', () => clearTimeout(timer));
        } else {
          clearTimeout(timer);
        }
      });
      sent.once('response', (answer) => {
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer, url });
      });
      // Stays: an error after the answer began reaches its reader through the body.
      sent.on('error', (error) => {
        clearTimeout(timer);
        reject(error);
      });
      sent.end(body);
    });
  }
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
