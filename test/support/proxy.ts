/** A proxy on loopback for tunnels (CONNECT) and plain requests. It resolves names that exist nowhere else. */
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface ProxyOptions {
  /** The loopback port behind each host name. */
  readonly ports: Readonly<Record<string, number>>;
  /** The `name:password` that it requires. */
  readonly credentials?: string;
  /** Whether it accepts connections and then stays silent. */
  readonly isSilent?: boolean;
}

export interface Proxy {
  /** `127.0.0.1:PORT`. */
  readonly place: string;
  /** Its requests so far, in order: method and target. */
  readonly log: string[];
  /** Number of open connections to it. */
  readonly open: ReadonlySet<Socket>;
}

/** It stops when the test ends. */
export async function startProxy({ ports, credentials, isSilent = false }: ProxyOptions): Promise<Proxy> {
  const log: string[] = [];
  const open = new Set<Socket>();
  const wanted = credentials === undefined ? undefined : `Basic ${Buffer.from(credentials).toString('base64')}`;
  const take = ({ method, url, headers }: IncomingMessage): boolean => {
    log.push(`${method} ${url}`);
    return headers['proxy-authorization'] === wanted;
  };
  const server = createServer((request, response) => {
    if (!take(request)) {
      response.writeHead(407, { 'proxy-authenticate': 'Basic' }).end('who are you?');
      return;
    }
    const { hostname, pathname, search } = new URL(request.url ?? '');
    const { 'proxy-authorization': _own, ...headers } = request.headers;
    const path = pathname + search;
    const onward = httpRequest({ port: ports[hostname], path, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    socket.on('error', () => socket.destroy());
    if (!take(request)) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic\r\n\r\n');
    } else if (isSilent) {
      // It must read to notice the end.
      socket.resume().once('end', () => socket.end());
    } else {
      tunnel(socket, ports[(request.url ?? '').replace(/:\d+$/, '')]);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    [...open].forEach((socket) => socket.destroy());
    server.close();
  });
  return { place: `127.0.0.1:${(server.address() as AddressInfo).port}`, log, open };
}

function tunnel(socket: Socket, port: number | undefined): void {
  if (port === undefined) {
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    return;
  }
  const onward = connect(port, '127.0.0.1', () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    socket.pipe(onward).pipe(socket);
  });
  onward.on('error', () => socket.destroy());
  socket.once('close', () => onward.destroy());
}
