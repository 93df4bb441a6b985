/** How bridges end, and how one bridge treats the sandboxes of another. The victim is a second bridge. */

import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { currentOwner, type Owner } from '../../../src/core/base/owner.ts';
import { writeLabels } from '../../../src/edges/engines/container/labels.ts';
import { TEST_IMAGES, type TestEngine } from '../../support/engines.ts';
import type { FaultCase } from '../../support/faults/fault-case.ts';
import { startVictim, type Victim } from '../../support/faults/victim.ts';
import { poll } from '../../support/faults/wait.ts';
import { pause } from '../../support/pause.ts';

/** Time until a killed bridge has left nothing; 0.4 s on an idle machine. */
const KILLED_MS = 5_000;
/** The longest time for a clean end, plus time for a busy machine. */
const ENDED_MS = 5_000;
const UNDER_WAY_MS = 300;
const SWEPT_MS = 10_000;

/** A victim with a sandbox and a server, and a running cell if one is given. */
async function startBusy(engine: TestEngine, code: string | undefined, env: Record<string, string> = {}) {
  const victim = await startVictim(engine, { env });
  await victim.run('await mcp_stubborn.pid()', { servers: ['stubborn'] });
  const answer = code === undefined ? undefined : (await victim.begin(code)).answer;
  // The bridge may end before it answers.
  const answered = answer?.catch(() => 'no answer');
  await pause(UNDER_WAY_MS, 'a flood or a fork bomb needs a moment to have its effect');
  victim.look();
  return { victim, answered };
}

const FORK_BOMB =
  'import os, signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n    try: os.fork()\n    except OSError: pass';
/** Makes a dependency of the bridge fail on SIGUSR2: `data:` modules need no file. */
const failing = (what: string) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2',()=>{${what}})`)}`,
});

/** Ends a victim during a cell; returns its exit code and signal, and the cell's answer. */
async function endBusy(engine: TestEngine, end: (victim: Victim) => void, env: Record<string, string> = {}) {
  const { victim, answered } = await startBusy(engine, 'import time\ntime.sleep(60)', env);
  end(victim);
  const [exit, answer] = await Promise.all([victim.client.exited, answered]);
  expect(await victim.left(ENDED_MS)).toEqual([]);
  await victim.remove();
  return { exit, answer };
}

/** Creates a container like one left behind by a bridge of that owner. */
async function leaveContainer(engine: TestEngine, owner: Owner): Promise<string> {
  const name = `mcp-bridge-left-${randomUUID()}`;
  const labels = writeLabels({ instanceId: `left-${randomUUID()}`, owner, session: 'left', createdAt: new Date() });
  const flags = Object.entries(labels).map(([key, value]) => `--label=${key}=${value}`);
  // podman's defaults exceed what this user may set if it is root in a container itself.
  const limits = ['--ulimit=nofile=1024:1024', '--ulimit=nproc=4096:4096'];
  const command = ['python3', '-c', 'import time; time.sleep(600)'];
  const made = await engine.run(
    'run',
    '--detach',
    '--rm',
    '--network=none',
    `--name=${name}`,
    ...limits,
    ...flags,
    TEST_IMAGES.slim,
    ...command,
  );
  expect(made.exitCode).toBe(0);
  return name;
}

export const LIFE_CASES: readonly FaultCase[] = [
  {
    id: 'C05',
    title: 'SIGKILL of a bridge: idle, in a loop, in an output flood, under a fork bomb',
    expected: 'its sandbox and servers end, with no other process of ours running',
    quick: true,
    needs: ['child processes'],
    async run({ arena }) {
      const codes = [undefined, 'while True: pass', 'while True: print("x" * 10_000)', FORK_BOMB];
      const victims = await Promise.all(codes.map((code) => startBusy(arena.engine, code)));
      for (const { victim } of victims) {
        process.kill(victim.pid, 'SIGKILL');
        expect(await victim.left(KILLED_MS)).toEqual([]);
        await victim.remove();
      }
    },
  },
  {
    id: 'C07',
    title:
      'SIGTERM, SIGINT, SIGHUP, end of stdin, an uncaught exception, `process.exit` in a dependency, all in mid-call',
    expected: 'the call is answered while anyone listens; sandbox and servers end; the exit code is right',
    async run({ arena: { engine } }) {
      const send = (signal: NodeJS.Signals) => (victim: Victim) => void process.kill(victim.pid, signal);
      const signals = await Promise.all(
        (['SIGTERM', 'SIGINT', 'SIGHUP'] as const).map((signal) => endBusy(engine, send(signal))),
      );
      expect(signals.map(({ exit }) => exit)).toEqual([143, 130, 129].map((exitCode) => [exitCode, null]));
      const [closed, uncaught, exited] = await Promise.all([
        endBusy(engine, ({ client }) => client.child.stdin.end()),
        endBusy(engine, send('SIGUSR2'), failing('throw new Error()')),
        endBusy(engine, send('SIGUSR2'), failing('process.exit(3)')),
      ]);
      expect([closed.exit, uncaught.exit, exited.exit]).toEqual([0, 70, 3].map((exitCode) => [exitCode, null]));
      const told = 'SESSION_LOST: the session ended while the cell ran: the bridge was shut down';
      [...signals, uncaught].forEach(({ answer }) => expect(answer).toContain(told));
      expect(exited.answer).toBe('no answer');
    },
  },
  {
    id: 'C09',
    title: 'containers of dead bridges, one with a reused process id, and of a live bridge',
    expected: 'the next bridge removes those of the dead, reused id or not, and no others',
    containers: true,
    async run({ arena, run }) {
      const { engine } = arena;
      const me = currentOwner();
      const dead = await leaveContainer(engine, { ...me, pid: 2 ** 22 - 1 });
      const reused = await leaveContainer(engine, { ...me, started: '1' });
      const living = await leaveContainer(engine, me);
      const elsewhere = await leaveContainer(engine, { ...me, host: 'another-machine:1', pid: 2 ** 22 - 1 });
      const left = async () => {
        const { stdout } = await engine.run('ps', '--all', '--format={{.Names}}', '--filter=name=mcp-bridge-left-');
        return [dead, reused, living, elsewhere].filter((name) => stdout.includes(name));
      };
      try {
        const victim = await startVictim(engine);
        expect(await victim.run('print(1)')).toBe('1');
        expect(await poll(left, (found) => found.length <= 2, SWEPT_MS)).toEqual([living, elsewhere]);
        victim.client.child.stdin.end();
        await victim.client.exited;
        await victim.remove();
        expect(await left()).toEqual([living, elsewhere]);
        expect((await run('print("alive")')).stdout).toBe('alive');
      } finally {
        await engine.run('kill', ...(await left()));
      }
      await poll(left, (found) => found.length === 0, SWEPT_MS);
    },
  },
];
