/**
 * MCP servers over HTTP for tests, on loopback: real ones from npm, one of the newest protocol version, and one that can
 * misbehave.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '../../src/edges/upstream/pool.ts';
import { pause } from './pause.ts';
import { npmServer } from './upstream.ts';

const require = createRequire(import.meta.url);

export interface HttpServerHandle {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  /** Requests so far: method and path. */
  readonly requests: string[];
  /** Resolves when no connection to it is open. Only the timeout of the test limits the wait. */
  untilUnused(): Promise<void>;
  /** Stops it as a crash would. Start its successor on the same `port`. */
  stop(): Promise<void>;
  readonly port: number;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** A server on loopback that stops when the test ends. */
export async function startHttp(handler: Handler, port = 0): Promise<HttpServerHandle> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    void handler(request, response);
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const stop = (): Promise<void> => stopServer(server);
  onTestFinished(stop);
  const address = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${address.port}`,
    requests,
    port: address.port,
    stop,
    async untilUnused() {
      while ((await countConnections(server)) > 0) {
        await pause(10, 'poll interval');
      }
    },
  };
}

function countConnections(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
}

async function stopServer(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
}

/** The JSON body of a request. */
export async function readJson(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) {
    chunks.push(chunk);
  }
  return chunks.length === 0 ? {} : (JSON.parse(Buffer.concat(chunks).toString('utf8')) as JsonObject);
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly message: JsonObject;
  /** Answers with this result, as JSON. */
  reply(result: JsonObject): void;
}

export interface MiniServerOptions {
  /** Called for each `tools/call`; a text result by default. */
  readonly onCall?: (exchange: Exchange) => void | Promise<void>;
  /** Called first for every request; returns true if it answered. */
  readonly before?: (exchange: Exchange) => boolean;
  readonly port?: number;
  /** Valid session ids; each `initialize` adds one. No sessions by default. */
  readonly sessions?: Set<string>;
}

/** A small server of 2025-11-25 with the tool `act`. Every part can be replaced. */
export async function startMini(options: MiniServerOptions = {}): Promise<HttpServerHandle & { readonly url: string }> {
  const handle = await startHttp(async (request, response) => {
    const message = await readJson(request);
    const reply = (result: JsonObject): void => sendJson(response, { jsonrpc: '2.0', id: message['id'], result });
    const exchange: Exchange = { request, response, message, reply };
    if (options.before?.(exchange) !== true) {
      await answer(exchange, options);
    }
  }, options.port);
  return { ...handle, url: `${handle.origin}/mcp` };
}

async function answer(exchange: Exchange, { onCall, sessions }: MiniServerOptions): Promise<void> {
  const { request, response, message, reply } = exchange;
  const session = request.headers['mcp-session-id'];
  if (request.method === 'GET') {
    response.writeHead(405).end();
  } else if (request.method === 'DELETE') {
    sessions?.delete(String(session));
    response.writeHead(200).end();
  } else if (message['method'] === 'initialize') {
    const id = `session-${(sessions?.size ?? 0) + 1}`;
    sessions?.add(id);
    const headers = sessions === undefined ? {} : { 'mcp-session-id': id };
    sendJson(response, { jsonrpc: '2.0', id: message['id'], result: INITIALIZED }, headers);
  } else if (sessions !== undefined && message['method'] !== 'server/discover' && !sessions.has(String(session))) {
    response.writeHead(404).end('no such session');
  } else if (message['id'] === undefined) {
    response.writeHead(202).end();
  } else if (message['method'] === 'tools/list') {
    reply({ tools: [{ name: 'act', inputSchema: { type: 'object' } }] });
  } else if (message['method'] === 'tools/call') {
    await (onCall ?? ((call) => call.reply(textResult('done'))))(exchange);
  } else {
    sendJson(response, { jsonrpc: '2.0', id: message['id'], error: { code: -32_601, message: 'unknown method' } });
  }
}

const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'mini', version: '1' },
};

export function textResult(text: string): JsonObject {
  return { content: [{ type: 'text', text }] };
}

function sendJson(response: ServerResponse, body: JsonObject, headers: Record<string, string> = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** A server of 2026-07-28 made with the SDK: `echo`, `wait` (until it is cancelled), `headers`, `add_tool`. */
export async function startModern(): Promise<
  HttpServerHandle & { readonly url: string; readonly cancelled: string[] }
> {
  const cancelled: string[] = [];
  const extraTools: string[] = [];
  const handler = createMcpHandler(({ requestInfo }) => {
    const server = new McpServer({ name: 'modern', version: '1' }, { capabilities: { tools: { listChanged: true } } });
    server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
      content: [{ type: 'text', text }],
    }));
    server.registerTool('headers', { inputSchema: z.object({}) }, () => ({
      content: [{ type: 'text', text: JSON.stringify(Object.fromEntries(requestInfo?.headers ?? [])) }],
    }));
    server.registerTool('wait', { inputSchema: z.object({}) }, async (_args, { mcpReq }) => {
      await new Promise((resolve) => {
        mcpReq.signal.addEventListener('abort', resolve);
      });
      cancelled.push('wait');
      return { content: [] };
    });
    for (const name of extraTools) {
      server.registerTool(name, {}, () => ({ content: [] }));
    }
    return server;
  });
  const handle = await startHttp(async (request, response) => {
    if (request.url === '/add-tool') {
      extraTools.push('added');
      handler.notify.toolsChanged();
      response.end();
      return;
    }
    await serveFetch(handler.fetch, request, response);
  });
  return { ...handle, url: `${handle.origin}/mcp`, cancelled };
}

/** Answers a Node request with a Web handler. */
async function serveFetch(
  handle: (request: Request) => Promise<Response>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const abort = new AbortController();
  response.once('close', () => abort.abort());
  const body = request.method === 'POST' ? Readable.toWeb(request) : null;
  const web = new Request(`http://${request.headers.host}${request.url}`, {
    method: request.method ?? 'GET',
    headers: Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]),
    body,
    signal: abort.signal,
    ...(body === null ? {} : { duplex: 'half' as const }),
  });
  const answered = await handle(web);
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  if (answered.body === null) {
    response.end();
  } else {
    Readable.fromWeb(answered.body).pipe(response);
  }
}

