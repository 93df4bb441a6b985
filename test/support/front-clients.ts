/** The built command with a client of each SDK and era, for tests that call any of its tools. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CLI, environmentOf } from './bridge-client.ts';
import type { TestEngine } from './engines.ts';

export const SDKS = ['SDK 2, 2026-07-28', 'SDK 2, 2025-11-25', 'SDK 1'] as const;

export interface AnyToolResult {
  readonly text: string;
  readonly structured: unknown;
  readonly isError: boolean;
}

export interface ToolClient {
  /** Definitions, as the client sees them. */
  list(): Promise<readonly { readonly name: string }[]>;
  instructions(): string | undefined;
  call(name: string, given?: Record<string, unknown>): Promise<AnyToolResult>;
  close(): Promise<void>;
}

export interface ToolClientOptions {
  readonly sdk: (typeof SDKS)[number];
  readonly engine: TestEngine;
  /** The value of `MCP_BRIDGE_TOOLS`; undefined for the default. */
  readonly tools: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  /** The state directory; by default a new one, which `close` removes. */
  readonly folder?: string;
  /** The built command; by default the real one. */
  readonly script?: string;
}

export async function connectTools(options: ToolClientOptions): Promise<ToolClient> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'bridge-tools-'));
  const env = { ...(options.tools === undefined ? {} : { MCP_BRIDGE_TOOLS: options.tools }), ...options.env };
  const parameters = {
    command: process.execPath,
    args: [options.script ?? CLI],
    env: environmentOf(options.engine, folder, env),
    stderr: 'inherit' as const,
  };
  const client = options.sdk === 'SDK 1' ? await connectOld(parameters) : await connectNew(parameters, options.sdk);
  return {
    list: async () => (await client.listTools()).tools,
    instructions: () => client.getInstructions(),
    async call(name, given = {}) {
      const result = (await client.callTool({ name, arguments: given })) as {
        readonly content: readonly { readonly text?: string }[];
        readonly structuredContent?: unknown;
        readonly isError?: boolean;
      };
      return {
        text: result.content[0]?.text ?? '',
        structured: result.structuredContent,
        isError: result.isError === true,
      };
    },
    async close() {
      await client.close();
      if (options.folder === undefined) {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

interface Parameters {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
  readonly stderr: 'inherit';
}

const IDENTITY = { name: 'tools', version: '1' };

async function connectNew(parameters: Parameters, sdk: string) {
  const pin = sdk.endsWith('2026-07-28');
  const client = new Client(IDENTITY, pin ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {});
  await client.connect(new StdioClientTransport(parameters));
  return client;
}

async function connectOld(parameters: Parameters) {
  const client = new OldClient(IDENTITY);
  await client.connect(new OldStdioClientTransport(parameters));
  return client;
}
