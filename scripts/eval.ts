/** `npm run eval`: lets an agent do tasks with the tools of servers, or with `run_python` alone, and counts what it takes. */
import { readFileSync, writeFileSync } from 'node:fs';
import { quoteShellWord } from '../src/core/base/shell-words.ts';
import { createCommandAgent } from './eval/command-agent.ts';
import { DATA_TASKS, whyNoDataSuite } from './eval/data/suite.ts';
import { openDesk } from './eval/manual.ts';
import { type EvalOptions, parseOptions, USAGE } from './eval/options.ts';
import { renderRuns } from './eval/report.ts';
import { type Agent, buildTasks, type EvalRun, type Mode, runTasks, type TaskResult } from './eval/run.ts';
import { createReferenceAgent } from './eval/solutions/agent.ts';
import { EVAL_TASKS } from './eval/tasks/index.ts';
import type { EvalTask } from './eval/tasks/task.ts';
import { openWorkspace, type Workspace } from './eval/workspace.ts';

const asked = parseOptions(process.argv.slice(2));
const suiteTasks = asked.suite === 'data' ? DATA_TASKS : EVAL_TASKS;
if (asked.isList) {
  console.log(suiteTasks.map(({ id, title }) => `${id.padEnd(18)} ${title}`).join('\n'));
} else if (asked.tables.length > 0) {
  console.log(renderRuns(asked.tables.flatMap((file) => JSON.parse(readFileSync(file, 'utf8')) as EvalRun[])));
} else if (asked.agent === undefined) {
  console.log(USAGE);
} else {
  await evaluate(asked.agent, asked);
}

async function evaluate(agent: string, options: EvalOptions): Promise<void> {
  const tasks = chooseTasks(options.tasks);
  const runs: EvalRun[] = [];
  for (const mode of options.modes) {
    // Each mode has a workspace of its own, because tasks change theirs.
    const run = await evaluateMode(agent, mode, tasks, { ...options, before: [...runs] });
    if (run === undefined) {
      return;
    }
    runs.push(run);
  }
  console.log(`\n${renderRuns(runs)}`);
}

/** Undefined, with the reason as output, if this machine cannot do the suite. */
async function evaluateMode(
  agent: string,
  mode: Mode,
  tasks: readonly EvalTask[],
  options: EvalOptions & { readonly before: readonly EvalRun[] },
): Promise<EvalRun | undefined> {
  const workspace = await openWorkspace(options.browser);
  if (!options.isKept) {
    removeOnSignal(workspace);
  }
  try {
    const reason = options.suite === 'data' ? await whyNoDataSuite(workspace) : undefined;
    if (reason === undefined) {
      return await evaluateIn(workspace, agent, { ...options, mode, tasks });
    }
    console.error(`Not covered: the suite data: ${reason}`);
    process.exitCode = 1;
    return undefined;
  } finally {
    await workspace.close();
    if (options.isKept) {
      console.log(`The workspace is ${workspace.root}`);
    } else {
      workspace.remove();
    }
  }
}

async function evaluateIn(
  workspace: Workspace,
  agent: string,
  {
    agentName,
    before,
    jsonFile,
    mode,
    tasks,
    timeoutMs,
  }: Omit<EvalOptions, 'tasks'> & {
    readonly before: readonly EvalRun[];
    readonly mode: Mode;
    readonly tasks: readonly EvalTask[];
  },
): Promise<EvalRun> {
  const chosen = await chooseAgent(agent, mode, workspace, timeoutMs);
  const onResult = (result: TaskResult, run: EvalRun): void => {
    report(result);
    if (jsonFile !== undefined) {
      // After each task, so that nothing is lost if a later one is interrupted.
      writeFileSync(jsonFile, JSON.stringify([...before, run], undefined, 2));
    }
  };
  try {
    buildTasks(workspace, tasks);
    console.log(`Mode ${mode}, ${tasks.length} tasks.`);
    return await runTasks(workspace, { mode, tasks, agentName, agent: chosen.agent, onResult });
  } finally {
    await chosen.close();
  }
}

/** Ctrl-C, for example while somebody works by hand, leaves nothing behind. */
function removeOnSignal(workspace: Workspace): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      workspace.remove();
      // This listener is gone, so the signal now ends the process.
      process.kill(process.pid, signal);
    });
  }
}

async function chooseAgent(
  agent: string,
  mode: Mode,
  { absolute, hasBrowser, root, shop }: Workspace,
  timeoutMs: number,
): Promise<{ readonly agent: Agent; close(): Promise<void> }> {
  const nothing = async (): Promise<void> => undefined;
  if (agent === 'reference') {
    const context = { shop: shop.url, folder: absolute('.'), hasBrowser };
    return { agent: createReferenceAgent(mode, context), close: nothing };
  }
  if (agent !== 'manual') {
    return { agent: createCommandAgent({ command: agent, root, timeoutMs }), close: nothing };
  }
  const desk = await openDesk(root);
  const command = desk.command.map((word) => quoteShellWord(word)).join(' ');
  console.log(
    `Work on the tasks of mode ${mode} with this command; without arguments, it explains itself:\n\n  ${command}\n`,
  );
  return desk;
}

function chooseTasks(ids: readonly string[]): readonly EvalTask[] {
  const unknown = ids.filter((id) => !suiteTasks.some((task) => task.id === id));
  if (unknown.length > 0) {
    throw new TypeError(`Unknown task ${unknown.join(', ')}; --list shows all.`);
  }
  return suiteTasks.filter(({ id }) => ids.length === 0 || ids.includes(id));
}

function report({ effort, id, isRight, problems }: TaskResult): void {
  const reasons = isRight ? '' : `: ${problems.slice(0, 3).join('; ')}`;
  console.log(`${id.padEnd(18)} ${isRight ? 'right' : 'WRONG'} after ${effort.turns} turns${reasons}`);
}
