/** The real command, bundled with the fake bridge, as a child process; shared by the tests of the front. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { REQUIRE_BANNER } from '../../scripts/bundle/require-banner.mjs';

const cli = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const fakeBridge = fileURLToPath(new URL('../fixtures/front/fake-bridge.ts', import.meta.url));

export interface BuiltCommand {
  /** Path of the script for `node`. */
  readonly script: string;
  remove(): Promise<void>;
}

/** Replaces the real bridge with the fake one. */
const withFakeBridge: Plugin = {
  name: 'with-fake-bridge',
  setup(bundle) {
    bundle.onResolve({ filter: /\/bridge\.ts$/ }, () => ({ path: fakeBridge }));
  },
};

/** Bundles the command into a temporary folder. */
export async function buildFakeCommand(): Promise<BuiltCommand> {
  const folder = await mkdtemp(join(tmpdir(), 'front-'));
  await build({
    entryPoints: [cli],
    plugins: [withFakeBridge],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    define: { BUILD_VERSION: '"0.0.0-test"' },
    banner: { js: REQUIRE_BANNER },
    logLevel: 'warning',
  });
  return { script: join(folder, 'cli.mjs'), remove: () => rm(folder, { recursive: true, force: true }) };
}

/** A received message; tests compare only the parts they need, so it is not typed. */
// oxlint-disable-next-line typescript/no-explicit-any
type Message = Record<string, any>;

/** A client that writes and reads raw lines, so it can violate the protocol. */
export class LineClient {
  readonly child: ChildProcessWithoutNullStreams;
  /** All received messages, in order. */
  readonly messages: Message[] = [];
  /** Everything on stderr so far. */
  log = '';
  /** Exit code and signal. */
  readonly exited: Promise<[number | null, NodeJS.Signals | null]>;
  #pending = '';
  readonly #waiting = new Set<() => void>();

  constructor(script: string, env: Record<string, string> = {}, argv: readonly string[] = []) {
    // Never the state of the user who runs the tests.
    const HOME = mkdtempSync(join(tmpdir(), 'bridge-home-'));
    this.child = spawn(process.execPath, [script, ...argv], {
      env: { PATH: process.env['PATH'], HOME, ...env },
    });
    this.child.on('close', () => rmSync(HOME, { recursive: true }));
    this.exited = once(this.child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => this.#read(text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.log += text;
      this.#wake();
    });
    // The server may exit before everything was written; the tests check its output.
    this.child.stdin.on('error', () => undefined);
    this.child.on('close', () => this.#wake());
  }

  write(...lines: readonly (string | object)[]): void {
    this.child.stdin.write(lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));
  }

  /** Sends a request and waits for its answer. */
  async request(id: number | string, method: string, params: object = {}): Promise<Message> {
    this.write({ jsonrpc: '2.0', id, method, params });
    return this.answer(id);
  }

  run(id: number | string, args: unknown): Promise<Message> {
    return this.request(id, 'tools/call', { name: 'run_python', arguments: args });
  }

  /** The answer to request `id`, once it arrives. */
  answer(id: number | string): Promise<Message> {
    return this.until(() => this.messages.find((message) => message['id'] === id && !('method' in message)));
  }

  /** Waits until `find` returns something; rejects if the server exits first. */
  async until<Found>(find: () => Found | undefined | false): Promise<Found> {
    for (;;) {
      const found = find();
      if (found !== undefined && found !== false) {
        return found;
      }
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        throw new Error(`The server is gone. Its stderr:\n${this.log}`);
      }
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  untilLog(text: string): Promise<boolean> {
    return this.until(() => this.log.includes(text));
  }

  async initialize(protocolVersion = '2025-11-25'): Promise<Message> {
    const clientInfo = { name: 'test', version: '1' };
    const answer = await this.request('init', 'initialize', { protocolVersion, capabilities: {}, clientInfo });
    this.write({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return answer;
  }

  #read(text: string): void {
    this.#pending += text;
    const lines = this.#pending.split('\n');
    this.#pending = lines.pop() ?? '';
    this.messages.push(...lines.map((line) => JSON.parse(line) as Message));
    this.#wake();
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    waiting.forEach((wake) => wake());
  }
}

/** Registers hooks that build the command and end every client after its test. Returns a function that starts a client. */
export function setUpLineClients(): (env?: Record<string, string>) => LineClient {
  let server: BuiltCommand;
  const clients: LineClient[] = [];
  beforeAll(async () => {
    server = await buildFakeCommand();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) {
      client.child.kill('SIGKILL');
      await client.exited;
    }
  });
  afterAll(() => server.remove());
  return (env = {}) => {
    const client = new LineClient(server.script, env);
    clients.push(client);
    return client;
  };
}
