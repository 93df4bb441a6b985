/**
 * An internet on loopback: an HTTP proxy that leads every host name to an API of the test, with TLS by an authority that exists only
 * in the test. A bridge that gets its address as HTTPS_PROXY and HTTP_PROXY, and its certificate, reaches nothing else.
 */
import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { createAuthority } from './certificates.ts';

/** What an API received. */
export interface FakeRequest {
  readonly scheme: 'http' | 'https';
  /** Where the client asked the proxy to go, which the header `Host` may contradict. */
  readonly host: string;
  readonly port: number;
  /** The name in the TLS handshake, if there was one. */
  readonly serverName: string | undefined;
  readonly method: string;
  /** With the query, as it came. */
  readonly path: string;
  /** As they came, in order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Of the body so far: complete once the API has read it. */
  readonly bodyBytes: number;
  readonly bodySha256: string;
}

export interface FakeInternet {
  /** `http://127.0.0.1:PORT`. */
  readonly proxyUrl: string;
  /** The authority as PEM, for NODE_EXTRA_CA_CERTS. */
  readonly certificateFile: string;
  /** In the order in which they came. */
  readonly requests: readonly FakeRequest[];
  /** `HOST:PORT` of what was asked for and has no API. */
  readonly refused: readonly string[];
  close(): Promise<void>;
}

/** An API for each host name or address; `*.example.com` stands for every name with one label more. */
export async function startFakeInternet(apis: Readonly<Record<string, RequestListener>>): Promise<FakeInternet> {
  const authority = createAuthority();
  const certificate = authority.issue(Object.keys(apis));
  const [requests, refused] = [[] as FakeRequest[], [] as string[]];
  const open = new Set<Socket>();
  const lead = (scheme: 'http' | 'https', authorityPart: string): RequestListener | undefined => {
    const [host, port] = splitAuthority(scheme, authorityPart);
    const api = apis[host] ?? apis[host.replace(/^[^.]+/, '*')];
    if (api === undefined) {
      refused.push(`${host}:${port}`);
      return undefined;
    }
    return (request, response) => {
      requests.push(recordOf(request, { scheme, host, port }));
      api(request, response);
    };
  };
  const proxy = createServer((request, response) => serveAbsolute(request, response, (host) => lead('http', host)));
  proxy.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => socket.destroy()).once('close', () => open.delete(socket));
  });
  proxy.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const listener = lead('https', request.url ?? '');
    if (listener === undefined) {
      socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    socket.unshift(head);
    withoutDeadlines(createSecureServer(certificate, listener)).emit('connection', socket);
  });
  withoutDeadlines(proxy).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    proxyUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    certificateFile: authority.file,
    requests,
    refused,
    async close() {
      open.forEach((socket) => socket.destroy());
      await new Promise((resolve) => {
        proxy.close(resolve);
      });
      authority.remove();
    },
  };
}

/** The deadlines that are tested are those of the bridge. */
function withoutDeadlines<S extends Server>(server: S): S {
  return Object.assign(server, { requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 });
}

function splitAuthority(scheme: 'http' | 'https', text: string): [host: string, port: number] {
  const [, host = '', port] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(text) ?? [];
  return [host.toLowerCase(), port === undefined ? { http: 80, https: 443 }[scheme] : Number(port)];
}

function serveAbsolute(
  request: IncomingMessage,
  response: ServerResponse,
  lead: (authority: string) => RequestListener | undefined,
): void {
  const [, host, path = ''] = /^http:\/\/([^/?#]+)(.*)$/.exec(request.url ?? '') ?? [];
  const listener = host === undefined ? undefined : lead(host);
  if (listener === undefined) {
    response.writeHead(502).end();
    return;
  }
  request.url = path.startsWith('/') ? path : `/${path}`;
  listener(request, response);
}

function recordOf(request: IncomingMessage, origin: Pick<FakeRequest, 'scheme' | 'host' | 'port'>): FakeRequest {
  const body = tapBody(request);
  const { rawHeaders, method = '', url: path = '' } = request;
  const { servername } = request.socket as { servername?: string | false };
  return {
    ...origin,
    serverName: typeof servername === 'string' ? servername : undefined,
    method,
    path,
    headers: rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as const] : [])),
    get bodyBytes() {
      return body.bytes;
    },
    get bodySha256() {
      return body.hash.copy().digest('hex');
    },
  };
}

/** A listener of `data` would start the stream before the API reads it, and some APIs here never do. */
function tapBody(request: IncomingMessage): { bytes: number; readonly hash: Hash } {
  const seen = { bytes: 0, hash: createHash('sha256') };
  const push = request.push.bind(request);
  request.push = (chunk: Buffer | null, encoding) => {
    seen.bytes += chunk?.length ?? 0;
    seen.hash.update(chunk ?? '');
    return push(chunk, encoding);
  };
  return seen;
}
