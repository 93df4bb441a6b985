/** The built command with a client of either protocol era. The test answers for the person and sees every message. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema, type ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { CLI, environmentOf, type ServerEntry } from './bridge-client.ts';
import type { TestEngine } from './engines.ts';

/** The protocol a client speaks. */
export const ERAS = ['2025-11-25', '2026-07-28'] as const;
export type Era = (typeof ERAS)[number];

export type PersonReply = ElicitResult;

/** `params` of `elicitation/create`. */
export type Asked = Record<string, unknown> & { readonly message: string };

interface AskingOptions {
  readonly engine: TestEngine;
  readonly era: Era;
  readonly servers: Readonly<Record<string, ServerEntry>>;
  readonly policy?: unknown;
  readonly env?: Readonly<Record<string, string>>;
  /** How the person answers. Without it, the client offers no elicitation. */
  readonly person?: (asked: Asked, signal: AbortSignal) => PersonReply | Promise<PersonReply>;
}

export interface AskingBridge {
  readonly folder: string;
  /** Process of the bridge. */
  readonly pid: number;
  /** `> ` and a message from the client, or `< ` and one from the bridge, as JSON. */
  readonly wire: string[];
  /** Calls `run_python`, or another tool that takes code. Returns the text of the answer. */
  run(code: string, more?: Record<string, unknown>, options?: { signal?: AbortSignal; tool?: string }): Promise<string>;
  close(): Promise<void>;
}

const identity = { name: 'asking', version: '1' };
const capabilities = { elicitation: { form: {}, url: {} } };

export async function startAskingBridge(options: AskingOptions): Promise<AskingBridge> {
  const { engine, era, servers, policy, env, person } = options;
  const folder = mkdtempSync(join(tmpdir(), 'bridge-asking-'));
  writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers: servers }));
  if (policy !== undefined) {
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(policy));
  }
  const parameters = {
    command: process.execPath,
    args: [CLI],
    env: environmentOf(engine, folder, env),
    stderr: 'inherit' as const,
  };
  const connect = era === '2026-07-28' ? connectModern : connectLegacy;
  const { call, close, wire, pid } = await connect(parameters, person);
  return {
    folder,
    pid: pid ?? 0,
    wire,
    async run(code, more = {}, { signal, tool = 'run_python' } = {}) {
      const params = { name: tool, arguments: { code, ...more } };
      const { content } = (await call(params, signal)) as { content: { text?: string }[] };
      return content[0]?.text ?? '';
    },
    async close() {
      await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Parameters {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
  readonly stderr: 'inherit';
}
type CallParams = { name: string; arguments: Record<string, unknown> };

async function connectModern(parameters: Parameters, person: AskingOptions['person']) {
  const client = new Client(identity, {
    capabilities: person === undefined ? {} : capabilities,
    versionNegotiation: { mode: { pin: '2026-07-28' } },
  });
  if (person !== undefined) {
    client.setRequestHandler('elicitation/create', async (request, { mcpReq }) =>
      person(request.params, mcpReq.signal),
    );
  }
  const transport = new StdioClientTransport(parameters);
  const wire = record(transport);
  await client.connect(transport);
  const call = (params: CallParams, signal?: AbortSignal): Promise<unknown> =>
    client.callTool(params, signal === undefined ? {} : { signal });
  return { wire, call, pid: transport.pid, close: () => client.close() };
}

async function connectLegacy(parameters: Parameters, person: AskingOptions['person']) {
  const client = new OldClient(identity, { capabilities: person === undefined ? {} : capabilities });
  if (person !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => person(params, signal));
  }
  const transport = new OldStdioClientTransport(parameters);
  const wire = record(transport);
  await client.connect(transport);
  const call = (params: CallParams, signal?: AbortSignal): Promise<unknown> =>
    client.callTool(params, undefined, signal === undefined ? {} : { signal });
  return { wire, call, pid: transport.pid, close: () => client.close() };
}

/** Records every message of a transport, in order. */
function record(transport: { onmessage?: unknown; send(...args: never[]): Promise<void> }): string[] {
  const wire: string[] = [];
  const send = transport.send.bind(transport) as (message: unknown, ...more: unknown[]) => Promise<void>;
  const recorded = async (message: unknown, ...more: unknown[]): Promise<void> => {
    wire.push(`> ${JSON.stringify(message)}`);
    await send(message, ...more);
  };
  let receive: ((message: unknown, ...more: unknown[]) => void) | undefined;
  Object.assign(transport, { send: recorded });
  Object.defineProperty(transport, 'onmessage', {
    get: () => receive,
    set(handler: typeof receive) {
      receive =
        handler &&
        ((message, ...more) => {
          wire.push(`< ${JSON.stringify(message)}`);
          handler(message, ...more);
        });
    },
  });
  return wire;
}
