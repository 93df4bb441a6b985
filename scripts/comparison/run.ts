/** Runs the tasks both ways for real, and counts the tokens that pass through the model. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, type Tool } from '@modelcontextprotocol/client';
import { programOf } from '../demo/workspace.ts';
import { connect, type ServerEntry, textOf } from './connect.ts';
import { type ComparedTask, type DirectCall, logFiles, TASKS, type TurnAnswers } from './tasks.ts';
import { countTokens, tokensOf } from './tokens.ts';

const COMMAND = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const PREFIX = 'comparison-';
const NOTES = {
  'garden.md': 'Water the tomatoes every day.\nTODO: prune the apple tree\n',
  'house.md': 'TODO: call the plumber\nTODO: paint the door\n',
  'travel.md': 'Tickets are booked.\n',
};

/** One way of doing one task. Tokens are of o200k_base. */
export interface Effort {
  /** Answers of the model, the last one, which only says the result, not counted. */
  readonly turns: number;
  /** Tokens that the model writes: calls, or code. */
  readonly written: number;
  /** Tokens of the answers, each counted once. */
  readonly read: number;
  /** Time of the calls or cells alone, without any model. */
  readonly ms: number;
  readonly result: string;
}

export interface Comparison {
  readonly direct: Effort;
  readonly code: Effort;
}

export interface ComparisonRun {
  /** Tokens of the definitions that are in every conversation. */
  readonly definitions: { readonly direct: number; readonly code: number; readonly tools: number };
  /** Names of the servers that both ways use. */
  readonly servers: readonly string[];
  readonly tasks: readonly ComparedRun[];
}

/** One task, done both ways. */
export interface ComparedRun {
  readonly task: ComparedTask;
  readonly comparison: Comparison;
  /** Calls made by the code, as `server.tool`, from the bridge's audit log. */
  readonly calls: readonly string[];
}

