/** The built command as an HTTP server on loopback, and clients of either protocol era. */
import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Asked, Era, PersonReply } from './asking-bridge.ts';
import { CLI, environmentOf, type ServerEntry } from './bridge-client.ts';
import type { TestEngine } from './engines.ts';
import { PATIENCE } from './patience.ts';

const REQUEST_TIMEOUT_MS = 60_000 * PATIENCE;
const STARTED = /Serving MCP over HTTP at (\S+)\./;

export interface HttpBridge {
  /** Of MCP: `http://127.0.0.1:PORT/mcp`. */
  readonly url: string;
  /** The state directory. */
  readonly folder: string;
  readonly child: ChildProcessWithoutNullStreams;
  /** What it has written to stderr. */
  log(): string;
  untilLog(text: string | RegExp): Promise<RegExpMatchArray>;
  /** Runs a command on the same state directory; resolves with its stdout. */
  command(...argv: string[]): Promise<string>;
  connect(options: ConnectOptions): Promise<HttpClient>;
  /** Ends it as a supervisor does. Resolves with its exit code. */
  stop(): Promise<number | null>;
  /** Kills it if it runs, and removes the state directory. */
  remove(): Promise<void>;
}

export interface ConnectOptions {
  readonly era: Era;
  readonly token?: string;
  /** By default `/mcp`. */
  readonly path?: string;
  /** How the person answers. Without it, the client offers no elicitation. */
  readonly person?: (asked: Asked) => PersonReply | Promise<PersonReply>;
  /** Whether it can also show a page; no by default. */
  readonly opensPages?: boolean;
}

export interface HttpClient {
  run(code: string, more?: Record<string, unknown>, options?: { signal?: AbortSignal }): Promise<string>;
  /** Calls another tool; resolves with its text. */
  call(tool: string, given: Record<string, unknown>): Promise<string>;
  /** URIs and texts of the resources. */
  resources(): Promise<string[]>;
  read(uri: string): Promise<string>;
  sessionId(): string | undefined;
  /** Breaks the connection without a word, as a crash of the client does. */
  vanish(): void;
  close(): Promise<void>;
}

interface StartOptions {
  readonly engine: TestEngine;
  readonly folder?: string;
  readonly argv?: readonly string[];
  readonly servers?: Readonly<Record<string, ServerEntry | { readonly url: string; readonly per?: string }>>;
  readonly policy?: unknown;
  readonly env?: Readonly<Record<string, string>>;
  /** Names of tokens to add before the start. */
  readonly tokens?: readonly string[];
}

export async function startHttpBridge(options: StartOptions): Promise<HttpBridge & { readonly tokens: string[] }> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'bridge-http-'));
  writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers: options.servers ?? {} }));
  if (options.policy !== undefined) {
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(options.policy));
  }
  const env = environmentOf(options.engine, folder, {
    MCP_BRIDGE_LOG_LEVEL: 'INFO',
    MCP_BRIDGE_PREWARM: '0',
    ...options.env,
  });
  const command = async (...argv: string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, [CLI, ...argv], { env });
    return stdout.trim();
  };
  const tokens: string[] = [];
  for (const name of options.tokens ?? []) {
    tokens.push(await command('tokens', 'add', name));
  }
  const argv = options.argv ?? ['serve', '--http', '127.0.0.1:0'];
  const child = spawn(process.execPath, [CLI, ...argv], { env });
  const exited = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  let log = '';
  const waiting = new Set<() => void>();
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
    waiting.forEach((wake) => wake());
  });
  child.once('close', () => waiting.forEach((wake) => wake()));
  const until = async (text: string | RegExp): Promise<RegExpMatchArray> => {
    for (;;) {
      const found = log.match(text);
      if (found !== null) {
        return found;
      }
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new Error(`the bridge has ended; its log:\n${log}`);
      }
      await new Promise<void>((resolve) => {
        waiting.add(resolve);
      });
      waiting.clear();
    }
  };
  const url = (await until(STARTED))[1] ?? '';
  return {
    url,
    folder,
    child,
    tokens,
    command,
    log: () => log,
    untilLog: until,
    connect({ era, path = '/mcp', ...more }) {
      const target = new URL(path, url).href;
      return era === '2026-07-28' ? connectModern(target, more) : connectOld(target, more);
    },
    async stop() {
      child.kill('SIGTERM');
      return (await exited)[0];
    },
    async remove() {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const identity = { name: 'over-http', version: '1' };
const capabilitiesOf = ({ person, opensPages = false }: Parts) =>
  person === undefined ? {} : { elicitation: { form: {}, ...(opensPages && { url: {} }) } };

/** A `fetch` whose requests can be broken off from outside. */
function breakable() {
  const gone = new AbortController();
  const fetchUntilGone = (url: string | URL | Request, init: RequestInit = {}): Promise<Response> =>
    fetch(url, { ...init, signal: init.signal ? AbortSignal.any([init.signal, gone.signal]) : gone.signal });
  return { fetch: fetchUntilGone, vanish: () => gone.abort() };
}

type Parts = Omit<ConnectOptions, 'era' | 'path'>;

function transportOptions(token: string | undefined, fetchUntilGone: typeof fetch) {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return { requestInit: { headers }, fetch: fetchUntilGone };
}

async function connectModern(url: string, parts: Parts): Promise<HttpClient> {
  const { token, person } = parts;
  const client = new Client(identity, {
    capabilities: capabilitiesOf(parts),
    versionNegotiation: { mode: { pin: '2026-07-28' } },
  });
  if (person !== undefined) {
    client.setRequestHandler('elicitation/create', async ({ params }) => person(params as unknown as Asked));
  }
  const { fetch: fetchUntilGone, vanish } = breakable();
  const transport = new StreamableHTTPClientTransport(new URL(url), transportOptions(token, fetchUntilGone));
  await client.connect(transport);
  // The client learns from it which arguments are headers.
  await client.listTools();
  return {
    async run(code, more = {}, options = {}) {
      const params = { name: 'run_python', arguments: { code, ...more } };
      return textOf(await client.callTool(params, { timeout: REQUEST_TIMEOUT_MS, ...options }));
    },
    call: async (name, given) => textOf(await client.callTool({ name, arguments: given })),
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    read: async (uri) => readText(await client.readResource({ uri })),
    sessionId: () => transport.sessionId,
    vanish,
    close: () => client.close(),
  };
}

async function connectOld(url: string, parts: Parts): Promise<HttpClient> {
  const { token, person } = parts;
  const client = new OldClient(identity, { capabilities: capabilitiesOf(parts) });
  if (person !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => person(params as unknown as Asked));
  }
  const { fetch: fetchUntilGone, vanish } = breakable();
  const transport = new OldTransport(new URL(url), transportOptions(token, fetchUntilGone));
  await client.connect(transport);
  return {
    async run(code, more = {}, options = {}) {
      const params = { name: 'run_python', arguments: { code, ...more } };
      return textOf(await client.callTool(params, undefined, { timeout: REQUEST_TIMEOUT_MS, ...options }));
    },
    call: async (name, given) => textOf(await client.callTool({ name, arguments: given })),
    resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
    read: async (uri) => readText(await client.readResource({ uri })),
    sessionId: () => transport.sessionId,
    vanish,
    close: () => client.close(),
  };
}

function textOf(result: unknown): string {
  return (result as { content: { text?: string }[] }).content[0]?.text ?? '';
}

function readText(result: unknown): string {
  return (result as { contents: { text?: string }[] }).contents[0]?.text ?? '';
}