const LOOPBACK_ONLY = pathToFileURL(join(import.meta.dirname, '..', 'fixtures', 'servers', 'loopback-only.mjs')).href;

/**
 * A server from npm that speaks HTTP, in its own process that ends with the test. `isReady` recognizes the line to wait for.
 */
export async function startNpmHttp(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  isReady: (line: string) => boolean,
): Promise<ChildProcess> {
  // Files in the working directory of a server are removed with it.
  const cwd = mkdtempSync(join(tmpdir(), 'npm-server-'));
  const child = spawn(process.execPath, ['--import', LOOPBACK_ONLY, script, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(cwd, { recursive: true, force: true });
  });
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => (isReady(line) ? resolve() : undefined));
    }
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code}`)));
  });
  return child;
}

/**
 * An HTTP server among the devDependencies, started with the arguments that `args` returns for its port. Returns its origin.
 */
export async function startNpmServer(
  name: string,
  args: (port: number) => readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { args: [script = ''] = [] } = npmServer(name);
  const port = await freePort();
  await startNpmHttp(script, args(port), env, (line) => line.includes(String(port)));
  // By name, as the servers print it: some refuse any other host.
  return `http://localhost:${port}`;
}

/** server-everything in one of its HTTP modes. Returns its address. */
export async function startEverything(mode: 'streamableHttp' | 'sse'): Promise<string> {
  const manifest = require.resolve('@modelcontextprotocol/server-everything/package.json');
  const port = await freePort();
  const isReady = (line: string): boolean => line.includes(String(port));
  await startNpmHttp(join(dirname(manifest), 'dist/index.js'), [mode], { PORT: String(port) }, isReady);
  return `http://127.0.0.1:${port}/${mode === 'sse' ? 'sse' : 'mcp'}`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await stopServer(server);
  return port;
}
