/** Lets an agent do tasks in one mode, checks the results, and counts the effort. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../src/core/base/errors.ts';
import type { ServerEntry } from '../comparison/connect.ts';
import { answerOf, type EvalTask, RULES } from './tasks/task.ts';
import { createToolset, type Definitions, type ToolAnswer, type ToolCall } from './toolset.ts';
import { createTranscript, type FailedCall, type TaskEffort, type Transcript } from './transcript.ts';
import type { Workspace } from './workspace.ts';

const PROBE_TIMEOUT_S = 120;
const BRIDGE = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

/** `direct`: the agent has all tools of all servers. `code`: it has `run_python` alone. */
export type Mode = 'code' | 'direct';

/** One task as an agent gets it. */
export interface GivenTask {
  readonly id: string;
  readonly prompt: string;
  /** How many tasks come after this one. */
  readonly left: number;
  /** For agents with an MCP client of their own: what to configure. */
  readonly servers: Readonly<Record<string, ServerEntry>>;
  /** Counts calls that the agent makes with such a client. */
  readonly transcript: Transcript;
  /** For other agents. Both are counted. */
  definitions(): Promise<Definitions>;
  call(call: ToolCall): Promise<ToolAnswer>;
}

/** Does a task and returns its final answer. If it rejects, the task is not done. */
export type Agent = (task: GivenTask) => Promise<string>;

export interface TaskResult {
  readonly id: string;
  readonly title: string;
  readonly isRight: boolean;
  /** What is wrong. */
  readonly problems: readonly string[];
  readonly answer: string;
  readonly effort: TaskEffort;
  /** Calls or cells, and those that failed. Results of older versions do not have them. */
  readonly calls?: { readonly count: number; readonly failed: readonly FailedCall[] };
}

export interface EvalRun {
  readonly mode: Mode;
  /** What the agent is, for the reader of the results. */
  readonly agent: string;
  /** What this machine could not test as intended. */
  readonly notCovered: readonly string[];
  readonly tasks: readonly TaskResult[];
}

export interface RunOptions {
  readonly mode: Mode;
  readonly tasks: readonly EvalTask[];
  readonly agent: Agent;
  readonly agentName: string;
  /** Environment of the bridge. */
  readonly env?: Readonly<Record<string, string>>;
  /** Servers keep running from task to task: quicker, but no longer like a new conversation for each. */
  readonly keepsServers?: boolean;
  /** Gets each result, and the run so far. */
  readonly onResult?: (result: TaskResult, run: EvalRun) => void;
}

/** Does the tasks one after the other in a workspace that `buildTasks` has filled. */
export async function runTasks(workspace: Workspace, options: RunOptions): Promise<EvalRun> {
  const { agent, agentName, mode, onResult, tasks } = options;
  const servers = mode === 'direct' ? workspace.servers : { bridge: bridgeFor(workspace, options.env ?? {}) };
  const toolset = createToolset(servers);
  const results: TaskResult[] = [];
  const run = { mode, agent: agentName, notCovered: notCovered(workspace, tasks), tasks: results };
  try {
    for (const [index, task] of tasks.entries()) {
      const prompt = `${task.prompt(workspace)}\n\n${RULES}`;
      const transcript = createTranscript(prompt);
      const left = tasks.length - 1 - index;
      const given = { id: task.id, prompt, left, servers, transcript, ...counted(toolset, transcript) };
      let text = '';
      let failure: string | undefined;
      try {
        text = await agent(given);
      } catch (error) {
        failure = messageOf(error);
      }
      const effort = transcript.finish(text, Date.now());
      if (options.keepsServers !== true) {
        await toolset.renew();
      }
      const answer = answerOf(text);
      const problems = failure === undefined ? task.check(workspace, answer) : [failure];
      const { id, title } = task;
      const result = { id, title, isRight: problems.length === 0, problems, answer, effort, calls: transcript.calls() };
      results.push(result);
      onResult?.(result, run);
    }
  } finally {
    await toolset.close();
  }
  return run;
}

/** Why cells cannot import these modules; undefined if they can. */
export async function whyNoModules(
  workspace: Workspace,
  modules: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string | undefined> {
  const toolset = createToolset({ bridge: bridgeFor(workspace, env) });
  try {
    const code = `import ${modules.join(', ')}`;
    // The first import may have to install the packages.
    const { isError, text } = await toolset.call({ name: 'run_python', arguments: { code, timeout: PROBE_TIMEOUT_S } });
    return isError ? `"${code}" fails in the sandbox: ${/^\w*Error: .*/m.exec(text)?.[0] ?? text}` : undefined;
  } finally {
    await toolset.close();
  }
}

/** Adds the data of the tasks to the workspace. */
export function buildTasks(workspace: Workspace, tasks: readonly EvalTask[]): void {
  for (const task of tasks) {
    task.build(workspace);
  }
}

function counted(toolset: ReturnType<typeof createToolset>, transcript: Transcript) {
  let known: Promise<Definitions> | undefined;
  const definitions = async (): Promise<Definitions> => {
    known ??= toolset.definitions().then((all) => {
      transcript.define(all.tokens);
      return all;
    });
    return known;
  };
  return {
    definitions,
    async call(call: ToolCall): Promise<ToolAnswer> {
      // A model cannot call what is not in its context.
      await definitions();
      const end = transcript.begin(call.name, call.arguments, Date.now());
      const answer = await toolset.call(call);
      end(answer, Date.now());
      return answer;
    },
  };
}

/** The bridge with the same servers, and nothing of this user or of earlier tasks. */
function bridgeFor({ root, servers }: Workspace, env: Readonly<Record<string, string>>): ServerEntry {
  const stateDir = join(root, 'MCPs');
  mkdirSync(stateDir, { recursive: true });
  writeFileSync(join(stateDir, 'servers.json'), JSON.stringify({ mcpServers: servers }));
  return {
    command: process.execPath,
    args: [BRIDGE],
    env: {
      ...env,
      MCP_BRIDGE_STATE_DIR: stateDir,
      MCP_BRIDGE_LOG_LEVEL: 'WARNING',
      // Otherwise the first answer of each task offers the variables of the task before.
      MCP_BRIDGE_CHECKPOINT: 'off',
    },
  };
}

function notCovered({ hasBrowser }: Workspace, tasks: readonly EvalTask[]): string[] {
  return tasks
    .filter(({ usesShop }) => usesShop === true && !hasBrowser)
    .map(({ id }) => `${id} in a real browser: this machine has no Chromium or Chrome, so it was done over HTTP`);
}