/** Does the tasks both ways; `env` is for the bridge. Rejects if the two results of a task differ. */
export async function runComparison(
  env: Readonly<Record<string, string>>,
  tasks: readonly ComparedTask[] = TASKS,
): Promise<ComparisonRun> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), PREFIX)));
  const servers = prepare(folder);
  const direct = new Map<string, Client>();
  const bridge = new Client({ name: 'comparison', version: '1' });
  try {
    for (const [name, server] of Object.entries(servers)) {
      direct.set(name, await connect(new Client({ name: 'comparison', version: '1' }), server));
    }
    const bridgeEnv = {
      ...env,
      MCP_BRIDGE_AUDIT: '1',
      MCP_BRIDGE_LOG_LEVEL: 'WARNING',
      MCP_BRIDGE_STATE_DIR: join(folder, 'MCPs'),
    };
    await connect(bridge, { command: process.execPath, args: [COMMAND], env: bridgeEnv });
    const tools: Tool[] = [];
    for (const client of direct.values()) {
      tools.push(...(await client.listTools()).tools);
    }
    const own = (await bridge.listTools()).tools;
    const definitions = { direct: tokensOf(tools), code: tokensOf(own), tools: tools.length };
    await warmUp(bridge, Object.keys(servers));
    const compared: Omit<ComparedRun, 'calls'>[] = [];
    for (const task of tasks) {
      compared.push({ task, comparison: await compare(task, direct, bridge) });
    }
    // The log is complete once the bridge has ended.
    await bridge.close();
    const calls = readCalls(join(folder, 'MCPs'));
    return {
      definitions,
      servers: Object.keys(servers),
      tasks: compared.map((run) => ({ ...run, calls: run.task.cells.flatMap((code) => calls.get(code) ?? []) })),
    };
  } finally {
    await Promise.all([bridge, ...direct.values()].map((client) => client.close()));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Creates the folder of files, and the same three servers for both ways. */
function prepare(folder: string): Record<string, ServerEntry> {
  const files = join(folder, 'files');
  mkdirSync(files);
  mkdirSync(join(folder, 'MCPs'));
  for (const [name, text] of Object.entries({ ...NOTES, ...logFiles() })) {
    writeFileSync(join(files, name), text);
  }
  const servers = (way: string): Record<string, ServerEntry> => ({
    filesystem: { command: process.execPath, args: [programOf('server-filesystem'), '.'], cwd: files },
    memory: {
      command: process.execPath,
      args: [programOf('server-memory')],
      env: { MEMORY_FILE_PATH: join(folder, `${way}.jsonl`) },
    },
    everything: { command: process.execPath, args: [programOf('server-everything')] },
  });
  writeFileSync(join(folder, 'MCPs', 'servers.json'), JSON.stringify({ mcpServers: servers('code') }));
  return servers('direct');
}

/** Starts the bridge's servers before the clock starts; direct clients are connected by then too. */
async function warmUp(bridge: Client, servers: readonly string[]): Promise<void> {
  await bridge.callTool({
    name: 'run_python',
    arguments: { code: 'await runtime.query_tool_docs("memory")', servers },
  });
  await bridge.callTool({ name: 'run_python', arguments: { code: 'await mcp_filesystem.list_allowed_directories()' } });
  await bridge.callTool({ name: 'run_python', arguments: { code: 'await mcp_everything.echo(message="x")' } });
}

async function compare(task: ComparedTask, direct: ReadonlyMap<string, Client>, bridge: Client): Promise<Comparison> {
  const comparison = { direct: await doDirectly(task, direct), code: await doInCode(task, bridge) };
  if (comparison.direct.result.trim() !== comparison.code.result.trim()) {
    throw new Error(
      `${task.title}: direct calls gave ${comparison.direct.result}, code gave ${comparison.code.result}`,
    );
  }
  return comparison;
}

async function doDirectly(task: ComparedTask, clients: ReadonlyMap<string, Client>): Promise<Effort> {
  const answers: TurnAnswers[] = [];
  let written = 0;
  const startedAt = performance.now();
  for (let calls = task.direct(answers); calls.length > 0; calls = task.direct(answers)) {
    written += calls.reduce(
      (total, { tool, arguments: given }) => total + tokensOf({ name: tool, arguments: given }),
      0,
    );
    answers.push(await Promise.all(calls.map((call) => callDirectly(call, clients))));
  }
  const ms = performance.now() - startedAt;
  const read = answers.flat().reduce((total, text) => total + countTokens(text), 0);
  return { turns: answers.length, written, read, ms, result: task.conclude(answers) };
}

async function callDirectly(call: DirectCall, clients: ReadonlyMap<string, Client>): Promise<string> {
  const { content } =
    (await clients.get(call.server)?.callTool({ name: call.tool, arguments: { ...call.arguments } })) ?? {};
  return textOf(content);
}

async function doInCode({ cells, servers }: ComparedTask, bridge: Client): Promise<Effort> {
  let written = 0;
  let read = 0;
  let result = '';
  const startedAt = performance.now();
  for (const code of cells) {
    const given = { code, servers };
    const answer = await bridge.callTool({ name: 'run_python', arguments: given });
    result = textOf(answer.content);
    if (answer.isError === true) {
      throw new Error(result);
    }
    written += tokensOf({ name: 'run_python', arguments: given });
    read += countTokens(result);
  }
  return { turns: cells.length, written, read, ms: performance.now() - startedAt, result };
}

/** The parts of an audit record that are read here. */
type AuditRecord =
  | { readonly type: 'cell_started'; readonly id: string; readonly code: string }
  | { readonly type: 'call'; readonly cell: string; readonly server: string; readonly tool: string }
  | { readonly type: 'cell_ended' };

/** The calls of each cell from the audit log (docs/audit.md), as `server.tool` in the order in which they ended, by the cell's code. */
function readCalls(stateDir: string): ReadonlyMap<string, readonly string[]> {
  const folder = join(stateDir, 'audit');
  const records = readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as AuditRecord);
  const cells = records.filter((record) => record.type === 'cell_started');
  const calls = records.filter((record) => record.type === 'call');
  return new Map(
    cells.map(({ id, code }) => [
      code,
      calls.filter(({ cell }) => cell === id).map(({ server, tool }) => `${server}.${tool}`),
    ]),
  );
}
