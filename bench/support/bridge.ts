/** The built bridge as a host runs it: a process of its own, spoken to by the SDK's client over stdio. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { BenchContext } from '../context.ts';
import { withFolder } from './folder.ts';
import { assertEngine, reportedEngine } from './reported-engine.ts';
import type { ServerCommand } from './servers.ts';

export interface Bridge {
  readonly pid: number;
  readonly client: Client;
  /** Runs a cell; gives the text of its answer. Rejects when the cell failed, and when another engine than the context's ran it. */
  run(code: string, options?: CellOptions): Promise<string>;
  /** The engine that ran its cells. Throws when the bridge has not reported one. */
  engine(): string;
}

export interface CellOptions {
  readonly session?: string;
  readonly servers?: readonly string[];
}

export interface BridgeOptions {
  readonly image?: string;
  /** Folder of server files and code packs; a new one when left out. */
  readonly stateFolder?: string;
  readonly servers?: Readonly<Record<string, ServerCommand>>;
}

/** Seconds a cell may take: no figure here should come near. */
const TIMEOUT_SECONDS = 120;

/** Lends `use` a bridge that is connected and has started no sandbox yet. It is ended, with its sandboxes, in any case. */
export async function withBridge<Result>(
  context: BenchContext,
  options: BridgeOptions,
  use: (bridge: Bridge) => Promise<Result>,
): Promise<Result> {
  const { stateFolder } = options;
  if (stateFolder === undefined) {
    return withFolder((folder) => withBridge(context, { ...options, stateFolder: folder }, use));
  }
  await writeFile(join(stateFolder, 'bench.json'), JSON.stringify({ mcpServers: options.servers ?? {} }));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [context.script],
    env: environment(context, stateFolder, options.image ?? context.images.usual.name),
    stderr: 'inherit',
  });
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(transport);
  let reported: string | undefined;
  try {
    return await use({
      pid: transport.pid ?? 0,
      client,
      async run(code, cell) {
        const { name } = context.engine(); // Throws when there is none; else the bridge would take one that was not asked for.
        const answer = await run(client, code, cell);
        assertEngine(answer.engine, name);
        reported ??= answer.engine;
        return answer.text;
      },
      engine() {
        if (reported === undefined) {
          throw new Error('the bridge did not report its engine');
        }
        return context.engine().label;
      },
    });
  } finally {
    await client.close();
  }
}

function environment(context: BenchContext, stateFolder: string, image: string): Record<string, string> {
  return {
    ...context.env,
    MCP_BRIDGE_STATE_DIR: stateFolder,
    MCP_BRIDGE_IMAGE: image,
    MCP_BRIDGE_PULL: 'never',
    MCP_BRIDGE_LOG_LEVEL: 'ERROR',
  };
}

async function run(
  client: Client,
  code: string,
  options: CellOptions = {},
): Promise<{ text: string; engine: string | undefined }> {
  const request = { name: 'run_python', arguments: { code, timeout: TIMEOUT_SECONDS, ...options } };
  const { content, isError, structuredContent } = await client.callTool(request, { timeout: TIMEOUT_SECONDS * 1000 });
  const text = content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
  if (isError === true) {
    throw new Error(text);
  }
  return { text, engine: reportedEngine(structuredContent) };
}
