// Tags: anywhere, full
/** The evaluation: tasks, checkers, reference solutions in both modes, and the ways in which an agent can take part. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { DATA_TASKS, whyNoDataSuite } from '../../scripts/eval/data/suite.ts';
import { renderRuns } from '../../scripts/eval/report.ts';
import { type Agent, buildTasks, type EvalRun, type Mode, runTasks, type TaskResult } from '../../scripts/eval/run.ts';
import { findBrowser } from '../../scripts/eval/servers.ts';
import { createReferenceAgent } from '../../scripts/eval/solutions/agent.ts';
import { EVAL_TASKS } from '../../scripts/eval/tasks/index.ts';
import { openWorkspace, type Workspace } from '../../scripts/eval/workspace.ts';
import { ROOT } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { TEST_IMAGES } from '../support/engines.ts';
import { whyNoPythonPackages } from '../support/python-packages.ts';

const engines = await coverEngines();
const [engine] = engines;
const IDS = EVAL_TASKS.map(({ id }) => id);
const environmentOf = (chosen = engine): Record<string, string> =>
  Object.fromEntries(Object.entries(chosen?.env ?? {}).filter(([name]) => !name.startsWith('MCP_BRIDGE_TEST_')));
const env = environmentOf();
const container = engines.find(({ isContainer }) => isContainer);
const whyNoData = container === undefined ? 'needs an engine that runs containers' : await whyNoPythonPackages();

if (findBrowser() === undefined) {
  it.skip('not covered: tasks of the evaluation in a real browser: no Chromium or Chrome', () => undefined);
}

describe.runIf(engine !== undefined)('the tasks', () => {
  const untouched = new Map<string, readonly (readonly string[])[]>();
  const runs = new Map<Mode, EvalRun>();

  async function solve(mode: Mode, workspace: Workspace): Promise<void> {
    const context = { shop: workspace.shop.url, folder: workspace.absolute('.'), hasBrowser: workspace.hasBrowser };
    const agent = createReferenceAgent(mode, context);
    runs.set(
      mode,
      await runTasks(workspace, { mode, tasks: EVAL_TASKS, agent, agentName: '', env, keepsServers: true }),
    );
  }

  beforeAll(async () => {
    const [direct, code] = [await openWorkspace(), await openWorkspace()];
    buildTasks(direct, EVAL_TASKS);
    buildTasks(code, EVAL_TASKS);
    for (const { check, id } of EVAL_TASKS) {
      untouched.set(id, [check(direct, ''), check(direct, 'done')]);
    }
    await Promise.all([solve('direct', direct), solve('code', code)]);
    for (const workspace of [direct, code]) {
      await workspace.close();
      workspace.remove();
    }
  });

  const resultOf = (mode: Mode, id: string): TaskResult | undefined =>
    runs.get(mode)?.tasks.find((task) => task.id === id);

  it('are at least fifteen, each with its own id', () => {
    expect(new Set(IDS).size).toBeGreaterThanOrEqual(15);
    expect(new Set(IDS).size).toBe(IDS.length);
  });

  it.each(IDS)('%s is not done by doing nothing', (id) => {
    const [silent, done] = untouched.get(id) ?? [];
    expect(silent?.length).toBeGreaterThan(0);
    expect(done?.length).toBeGreaterThan(0);
  });

  it.each(IDS)('%s can be done with direct calls', (id) => {
    expect(resultOf('direct', id)).toMatchObject({ problems: [], isRight: true });
  });

  it.each(IDS)('%s can be done in code', (id) => {
    expect(resultOf('code', id)).toMatchObject({ problems: [], isRight: true, effort: { turns: 2 } });
  });
});

if (whyNoData !== undefined) {
  it.skip(`not covered: questions of the evaluation over real tables: ${whyNoData}`, () => undefined);
}

describe.runIf(whyNoData === undefined)('questions over real tables', () => {
  // A part of each kind: missing values, JSON, a workbook, tabs, runs, a time zone.
  const chosen = [
    'penguin-missing',
    'growth-top',
    'workbook-join',
    'voters-tabs',
    'co2-gap',
    'cars-mean',
    'hours-zone',
  ];
  const tasks = DATA_TASKS.filter(({ id }) => chosen.includes(id));
  const bridgeEnv = { ...environmentOf(container), MCP_BRIDGE_IMAGE: TEST_IMAGES.datascience };
  let workspace: Workspace;
  let reason: string | undefined;
  beforeAll(async () => {
    workspace = await openWorkspace('none');
    reason = await whyNoDataSuite(workspace, bridgeEnv);
    buildTasks(workspace, DATA_TASKS);
  });
  afterAll(async () => {
    await workspace.close();
    workspace.remove();
  });

  it('have one true value each, which no other answer has', () => {
    expect(reason).toBeUndefined();
    for (const { check, id } of DATA_TASKS) {
      expect([id, check(workspace, ''), check(workspace, 'done')]).toEqual([
        id,
        [expect.stringContaining('the answer is "", not "')],
        [expect.stringContaining('the answer is "done", not "')],
      ]);
    }
  });

  it('can be answered in code, each in a session of its own', async () => {
    const context = { shop: '', folder: workspace.absolute('.'), hasBrowser: false };
    const agent = createReferenceAgent('code', context);
    const run = await runTasks(workspace, { mode: 'code', tasks, agent, agentName: '', env: bridgeEnv });
    expect(run.tasks.filter(({ isRight }) => !isRight)).toEqual([]);
    expect(run.tasks).toHaveLength(chosen.length);
    expect(run.tasks.map(({ calls }) => calls)).toEqual(chosen.map(() => ({ count: 1, failed: [] })));
  });

  it('keep cells that failed on the way to the answer', async () => {
    const cell = { servers: ['filesystem'], code: 'pd.read_csv("penguins.csv")' };
    const agent: Agent = async ({ call }) => {
      await call({ name: 'run_python', arguments: cell });
      return (await call({ name: 'run_python', arguments: { code: '6 * 7' } })).text;
    };
    const run = await runTasks(workspace, {
      mode: 'code',
      tasks: tasks.slice(0, 1),
      agent,
      agentName: '',
      env: bridgeEnv,
    });
    expect(run.tasks[0]).toMatchObject({
      isRight: false,
      answer: '42',
      calls: {
        count: 2,
        failed: [
          { number: 1, name: 'run_python', arguments: cell, error: expect.stringContaining("NameError: name 'pd'") },
        ],
      },
    });
    expect(renderRuns([run])).toContain('Failed calls, code (): 1 of 2 (50.0 %), in 1 of 1 tasks.');
  });
});

describe.runIf(engine !== undefined)('the command', () => {
  let folder: string;
  let started: ChildProcess | undefined;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'bridge-e2e-'));
  });
  // A failed test would leave it waiting.
  afterEach(() => started?.kill());
  afterAll(() => rmSync(folder, { recursive: true }));

  function evaluate(...args: string[]): ChildProcess {
    started = spawn(process.execPath, ['--import', './scripts/typescript-loader.mjs', 'scripts/eval.ts', ...args], {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return started;
  }

  const exitOf = async (child: ChildProcess): Promise<number | null> =>
    new Promise((resolve) => {
      child.once('close', resolve);
    });

  /** The path of the command that is printed for work by hand, once the tasks are ready. */
  async function commandOf(child: ChildProcess): Promise<string> {
    let command = '';
    for await (const line of createInterface({ input: child.stdout ?? process.stdin })) {
      command ||= /^ {2}\S+ (\S+tools\.mjs)$/.exec(line)?.[1] ?? '';
      if (line.startsWith('Mode ')) {
        break;
      }
    }
    child.stdout?.resume();
    return command;
  }

  const resultsIn = (file: string): EvalRun[] => JSON.parse(readFileSync(join(folder, file), 'utf8')) as EvalRun[];

  it('runs an agent that is a command, with the servers or the bridge, and counts its calls', async () => {
    const agent = `"${process.execPath}" "${join(ROOT, 'test/fixtures/eval/agent.mjs')}" {config}`;
    const child = evaluate('--agent', agent, '--task', 'contact', '--json', join(folder, 'command.json'));
    child.stdout?.resume();
    expect(await exitOf(child)).toBe(0);
    const [direct, code] = resultsIn('command.json').map(({ tasks }) => tasks[0]);
    for (const result of [direct, code]) {
      expect(result).toMatchObject({ isRight: true, effort: { turns: 2 } });
      // The file with the contacts was read, and sent again in the second turn.
      expect(result?.effort.read).toBeGreaterThan(400);
      expect(result?.effort.context).toBeGreaterThan(result?.effort.read ?? 0);
    }
    // The definitions of all tools against that of one.
    expect(direct?.effort.context).toBeGreaterThan(code?.effort.context ?? 0);
  });

  it('reports a task as wrong if the agent fails', async () => {
    const agent = `"${process.execPath}" -e "process.exit(3)"`;
    const child = evaluate('--agent', agent, '--mode=code', '--task=journal', '--json', join(folder, 'failed.json'));
    child.stdout?.resume();
    expect(await exitOf(child)).toBe(0);
    const [task] = resultsIn('failed.json')[0]?.tasks ?? [];
    expect(task).toMatchObject({ isRight: false, answer: '', effort: { turns: 1, written: 0 } });
    expect(task?.problems[0]).toMatch(/^The agent failed: Command failed with exit code 3/);
  });

  it('removes the workspace when it is interrupted', async () => {
    const child = evaluate('--agent=manual', '--mode=direct', '--task=journal');
    const exit = exitOf(child);
    const command = await commandOf(child);
    expect(existsSync(command)).toBe(true);
    child.kill('SIGTERM');
    expect(await exit).toBe(null);
    expect(existsSync(dirname(dirname(command)))).toBe(false);
  });

  it('lets somebody do tasks by hand, and reports a wrong answer as wrong', async () => {
    const child = evaluate(
      '--agent=manual',
      '--mode=direct',
      '--task=contact',
      '--task=journal',
      '--json',
      join(folder, 'manual.json'),
    );
    const exit = exitOf(child);
    const command = await commandOf(child);
    const type = (args: readonly string[], input = ''): string =>
      execFileSync(process.execPath, [command, ...args], { input, encoding: 'utf8' });
    expect(type([])).toContain('node tools.mjs task');
    expect(type(['task'])).toContain('Ines Okafor');
    expect(type(['list'])).toContain('filesystem.read_text_file(path');
    expect(type(['call', 'filesystem.read_text_file', '{"path":"contacts.md"}'])).toContain('Ines Okafor: +49');
    // An agent that looks for its usage must not end the task.
    expect(type(['finish'])).toContain('The task goes on, because the answer is empty.');
    type(['finish', 'ANSWER:', '+49 000']);
    expect(type(['task'])).toContain('house/journal.md');
    const read = { name: 'filesystem.read_text_file', arguments: { path: 'house/journal.md' } };
    const missing = { name: 'filesystem.read_text_file', arguments: { path: 'missing.md' } };
    const [, journal = '', failed] = type(['turn'], JSON.stringify([read, missing])).split(/^--- answer.*\n/m);
    expect(failed).toMatch(/^error: /);
    type(
      ['call', 'filesystem.write_file', '{"path":"house/journal.md"}', '--stdin', 'content'],
      `${journal.trimEnd()}\n- 2026-11-23: boiler serviced\n`,
    );
    type(['finish', 'done']);
    expect(await exit).toBe(0);
    const [run] = resultsIn('manual.json');
    expect(run?.tasks).toMatchObject([
      { id: 'contact', isRight: false, effort: { turns: 2 } },
      { id: 'journal', isRight: true, effort: { turns: 3 } },
    ]);
    // The workspace is gone.
    expect(existsSync(dirname(dirname(command)))).toBe(false);
  });
});
