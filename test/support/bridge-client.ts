/** The built command as a user runs it, with a real MCP client, real server files and an engine of this machine. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  Client,
  type ClientCapabilities,
  type JSONRPCMessage,
  type RequestOptions,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { giveCodePacks, keepCodePacks } from './code-packs.ts';
import type { TestEngine } from './engines.ts';
import { PATIENCE } from './patience.ts';

export const ROOT = join(import.meta.dirname, '../..');
export const CLI = join(ROOT, 'dist/cli.js');
const FIXTURES = join(ROOT, 'test/fixtures/servers');
/** The client's own limit, which limits hangs only. */
const REQUEST_TIMEOUT_MS = 60_000 * PATIENCE;

export interface ServerEntry {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Timeout of a call, in seconds. */
  readonly timeout?: number;
  readonly pin?: 'off' | 'warn' | 'strict';
}

/** An entry that runs one of `test/fixtures/servers`. */
export function fixtureServer(file: string, ...args: string[]): ServerEntry {
  return { command: process.execPath, args: [join(FIXTURES, file), ...args] };
}

/** An entry that runs a server package from node_modules. */
export function packageServer(name: string, args: string[] = [], env: Record<string, string> = {}): ServerEntry {
  const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
  const { bin } = createRequire(import.meta.url)(manifest) as { bin: string | Record<string, string> };
  const script = typeof bin === 'string' ? bin : (Object.values(bin)[0] ?? '');
  return { command: process.execPath, args: [join(dirname(manifest), script), ...args], env };
}

export interface RunPythonAnswer {
  readonly text: string;
  readonly structured: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

export interface BridgeClient {
  readonly client: Client;
  /** Process of the bridge. */
  readonly pid: number;
  /** An empty folder with the state directory in it, removed when the client closes. */
  readonly folder: string;
  runPython(code: string, more?: Record<string, unknown>, options?: RequestOptions): Promise<RunPythonAnswer>;
  close(): Promise<void>;
}

export interface BridgeOptions {
  readonly engine: TestEngine;
  readonly servers?: (folder: string) => Readonly<Record<string, ServerEntry>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Working directory of the bridge; that of the tests by default. */
  readonly cwd?: string;
  /** Arguments for Node itself, before the script. */
  readonly nodeArguments?: readonly string[];
  /** Gets what the bridge writes to stderr. By default that is passed on. */
  readonly onLog?: (text: string) => void;
  /** Sees each message of the bridge before the client does. */
  readonly onMessage?: (message: JSONRPCMessage) => void;
  /** The only protocol version that the client accepts; 2025-11-25 by default. */
  readonly protocolVersion?: '2026-07-28';
  /** The name that the client gives itself; `e2e` by default. */
  readonly clientName?: string;
  /** What the client says it can do; nothing by default. */
  readonly capabilities?: ClientCapabilities;
}

/** Starts the bridge and connects. */
export async function startBridge(options: BridgeOptions): Promise<BridgeClient> {
  const { engine, servers, env, onLog } = options;
  const folder = mkdtempSync(join(tmpdir(), 'bridge-e2e-'));
  writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers: servers?.(folder) ?? {} }));
  giveCodePacks(folder);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...(options.nodeArguments ?? []), CLI],
    env: environmentOf(engine, folder, env),
    stderr: onLog === undefined ? 'inherit' : 'pipe',
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  transport.stderr?.on('data', (chunk: Buffer) => onLog?.(chunk.toString('utf8')));
  const pin = options.protocolVersion;
  const client = new Client(
    { name: options.clientName ?? 'e2e', version: '1' },
    {
      ...(pin === undefined ? {} : { versionNegotiation: { mode: { pin } } }),
      ...(options.capabilities === undefined ? {} : { capabilities: options.capabilities }),
    },
  );
  await client.connect(transport);
  listen(transport, options.onMessage);
  return {
    client,
    pid: transport.pid ?? 0,
    folder,
    async runPython(code, more = {}, requestOptions = {}) {
      const limited = { timeout: REQUEST_TIMEOUT_MS, ...requestOptions };
      const result = await client.callTool({ name: 'run_python', arguments: { code, ...more } }, limited);
      const block = result.content[0];
      return {
        text: block?.type === 'text' ? block.text : '',
        structured: Object(result.structuredContent) as Record<string, unknown>,
        isError: result.isError === true,
      };
    },
    async close() {
      await client.close();
      keepCodePacks(folder);
      // The folder may hold the state of another bridge, which is ending.
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Adds a listener that runs before the client's own. */
function listen(transport: StdioClientTransport, onMessage: BridgeOptions['onMessage']): void {
  const clients = transport.onmessage;
  if (onMessage !== undefined) {
    transport.onmessage = (message) => {
      onMessage(message);
      clients?.(message);
    };
  }
}

/** The environment of a bridge with this state directory. It warns about unknown `MCP_BRIDGE_*` variables, such as the tests'. */
export function environmentOf(
  engine: TestEngine,
  stateDir: string,
  env: BridgeOptions['env'] = {},
): Record<string, string> {
  const inherited = Object.entries(engine.env).filter(([name]) => !name.startsWith('MCP_BRIDGE_TEST_'));
  const own = {
    MCP_BRIDGE_STATE_DIR: stateDir,
    MCP_BRIDGE_LOG_LEVEL: 'WARNING',
    // A test that is not about packages must not create the user's package store.
    MCP_BRIDGE_PACKAGES: 'off',
    // No test asks a registry that is not its own.
    MCP_BRIDGE_REGISTRY: 'off',
    // Most tests run one session; a sandbox that nobody takes only slows the others down.
    MCP_BRIDGE_PREWARM: '0',
    // Tests that use up all memory need not fill the default of 1 GiB.
    MCP_BRIDGE_MEMORY: '512m',
    // The client of the tests waits for the end of each cell.
    MCP_BRIDGE_ANSWER_WITHIN: 'off',
    ...env,
  };
  return { ...Object.fromEntries(inherited), ...own };
}
