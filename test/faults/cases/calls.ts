/** Concurrent calls, cancelled calls, and sandboxes that end during a call. */

import { expect } from 'vitest';
import { awaitStart, type BeginningCell, reportingStart } from '../../support/begun.ts';
import { fixtureServer, type ServerEntry } from '../../support/bridge-client.ts';
import { startArena } from '../../support/faults/arena.ts';
import { clientsOfContainer, containersOfSession } from '../../support/faults/containers.ts';
import type { Attack, FaultCase, RunOptions, SeenAnswer } from '../../support/faults/fault-case.ts';
import { poll } from '../../support/faults/wait.ts';
import { pause } from '../../support/pause.ts';

/** For cells that are ended from outside; noticing the end only at this deadline fails G1. */
const LONG_SECONDS = 30;
const NOTICED_MS = 5_000;
/** Time for a cell to get into the queue, which is not visible from outside. */
const QUEUED_MS = 300;

export function slowServers(): Record<string, ServerEntry> {
  return { slow: fixtureServer('slow.mjs') };
}

type Moment = (start: BeginningCell) => Promise<unknown>;
const whenItRuns: Moment = ({ begun }) => begun;
const whileItWaits: Moment = () => pause(QUEUED_MS, 'a cell in the queue shows nothing');
const whileItsSandboxStarts: Moment = () => pause(20, 'a moment of the start');

/** Starts a cell and waits until its code runs. */
async function begin(run: Attack['run'], code: string, options: RunOptions): Promise<{ answer: Promise<SeenAnswer> }> {
  const start = awaitStart();
  const answer = run(reportingStart(code), { ...options, onProgress: start.onProgress });
  await Promise.race([start.begun, answer]);
  return { answer };
}

/** Starts a cell that sleeps, does something to its sandbox, and returns the answer and the time it took from then on. */
async function whileRunning(
  { run, arena }: Attack,
  code: string,
  act: (container: string) => Promise<unknown>,
): Promise<{ answer: SeenAnswer; tookMs: number }> {
  const { answer } = await begin(run, code, { timeout: LONG_SECONDS });
  const [container = ''] = await containersOfSession(arena.engine, arena.bridge.pid);
  const startedAt = performance.now();
  await act(container);
  return { answer: await answer, tookMs: performance.now() - startedAt };
}

/** Runs a cell and cancels it at `moment`; fails if it is answered anyway. */
async function giveUp({ run }: Attack, code: string, moment: Moment, options: object = {}): Promise<void> {
  const controller = new AbortController();
  const start = awaitStart();
  const onProgress = start.onProgress;
  const answer = run(code, { timeout: LONG_SECONDS, ...options, onProgress, signal: controller.signal });
  const ended = answer.then(
    () => 'answered',
    () => 'given up',
  );
  await Promise.race([moment(start), ended]);
  controller.abort();
  expect(await ended).toBe('given up');
}

const SLEEPING = 'import time\ntime.sleep(60)';

