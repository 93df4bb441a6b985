/** A loopback HTTP server that the browser is redirected to after a login (RFC 8252, section 7.3). */
import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ConnectionLimits, Connections } from '../../../core/base/connections.ts';

const PATH = '/callback';
/** A browser needs two. Chosen. */
const CONNECTIONS: ConnectionLimits = { maxConnections: 16, maxStrangers: 16 };
const HEADERS = {
  'content-type': 'text/plain; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

export interface CallbackServer {
  /** The address that the browser is redirected to. */
  readonly redirectUrl: string;
  /** Resolves with the parameters of the first request that has the right `state`. Others, and later ones, are refused. */
  readonly answered: Promise<URLSearchParams>;
  close(): Promise<void>;
}

/** Listens on `port` of 127.0.0.1, or on any port if it is 0. Rejects if the port is in use. */
export async function startCallbackServer(state: string, port: number): Promise<CallbackServer> {
  let resolveAnswered: (parameters: URLSearchParams) => void = () => undefined;
  const answered = new Promise<URLSearchParams>((resolve) => {
    resolveAnswered = resolve;
  });
  let isAnswered = false;
  const server = createServer({ requestTimeout: 10_000, maxHeaderSize: 32 * 1024 }, (request, response) => {
    const parameters = isAnswered ? NOT_WAITING : readCallback(request, state);
    if (typeof parameters === 'string') {
      reply(response, 400, parameters);
    } else {
      isAnswered = true;
      const text = parameters.has('error')
        ? 'The login was refused.'
        : 'The terminal shows whether the login succeeded.';
      reply(response, 200, text, () => resolveAnswered(parameters));
    }
  });
  new Connections(CONNECTIONS).watch(server);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  return {
    redirectUrl: `http://127.0.0.1:${address.port}${PATH}`,
    answered,
    close: () => closeServer(server),
  };
}

const NOT_WAITING = 'No login is waiting for this request.';
/** RFC 6749, section 3.1: none of them may be repeated. */
const PARAMETERS = ['state', 'code', 'error', 'iss'];

/** Returns the parameters, or the reason why the request is refused. */
function readCallback(request: IncomingMessage, state: string): URLSearchParams | string {
  const { method, url = '' } = request;
  if (method !== 'GET' || !isForThisServer(request) || !isPageOfBrowser(request)) {
    return 'This address is only for logins.';
  }
  const target = URL.canParse(url, 'http://127.0.0.1') ? new URL(url, 'http://127.0.0.1') : undefined;
  if (target?.pathname !== PATH || !isSame(target.searchParams.get('state') ?? '', state)) {
    return NOT_WAITING;
  }
  const { searchParams } = target;
  if (PARAMETERS.some((name) => searchParams.getAll(name).length > 1)) {
    return 'This address repeats a parameter.';
  }
  return searchParams.has('code') || searchParams.has('error') ? searchParams : 'This address has no code.';
}

/** A page whose host name resolves to this machine (DNS rebinding) sends another host. */
function isForThisServer({ headers, socket }: IncomingMessage): boolean {
  return [`127.0.0.1:${socket.localPort}`, `localhost:${socket.localPort}`].includes(headers.host ?? '');
}

/**
 * Whether the browser will show the response as a page, if a browser sent the request (Fetch Metadata; only browsers send the
 * site): scripts, frames and images of a page must not log in.
 */
function isPageOfBrowser({ headers }: IncomingMessage): boolean {
  const isByBrowser = headers['sec-fetch-site'] !== undefined;
  const isPage = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return (headers.origin ?? 'null') === 'null' && (isPage || !isByBrowser);
}

/** Compares in constant time, whatever the lengths. */
function isSame(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer];
  return timingSafeEqual(a, b);
}

function reply(response: ServerResponse, status: number, text: string, whenSent?: () => void): void {
  response.writeHead(status, HEADERS).end(`${text}\nYou can close this page.\n`, whenSent);
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
}
