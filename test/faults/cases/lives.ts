/** How bridges end, and how one bridge treats the sandboxes of another. The victim is a second bridge. */

import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { currentOwner, type Owner } from '../../../src/core/base/owner.ts';
import { writeLabels } from '../../../src/edges/engines/container/labels.ts';
import { fixtureServer } from '../../support/bridge-client.ts';
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

/** Records that it ran, and runs until the bridge is killed, or as long as `seconds`. */
const longCode = (tag: string, seconds = 600) => `# background, timeout: 600s
import asyncio
await mcp_ledger.record(tag="${tag}")
await asyncio.sleep(${seconds})
"end of ${tag}"`;

const cutOff = (tag: string, more = '') =>
  new RegExp(
    `^'kept = ${tag}'[^]*Cell \\d+ of an earlier bridge \\(begun [^)]*first line \`import asyncio\`\\) was cut off after it had run for at least \\d+ seconds?; its session was saved after cell \\d+\\.${more}`,
  );

/** What is under way when the bridge is killed, by its tag, and what the next one says then. */
const LONG_PHASES: Readonly<
  Record<string, { readonly act: (victim: Victim) => Promise<unknown>; readonly said: (tag: string) => RegExp }>
> = {
  'a cell goes on alone': { act: (victim) => sendLong(victim, longCode('alone')), said: cutOff },
  'a call waits for it': {
    async act(victim) {
      await sendLong(victim, longCode('waited'));
      void sendLong(victim, '# wait').catch(() => undefined);
    },
    said: cutOff,
  },
  'another cell waits for it': {
    async act(victim) {
      await sendLong(victim, longCode('first'));
      await sendLong(victim, longCode('second'));
    },
    said: (tag) => cutOff(tag, ' 1 cell that waited for it did not begin\\.'),
  },
  'it has ended, and no call has its answer': {
    act: (victim) => sendLong(victim, longCode('ended', 1)),
    said: () =>
      /From an earlier bridge: Cell \d+ ended with status success; its call was answered before:\n'end of ended'/,
  },
  'it has just begun': {
    act: (victim) => sendLong(victim, longCode('short')),
    said: () => /what cells? [\d to]+ changed is lost/,
  },
};
const UNTIL_NOTED_MS = 3_000;

function sendLong(victim: Victim, code: string): Promise<string> {
  return victim.run(code, { session: 'work', servers: ['ledger'] });
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
    id: 'C15',
    title: 'SIGKILL of a bridge at each phase of a long cell',
    expected: 'the next bridge says what was cut off and has the answers that no one got; nothing runs twice',
    async run({ arena: { engine } }) {
      const victims: Victim[] = [];
      const folder = mkdtempSync(join(tmpdir(), 'bridge-faults-long-'));
      const ledger = join(folder, 'ledger.jsonl');
      const servers = { ledger: fixtureServer('ledger.mjs', ledger) };
      const start = async () => {
        victims.push(await startVictim(engine, { folder, servers, env: { MCP_BRIDGE_MAX_TIMEOUT: '2h' } }));
        return victims.at(-1) as Victim;
      };
      let expected = /^'kept = '$/;
      try {
        for (const [index, [phase, { act, said }]] of Object.entries(LONG_PHASES).entries()) {
          const victim = await start();
          const first = await sendLong(victim, `try: kept\nexcept NameError: kept = ''\nf'kept = {kept}'`);
          expect(first).toMatch(expected);
          await sendLong(victim, `kept = 'phase ${index}'\nruntime.checkpoint()`);
          await act(victim);
          await pause(
            phase === 'it has just begun' ? UNDER_WAY_MS : UNTIL_NOTED_MS,
            'a cell is noted when it has run for a second',
          );
          process.kill(victim.pid, 'SIGKILL');
          expect(await victim.left(KILLED_MS)).toEqual([]);
          expected = new RegExp(said(`phase ${index}`));
        }
        expect(await sendLong(await start(), `f'kept = {kept}'`)).toMatch(expected);
        const tags = readFileSync(ledger, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line).arguments.tag);
        // The last one is killed before its call or after it.
        expect(tags.filter((tag) => tag !== 'short')).toEqual(['alone', 'waited', 'first', 'ended']);
        expect(new Set(tags).size).toBe(tags.length);
      } finally {
        await Promise.all(victims.map((victim) => victim.remove()));
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