export const CALL_CASES: readonly FaultCase[] = [
  {
    id: 'C01',
    title: 'two calls at once in one session',
    expected: 'run one after the other; each output is its own',
    quick: true,
    async run({ run }) {
      const lines = (name: string) =>
        `import time\nfor n in range(5):\n    print("${name}", flush=True)\n    time.sleep(0.02)`;
      const answers = await Promise.all(['a', 'b'].map((name) => run(lines(name))));
      expect(answers.map(({ stdout }) => stdout)).toEqual(['a\na\na\na\na', 'b\nb\nb\nb\nb']);
    },
  },
  {
    id: 'C02',
    title: '8 sessions at once, each with its own secret in its output and calls',
    expected: 'each has its own sandbox and sees nothing of the others',
    growth: { mib: 96, keptMib: 48, why: 'eight sandboxes are started at once' },
    async run({ run, allow }) {
      const names = Array.from({ length: 8 }, (_, index) => `s${index}`);
      allow(...Array.from({ length: names.length * 5 }, () => 'echo.echo'));
      const code = (name: string) =>
        [
          `mine = "only-of-${name}"`,
          'import asyncio',
          'answers = await asyncio.gather(*[mcp_echo.echo(text=mine) for _ in range(5)])',
          'print(*answers, sep="\\n")',
          'import os; open("/tmp/mine", "a").write(mine); print(open("/tmp/mine").read())',
        ].join('\n');
      const answers = await Promise.all(
        names.map((session) => run(code(session), { session, servers: ['echo'], timeout: LONG_SECONDS })),
      );
      const expected = names.map((name) => Array.from({ length: 6 }, () => `only-of-${name}`).join('\n'));
      expect(answers.map(({ stdout }) => stdout)).toEqual(expected);
    },
  },
  {
    id: 'C03',
    title: 'the client cancels while code runs, during a tool call, in the queue, while the sandbox starts',
    expected:
      'code is interrupted, the server is notified, queued cells never run; only the next answer says so; variables survive',
    quick: true,
    async run(attack) {
      const { run, allow, arena } = attack;
      allow('slow.sleep', 'slow.cancelled');
      await giveUp(attack, reportingStart('kept = 1\nimport time\ntime.sleep(60)'), whenItRuns);
      expect((await run('print(kept)')).stdout).toBe('1');
      const called = () =>
        poll(
          async () => attack.calls(),
          (calls) => calls.includes('slow.sleep'),
          NOTICED_MS,
        );
      await giveUp(attack, 'await mcp_slow.sleep(seconds=60)', called, { servers: ['slow'] });
      expect((await run('print(await mcp_slow.cancelled())', { servers: ['slow'] })).stdout).toBe('1');
      const long = await begin(run, `import time\ntime.sleep(${(4 * QUEUED_MS) / 1000})`, {});
      await giveUp(attack, 'kept = "changed in the queue"', whileItWaits);
      await long.answer;
      expect((await run('print(kept)')).stdout).toBe('1');
      await giveUp(attack, 'kept = "changed at the start"', whileItsSandboxStarts, { session: 'starting' });
      const started = await run('print("kept" in globals())', { session: 'starting', timeout: LONG_SECONDS });
      expect(started.stdout).toBe('False');
      // Answers to other calls say so, of code that had begun.
      const said = arena.answers.filter(({ text }) => text.includes('CELL_CANCELLED'));
      expect(
        said.map(({ text }) => /"Cell \d+ ended with status cancelled; its call was cancelled:/.test(text)),
      ).toEqual([true, true]);
    },
  },
  {
    id: 'C04',
    title: 'code that ignores interrupts ends just before, at and just after the kill of its session',
    expected: 'exactly one answer, right or `timeout`; the next call gets its own',
    async run({ run }) {
      for (const seconds of [2.9, 3, 3.05]) {
        const code = [
          'import time',
          `end = time.monotonic() + ${seconds}`,
          'while time.monotonic() < end:',
          '    try:',
          '        while time.monotonic() < end: pass',
          '    except KeyboardInterrupt: pass',
          'print("late")',
        ];
        const { status, stdout } = await run(code.join('\n'), { timeout: 1 });
        expect([status, stdout]).toEqual(status === 'success' ? ['success', 'late'] : ['timeout', expect.anything()]);
        expect((await run('print("next")', { timeout: LONG_SECONDS })).stdout).toBe('next');
      }
    },
  },
  {
    id: 'C06',
    title: 'kill the engine’s command, which is the pipe to the sandbox',
    expected: 'the call gets `SESSION_LOST` at once; the container is gone; the next call gets a new one',
    containers: true,
    async run(attack) {
      let clients: number[] = [];
      const { answer, tookMs } = await whileRunning(attack, SLEEPING, async (container) => {
        clients = clientsOfContainer(container);
        clients.forEach((pid) => process.kill(pid, 'SIGKILL'));
      });
      expect(clients.length).toBeGreaterThan(0);
      expect(answer.error).toContain('SESSION_LOST: the session ended while the cell ran');
      expect(tookMs).toBeLessThan(NOTICED_MS);
    },
  },
  {
    id: 'C08',
    title: 'the bridge is suspended for 4 s while two cells run, as when a laptop sleeps',
    expected: 'a cell past its deadline ends, the other is right; sessions survive',
    without: { G3: 'the process was stopped on purpose' },
    async run({ run, arena }) {
      const [short, long] = await Promise.all([
        begin(run, 'kept = 1\nimport time\ntime.sleep(60)', { timeout: 4 }),
        begin(run, 'import time\ntime.sleep(2)\nprint("slept")', { timeout: LONG_SECONDS, session: 'sleeping' }),
      ]);
      process.kill(arena.bridge.pid, 'SIGSTOP');
      await pause(4_000, 'the bridge is stopped for so long');
      process.kill(arena.bridge.pid, 'SIGCONT');
      expect((await short.answer).status).toBe('timeout');
      expect((await long.answer).stdout).toBe('slept');
      expect((await run('print(kept)')).stdout).toBe('1');
    },
  },
  {
    id: 'C10',
    title: 'the container is killed or removed during a call',
    expected: 'the call gets `SESSION_LOST` at once, not at its deadline',
    containers: true,
    async run(attack) {
      for (const command of [['kill'], ['rm', '--force']]) {
        const { answer, tookMs } = await whileRunning(attack, SLEEPING, (container) =>
          attack.arena.engine.run(...command, container),
        );
        expect(answer.error).toContain('SESSION_LOST: the session ended while the cell ran: the sandbox was ended');
        expect(tookMs).toBeLessThan(NOTICED_MS);
        expect((await attack.run('print(1)', { timeout: LONG_SECONDS })).notices).toMatch(
          /State was lost|The earlier sandbox of this session ended/,
        );
      }
    },
  },
  {
    id: 'C11',
    title: 'the bridge is suspended while code that ignores interrupts fills the pipes, and then must end it',
    expected: 'the sandbox is ended; no container remains',
    without: { G3: 'the process was stopped on purpose' },
    async run({ run, arena }) {
      const code = [
        'import signal',
        'signal.signal(signal.SIGINT, signal.SIG_IGN)',
        'while True: print("x" * 100_000)',
      ];
      const { answer } = await begin(run, code.join('\n'), { timeout: 4 });
      process.kill(arena.bridge.pid, 'SIGSTOP');
      await pause(2_000, 'the bridge is stopped for so long');
      process.kill(arena.bridge.pid, 'SIGCONT');
      expect((await answer).error).toContain('its session was ended, because the code did not react');
    },
  },
  {
    id: 'C12',
    title: 'the bridge removes a container that someone is stopping by hand, with 10 s of grace',
    expected: 'the record and the process are gone; the call is answered at once',
    containers: true,
    async run(attack) {
      const { engine } = attack.arena;
      const { answer, tookMs } = await whileRunning(attack, SLEEPING, async (container) => {
        const stopping = engine.run('stop', '--time=10', container);
        await Promise.all([stopping, engine.run('rm', '--force', container)]);
      });
      expect(answer.error).toContain('SESSION_LOST');
      expect(tookMs).toBeLessThan(NOTICED_MS);
    },
  },
  {
    id: 'C13',
    title: 'calls arrive just as their idle session expires',
    expected: 'each is answered right, in the old session or in a new one that says what was lost',
    async run({ arena }) {
      const own = await startArena({ engine: arena.engine, env: { MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: '1' } });
      await own.bridge.runPython('kept = 1', { timeout: 60 });
      for (const pauseMs of [985, 995, 1_000, 1_005]) {
        await pause(pauseMs, 'how long the session is idle');
        const { text } = await own.bridge.runPython('print(globals().get("kept")); kept = 1', { timeout: 60 });
        expect(text).toMatch(/^1$|^1\nnotices:\nRestored 1 variable \(kept\) and 0 files after a pause\.$/);
      }
      await poll(
        async () => containersOfSession(arena.engine, own.bridge.pid, 'default'),
        (found) => found.length === 0,
        NOTICED_MS,
      );
      expect(await own.close()).toEqual([]);
    },
  },
];
