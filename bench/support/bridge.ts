/** The built bridge as a host runs it: a separate process, used by the SDK's client over stdio. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { BenchContext } from '../context.ts';
import { withFolder } from './folder.ts';
import type { ServerCommand } from './servers.ts';
import { timed } from './statistics.ts';

export interface Bridge {
  readonly pid: number;
  readonly client: Client;
  /** Runs a cell and returns the text of its answer. Rejects if the cell fails, or if it ran on an engine other than the context's. */
  run(code: string, options?: CellOptions): Promise<string>;
  /** The engine that ran its cells. Throws if the bridge has not reported one. */
  engine(): string;
}

export interface CellOptions {
  readonly session?: string;
  readonly servers?: readonly string[];
}

export interface BridgeOptions {
  readonly image?: string;
  /** Folder of server files and code packs; by default a new one. */
  readonly stateFolder?: string;
  readonly servers?: Readonly<Record<string, ServerCommand>>;
  /** Arguments for Node itself, before the script. */
  readonly nodeArguments?: readonly string[];
  /** More variables. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Longest time for a cell; no figure here should come near it. */
const TIMEOUT_SECONDS = 120;

/** Passes `use` a connected bridge that has started no sandbox yet. The bridge and its sandboxes end in any case. */
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
    args: [...(options.nodeArguments ?? []), context.script],
    env: { ...environment(context, stateFolder, options.image ?? context.images.usual.name), ...options.env },
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
        const { name } = context.engine(); // Throws if there is none; otherwise the bridge would choose another engine.
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

/** The engine named in the structured content of an answer; only the first answer of a session has one. */
export function reportedEngine(structured: unknown): string | undefined {
  const { engine } = Object(structured) as { engine?: { name?: unknown } };
  return typeof engine?.name === 'string' ? engine.name : undefined;
}

/** Throws if a bridge ran a cell on another engine than the one being measured. */
export function assertEngine(reported: string | undefined, wanted: string): void {
  if (reported !== undefined && reported !== wanted) {
    throw new Error(`the bridge used ${reported} instead of ${wanted}`);
  }
}

/** Milliseconds to the answer of the first cell of a session. Ending the session does not count. */
export async function firstCell({ run: runCell }: Bridge, session: string): Promise<number> {
  const time = await timed(() => runCell('x=1', { session }));
  await runCell('runtime.reset()', { session });
  return time;
}
