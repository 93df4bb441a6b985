/** A loopback HTTP server that the browser is redirected to after a login (RFC 8252, section 7.3). */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const PATH = '/callback';
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
  /** Resolves with the parameters of the first request that has the right `state`. Others are refused. */
  readonly answered: Promise<URLSearchParams>;
  close(): Promise<void>;
}

/** Listens on `port` of 127.0.0.1, or on any port if it is 0. Rejects if the port is in use. */
export async function startCallbackServer(state: string, port: number): Promise<CallbackServer> {
  let resolveAnswered: (parameters: URLSearchParams) => void = () => undefined;
  const answered = new Promise<URLSearchParams>((resolve) => {
    resolveAnswered = resolve;
  });
  const server = createServer({ requestTimeout: 10_000, maxHeaderSize: 32 * 1024 }, (request, response) => {
    const parameters = readCallback(request, state);
    if (typeof parameters === 'string') {
      reply(response, 400, parameters);
    } else {
      const isRefused = parameters.has('error');
      reply(response, 200, isRefused ? 'The login was refused.' : 'You are logged in.', () =>
        resolveAnswered(parameters),
      );
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  return {
    redirectUrl: `http://127.0.0.1:${address.port}${PATH}`,
    answered,
    close: () => closeServer(server),
  };
}

/** Returns the parameters, or the reason why the request is refused. */
function readCallback({ method, url = '', headers }: IncomingMessage, state: string): URLSearchParams | string {
  // A page whose host name resolves to this machine (DNS rebinding) sends another host.
  if (method !== 'GET' || !/^(?:127\.0\.0\.1|localhost):\d+$/.test(headers.host ?? '')) {
    return 'This address is only for logins.';
  }
  const target = URL.canParse(url, 'http://127.0.0.1') ? new URL(url, 'http://127.0.0.1') : undefined;
  if (target?.pathname !== PATH || target.searchParams.get('state') !== state) {
    return 'No login is waiting for this request.';
  }
  const { searchParams } = target;
  return searchParams.has('code') || searchParams.has('error') ? searchParams : 'This address has no code.';
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
