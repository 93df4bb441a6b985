/** Starts a command-line agent for each task, with the servers in its MCP configuration, and counts what they recorded. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { execa } from 'execa';
import { splitWords } from '../../src/core/base/shell-words.ts';
import { type ServerEntry, textOf } from '../comparison/connect.ts';
import type { Agent, GivenTask } from './run.ts';
import { definitionTokens, modelView, type ToolDefinition } from './toolset.ts';
import type { EndCall, Transcript } from './transcript.ts';

interface ConfiguredServer {
  readonly command: string;
  readonly args: readonly string[];
  /** Gemini CLI asks before each call without it; the others ignore it. */
  readonly trust: true;
}

type Configured = Readonly<Record<string, ConfiguredServer>>;

interface AgentWay {
  /** Added to the command. */
  args(configured: Configured, file: string): string[];
  /** Where the program looks for its configuration, in the folder in which it runs. */
  readonly file?: string;
  /** Whether the task is the last argument instead of the input. */
  readonly takesArgument?: true;
}

/** How known programs get the servers, and call them without asking a person. */
const WAYS: Readonly<Record<string, AgentWay>> = {
  claude: {
    args: (configured, file) => [
      `--mcp-config=${file}`,
      '--strict-mcp-config',
      '--tools=',
      `--allowedTools=${Object.keys(configured)
        .map((name) => `mcp__${name}`)
        .join(',')}`,
    ],
  },
  codex: {
    args: (configured) => [
      '--skip-git-repo-check',
      ...settings({ 'features.shell_tool': false }),
      ...Object.entries(configured).flatMap(([name, { args, command }]) =>
        settings({
          [`mcp_servers.${name}.command`]: command,
          [`mcp_servers.${name}.args`]: args,
          [`mcp_servers.${name}.default_tools_approval_mode`]: 'approve',
        }),
      ),
    ],
  },
  gemini: { args: () => [], file: '.gemini/settings.json', takesArgument: true },
};

/** Settings on the command line of Codex. JSON of these values is TOML, too. */
function settings(values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${JSON.stringify(value)}`]);
}

const RECORDER = join(import.meta.dirname, 'recorder.mjs');
const MAX_STDERR_CHARS = 500;

export interface CommandAgentOptions {
  /** Words separated by blanks. `{config}` becomes the file with the MCP configuration, `{prompt}` the task. */
  readonly command: string;
  /** An existing folder. */
  readonly root: string;
  readonly timeoutMs: number;
}

/** Throws if the command has no words or an open quote. */
export function createCommandAgent({ command, root, timeoutMs }: CommandAgentOptions): Agent {
  const words = splitWords(command);
  if (words === undefined) {
    throw new Error(`The command of the agent is empty or has an open quote: ${command}`);
  }
  return async (task) => {
    const { config, configured, folder, logs } = configure(task, root);
    const way = WAYS[basename(words[0] ?? '').replace(/\.(?:cmd|exe)$/, '')];
    if (way?.file !== undefined) {
      mkdirSync(dirname(join(folder, way.file)), { recursive: true });
      writeFileSync(join(folder, way.file), JSON.stringify({ mcpServers: configured }));
    }
    const hasPlace = words.includes('{prompt}');
    const [program = '', ...args] = [
      ...words.map((word) => word.replace('{config}', config).replace('{prompt}', () => task.prompt)),
      ...(way?.args(configured, config) ?? []),
      ...(way?.takesArgument === true && !hasPlace ? [task.prompt] : []),
    ];
    task.transcript.start(Date.now());
    const result = await execa(program, args, {
      cwd: folder,
      input: hasPlace || way?.takesArgument === true ? '' : task.prompt,
      timeout: timeoutMs,
      reject: false,
    });
    replay(logs, task.transcript);
    if (result.failed) {
      throw new Error(`The agent failed: ${result.shortMessage} ${result.stderr.slice(-MAX_STDERR_CHARS)}`);
    }
    return result.stdout;
  };
}

/** Writes the configuration into a new folder, in which the agent runs. */
function configure({ id, servers }: GivenTask, root: string) {
  const folder = join(root, `agent-${id}`);
  const records = join(root, `records-${id}`);
  mkdirSync(folder);
  mkdirSync(records);
  const logs: Record<string, string> = {};
  const configured: Configured = Object.fromEntries(
    Object.entries(servers).map(([name, server]: [string, ServerEntry]) => {
      const [log, file] = [join(records, `${name}.jsonl`), join(records, `${name}.json`)];
      writeFileSync(file, JSON.stringify({ ...server, log }));
      logs[name] = log;
      return [name, { command: process.execPath, args: [RECORDER, file], trust: true }];
    }),
  );
  const config = join(folder, 'mcp.json');
  writeFileSync(config, JSON.stringify({ mcpServers: configured }, undefined, 2));
  return { config, configured, folder, logs };
}

/** A line of a recorder. */
interface RecordedMessage {
  readonly atMs: number;
  readonly kind: 'answer' | 'request';
  readonly method: string;
  readonly message: {
    readonly id?: number | string;
    readonly params?: { readonly name?: string; readonly arguments?: unknown };
    readonly result?: {
      readonly content?: readonly { readonly type: string }[];
      readonly instructions?: string;
      readonly isError?: boolean;
      readonly tools?: readonly ToolDefinition[];
    };
    readonly error?: { readonly message: string };
  };
}

/** Feeds the records of all servers into the transcript, in the order of their times. */
function replay(logs: Readonly<Record<string, string>>, transcript: Transcript): void {
  const isSingle = Object.keys(logs).length === 1;
  const records = Object.entries(logs).flatMap(([server, log]) =>
    recordsIn(log).map((record) => ({ ...record, prefix: isSingle ? '' : `${server}.` })),
  );
  const defined = new Set<string>();
  const open = new Map<string, EndCall>();
  for (const { atMs, kind, message, method, prefix } of records.toSorted((a, b) => a.atMs - b.atMs)) {
    const key = `${prefix}${message.id}`;
    if (method === 'tools/call') {
      if (kind === 'request') {
        open.set(key, transcript.begin(prefix + message.params?.name, message.params?.arguments ?? {}, atMs));
      } else {
        const isError = message.error !== undefined || message.result?.isError === true;
        open.get(key)?.({ text: message.error?.message ?? textOf(message.result?.content), isError }, atMs);
      }
    }
    const { instructions, tools = [] } = message.result ?? {};
    // A client may ask for the same list more than once.
    const fresh = tools.map((tool) => modelView(tool, prefix)).filter(({ name }) => !defined.has(name));
    const told = instructions === undefined || defined.has(instructions) ? [] : [instructions];
    for (const known of [...fresh.map(({ name }) => name), ...told]) {
      defined.add(known);
    }
    if (fresh.length + told.length > 0) {
      transcript.define(definitionTokens(fresh, told));
    }
  }
}

function recordsIn(log: string): RecordedMessage[] {
  return existsSync(log)
    ? readFileSync(log, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as RecordedMessage)
    : [];
}
