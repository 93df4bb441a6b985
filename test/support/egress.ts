/** The front of the egress without a sandbox: connections as the relay in one makes them, and clients that speak on them. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Duplex, duplexPair } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';
import type { EgressAnswer, EgressRequest, HandleEgress } from '../../src/core/base/egress-exchange.ts';
import { silentLogger } from '../../src/core/base/log.ts';
import { type EgressAuthority, openAuthority } from '../../src/edges/egress-proxy/authority.ts';
import { EgressFront } from '../../src/edges/egress-proxy/front.ts';

/** A connection: its end in the sandbox, and that on the host. When one is destroyed, the other is, too. */
export function connectionPair(): [inside: Duplex, outside: Duplex] {
  const pair = duplexPair();
  const [inside, outside] = pair;
  for (const [one, other] of [pair, [outside, inside]] as const) {
    one.on('error', () => undefined).once('close', () => other.destroy());
  }
  return [inside, outside];
}

export interface TestFront {
  readonly front: EgressFront;
  readonly authority: EgressAuthority;
  /** What the handler got, in order. */
  readonly requests: EgressRequest[];
  /** A new connection of the sandbox. */
  connect(): Duplex;
  /** A new tunnel of the sandbox, after the answer to CONNECT. */
  tunnel(target: string): Promise<Duplex>;
  tls(target: string, options?: ConnectionOptions): Promise<TLSSocket>;
}

let authority: Promise<EgressAuthority> | undefined;

/** Of all tests of a file, in a folder that is gone. */
export function testAuthority(): Promise<EgressAuthority> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-egress-'));
  authority ??= openAuthority(folder).finally(() => rmSync(folder, { recursive: true }));
  return authority;
}

export function textAnswer(text: string, headers: EgressAnswer['headers'] = []): EgressAnswer {
  return { status: 200, headers: [['Content-Type', 'text/plain'], ...headers], body: Buffer.from(text) };
}

/** It closes when the test ends. By default, it answers with method and URL. */
export async function openFront(
  handle: HandleEgress = ({ method, url }) => Promise.resolve(textAnswer(`${method} ${url.href}`)),
): Promise<TestFront> {
  const ours = await testAuthority();
  const requests: EgressRequest[] = [];
  const noted: HandleEgress = (request) => {
    requests.push(request);
    return handle(request);
  };
  const front = new EgressFront({ authority: ours, handle: noted, logger: silentLogger });
  onTestFinished(() => front.close());
  const connect = (): Duplex => {
    const [inside, outside] = connectionPair();
    front.accept(outside);
    return inside;
  };
  const tunnel = async (target: string): Promise<Duplex> => {
    const socket = connect();
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    if (answer.toString() !== 'HTTP/1.1 200 Connection established\r\n\r\n') {
      throw new Error(`CONNECT was answered with ${answer.toString()}`);
    }
    return socket;
  };
  const tls = async (target: string, options: ConnectionOptions = {}): Promise<TLSSocket> => {
    const host = target.replace(/:\d+$/, '');
    const socket = connectTls({ socket: await tunnel(target), ca: ours.certificate, servername: host, ...options });
    await Promise.race([once(socket, 'secureConnect'), failOnClose(socket)]);
    return socket;
  };
  return { front, authority: ours, requests, connect, tunnel, tls };
}

async function failOnClose(socket: TLSSocket): Promise<never> {
  await once(socket, 'close');
  throw new Error('the connection was closed');
}

export interface ClientAnswer {
  readonly response: IncomingMessage;
  readonly body: Buffer;
  readonly text: string;
}

export interface ClientRequest extends RequestOptions {
  readonly content?: Buffer | string;
}

/** A request of Node's client on this connection, or on that of the agent. */
export async function send(on: Duplex | Agent, options: ClientRequest): Promise<IncomingMessage> {
  const { content, ...rest } = options;
  const request = httpRequest({ ...(on instanceof Agent ? { agent: on } : { createConnection: () => on }), ...rest });
  request.end(content);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

export async function fetchOn(on: Duplex | Agent, options: ClientRequest): Promise<ClientAnswer> {
  const response = await send(on, options);
  const body = await buffer(response);
  return { response, body, text: body.toString('utf8') };
}

/** An agent with one connection, which it keeps. */
export function keepingAgent(socket: Duplex): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  Object.assign(agent, { createConnection: () => socket });
  return agent;
}

/** A port on loopback behind which the front is, as the relay of a sandbox has it. It ends when the test ends. */
export async function relayPort({ front }: TestFront): Promise<number> {
  const server = createServer((socket) => {
    const [inside, outside] = connectionPair();
    front.accept(outside);
    socket.on('error', () => undefined).once('close', () => inside.destroy());
    inside.once('close', () => socket.destroy());
    socket.pipe(inside).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    front.close();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
