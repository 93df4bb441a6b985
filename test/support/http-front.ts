/** The HTTP front in this process, with real tokens and a bridge that answers cells as the test says. */
import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { type CellAnswer, type CellRequest, NO_OUTPUT } from '../../src/core/base/cell.ts';
import { createLogger } from '../../src/core/base/log.ts';
import { type Bridge, LazyBridge } from '../../src/core/session/lazy-bridge.ts';
import { createTokenCheck } from '../../src/front/oauth-tokens/index.ts';
import { HttpFront } from '../../src/front/server/http/http-front.ts';
import type { HttpLimits } from '../../src/front/server/http/limits.ts';
import { Metrics } from '../../src/front/server/http/metrics.ts';
import { withSessionHeader } from '../../src/front/server/http/session-header.ts';
import { createRunPython } from '../../src/front/server/run-python.ts';
import { createIdentify, TokenFile } from '../../src/front/tokens/index.ts';

type RunCell = (request: CellRequest, principal: string | undefined) => Promise<Partial<CellAnswer>>;

export interface FrontHandle {
  readonly port: number;
  readonly tokens: TokenFile;
  readonly metrics: Metrics;
  readonly log: string[];
  /** Adds a token. */
  add(name: string): Promise<string>;
  send(options: SentRequest): Promise<Received>;
  /** A raw connection. */
  open(): Promise<RawConnection>;
}

export interface SentRequest {
  readonly method?: string;
  readonly path?: string;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface Received {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
  /** The JSON-RPC message of a response as JSON or as a stream. */
  readonly message: Record<string, unknown>;
}

export interface RawConnection {
  readonly socket: Socket;
  /** Everything that it has sent, once it has closed the connection. */
  readonly closed: Promise<string>;
}

const NO_CELLS: RunCell = async () => ({});

export async function startFront({
  limits = {},
  runCell = NO_CELLS,
  oauth,
}: {
  readonly limits?: Partial<HttpLimits>;
  readonly runCell?: RunCell;
  readonly oauth?: Omit<Parameters<typeof createTokenCheck>[0], 'logger' | 'profile'> | undefined;
} = {}): Promise<FrontHandle> {
  const folder = mkdtempSync(join(tmpdir(), 'http-front-'));
  const tokens = new TokenFile(folder);
  const metrics = new Metrics();
  const log: string[] = [];
  const logger = createLogger('DEBUG', (line) => log.push(line));
  const front = new HttpFront({
    address: { host: '127.0.0.1', port: 0 },
    hosts: ['mcp.example.com'],
    identify: createIdentify(tokens, {
      isRequired: oauth !== undefined,
      identifyOthers: oauth && createTokenCheck({ ...oauth, profile: undefined, logger }),
    }),
    protectedResource: oauth,
    metrics,
    readGauges: async () => [],
    logger,
    limits,
    hasProfile: () => false,
    createTenant({ name }) {
      const bridge = new LazyBridge(async () => bridgeOf((request) => runCell(request, name)));
      const options = {
        outputMode: 'compact',
        maxOutputChars: 40_000,
        defaultTimeoutSeconds: 30,
        maxTimeoutSeconds: 120,
      } as const;
      const resources = { list: async () => [], read: async () => undefined };
      const tools = [withSessionHeader(createRunPython(options))];
      return {
        front: { ...options, bridge, logger, resources, tools, version: '0' },
        isBusy: async () => false,
        hasSessions: async () => false,
        close: () => bridge.close(),
      };
    },
  });
  const { port: text_ } = new URL(await front.listen());
  const port = Number(text_);
  onTestFinished(async () => {
    await front.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    port,
    tokens,
    metrics,
    log,
    add: (name) => tokens.add(name, {}),
    send: (request) => sendTo({ port }, request),
    open: () => openRaw(port),
  };
}

function bridgeOf(runCell: (request: CellRequest) => Promise<Partial<CellAnswer>>): Bridge {
  return {
    async runCell(request) {
      await request.untilRoom?.();
      const { session, timeoutMs } = request;
      const timeoutSeconds = timeoutMs / 1000;
      const common = { servers: [], notices: [], stderr: NO_OUTPUT, stdout: NO_OUTPUT, timeoutSeconds };
      return { status: 'success', cell: 1, session, ...common, ...(await runCell(request)) };
    },
    runProgram: () => Promise.reject(new Error('no programs')),
    keepAnswers: async () => undefined,
    listSessions: async () => [],
    resetSession: async () => false,
    describeEngine: async () => undefined,
    listServers: () => ({ names: [], fileProblems: [], resolve: () => undefined, whyDisabled: () => undefined }),
    preload: async () => undefined,
    preinstall: async () => undefined,
    startSandboxesAhead: async () => undefined,
    startServersAhead: async () => undefined,
    close: async () => undefined,
  };
}

/** Sends a POST to `/mcp` unless told otherwise. */
export async function sendTo(
  { port, tls }: { readonly port: number; readonly tls?: { readonly rejectUnauthorized: boolean } },
  { method = 'POST', path = '/mcp', token, headers, body }: SentRequest,
): Promise<Received> {
  const sent = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const outgoing = (tls === undefined ? httpRequest : httpsRequest)({
    ...tls,
    port,
    host: '127.0.0.1',
    method,
    path,
    agent: false,
    headers: {
      Accept: 'application/json, text/event-stream',
      ...(sent !== undefined && { 'Content-Type': 'application/json' }),
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...headers,
    },
  });
  const answered = new Promise<Received>((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      text(response).then((whole) => {
        const { headers: received, statusCode = 0 } = response;
        resolve({ status: statusCode, headers: received, text: whole, message: messageIn(whole) });
      }, reject);
    });
  });
  outgoing.end(sent);
  return answered;
}

function messageIn(whole: string): Record<string, unknown> {
  const data = whole.split('\n').findLast((line) => line.startsWith('data: {')) ?? whole;
  try {
    return JSON.parse(data.replace(/^data: /, '')) as Record<string, unknown>;
  } catch {
    return {};
  }
}

async function openRaw(port: number): Promise<RawConnection> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk;
  });
  // A reset is how some are closed.
  socket.on('error', () => undefined);
  const closed = new Promise<string>((resolve) => {
    socket.once('close', () => resolve(received));
  });
  await new Promise((resolve) => {
    socket.once('connect', resolve);
  });
  onTestFinished(() => void socket.destroy());
  return { socket, closed };
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'attacker', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
};

/** A request of 2026-07-28. */
export function modern(
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Pick<SentRequest, 'body' | 'headers'> {
  const name = typeof params['name'] === 'string' ? { 'Mcp-Name': params['name'] } : {};
  return {
    headers: { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method, ...name, ...headers },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: META } },
  };
}

/** A call of `run_python` of 2026-07-28. */
export function runPython(code: string, more: Readonly<Record<string, unknown>> = {}) {
  return modern('tools/call', { name: 'run_python', arguments: { code }, ...more });
}

/** `initialize` of 2025-11-25. */
export const INITIALIZE = {
  body: {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'old', version: '1' } },
  },
};
