// Tags: full, docker-release, user
/** Nothing is left behind: no container, process, descriptor or file, after any number of runs and any kind of end. */

import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isQuickRun } from '../support/attacks.ts';
import { awaitStart, reportingStart } from '../support/begun.ts';
import { type BridgeClient, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { BytesInUse } from '../support/bytes-in-use.ts';
import { coverEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';
import { PATIENCE } from '../support/patience.ts';
import { descendantsOf, isAlive, openDescriptors } from '../support/processes.ts';
import { sandboxesOfBridge } from '../support/sandbox.ts';

const MIB = 1024 * 1024;
/** Memory that 1,000 cells may leave in use: 4 KiB each. Code compiled late takes 0.7 MiB in total (measured). */
const MAX_GROWTH_BYTES = 4 * MIB;
/** Bridges that are killed at the same time, each with two sandboxes; a stubborn server gets seconds to end by itself. */
const KILLS = isQuickRun ? 3 : 5;
const SESSIONS = isQuickRun ? 10 : 50;
/** Limits a hang; 20 took 12 s, or 75 s on a busy machine. */
const KILLS_TIMEOUT_MS = 300_000;

const engines = await coverEngines();

/** Limits a hang: a first start compiles the modules of the image. */
const READY = { timeout: 60_000 * PATIENCE, interval: 50 };

/** A bridge with two servers and a sandbox started ahead; `temporary` is its temporary folder. */
async function start(
  engine: TestEngine,
  {
    temporary = tmpdir(),
    inUse,
    onLog,
  }: { readonly temporary?: string; readonly inUse?: BytesInUse; readonly onLog?: (text: string) => void } = {},
): Promise<BridgeClient> {
  const bridge = await startBridge({
    engine,
    env: { TMPDIR: temporary, MCP_BRIDGE_PREWARM: '1', MCP_BRIDGE_LOG_LEVEL: 'INFO' },
    ...(onLog && { onLog }),
    ...(inUse && { nodeArguments: inUse.nodeArguments, onLog: (text) => inUse.takeLog(text) }),
    servers() {
      return { echo: fixtureServer('echo.mjs'), stubborn: fixtureServer('ignores-eof.mjs') };
    },
  });
  await bridge.client.listTools();
  await expect.poll(() => sandboxesOfBridge(engine, bridge.pid), READY).toHaveLength(1);
  return bridge;
}

/** Starts a cell and waits until its code runs. The connection ends while it runs. */
async function beginCell(bridge: BridgeClient, code: string): Promise<void> {
  const { begun, onProgress } = awaitStart();
  const answer = bridge.runPython(reportingStart(code), {}, { onprogress: onProgress });
  await Promise.race([begun, answer.then(({ text }) => Promise.reject(new Error(`it ended: ${text}`)))]);
  answer.catch(() => undefined);
}

/** Starts a bridge, kills it while it runs a cell, and waits until all its processes are gone. Returns its process id. */
async function killInMidCell(engine: TestEngine): Promise<number> {
  const bridge = await start(engine);
  const answer = await bridge.runPython('await mcp_stubborn.pid()', { servers: ['stubborn'], timeout: 120 });
  expect(answer.isError ? answer.text : '').toBe('');
  const below = descendantsOf(bridge.pid);
  await beginCell(bridge, 'while True: print("x" * 1000)');
  process.kill(bridge.pid, 'SIGKILL');
  await expect.poll(() => below.filter(isAlive), { timeout: 20_000, interval: 50 }).toEqual([]);
  await bridge.close();
  return bridge.pid;
}

/** A bridge that an engine keeps waiting exits first; its sandboxes then end by themselves. */
async function expectNoSandboxes(engine: TestEngine, bridge: number): Promise<void> {
  await expect.poll(() => sandboxesOfBridge(engine, bridge), { timeout: 10_000 * PATIENCE }).toEqual([]);
}

for (const engine of engines) {
  describe(`leaks on ${engine.label}`, () => {
    it('1,000 cells in a row do not change memory, descriptors and files', async () => {
      const inUse = new BytesInUse();
      const bridge = await start(engine, { inUse });
      try {
        const work = 'r = await mcp_echo.echo(text="x" * 100)\nprint(len(r))';
        const run = async (times: number) => {
          for (let i = 0; i < times; i += 1) {
            const answer = await bridge.runPython(work, { servers: ['echo'] });
            expect(answer.isError).toBe(false);
          }
        };
        await run(300);
        const before = { descriptors: openDescriptors(bridge.pid), bytes: await inUse.measure(bridge.pid) };
        await run(1_000);
        expect(openDescriptors(bridge.pid)).toBeLessThanOrEqual(before.descriptors + 1);
        const growth = (await inUse.measure(bridge.pid)) - before.bytes;
        expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
        // The session's, and one started ahead.
        await expect.poll(() => sandboxesOfBridge(engine, bridge.pid), READY).toHaveLength(2);
      } finally {
        await bridge.close();
      }
      await expect.poll(() => sandboxesOfBridge(engine, bridge.pid)).toEqual([]);
    });

    it(`${SESSIONS} sessions in a row leave neither containers nor processes`, async () => {
      const bridge = await start(engine);
      try {
        const cell = async (i: number) => {
          const answer = await bridge.runPython('x = 1\nruntime.reset()', { session: `s${i}` });
          expect(answer.isError).toBe(false);
        };
        // Only the sandbox that was started ahead.
        const settled = () => expect.poll(() => sandboxesOfBridge(engine, bridge.pid), READY).toHaveLength(1);
        await cell(0);
        await settled();
        const before = { descriptors: openDescriptors(bridge.pid), processes: descendantsOf(bridge.pid).length };
        for (let i = 1; i <= SESSIONS; i += 1) {
          await cell(i);
        }
        await settled();
        await expect.poll(() => descendantsOf(bridge.pid).length, READY).toBeLessThanOrEqual(before.processes);
        await expect.poll(() => openDescriptors(bridge.pid), READY).toBeLessThanOrEqual(before.descriptors + 1);
      } finally {
        await bridge.close();
      }
    });

    it(
      `${KILLS} times SIGKILL in mid-cell leave nothing, not even a stubborn server`,
      async () => {
        const lost = await Promise.all(Array.from({ length: KILLS }, () => killInMidCell(engine)));
        const left = async () => (await Promise.all(lost.map((pid) => sandboxesOfBridge(engine, pid)))).flat();
        await expect.poll(left, { timeout: 20_000, interval: 500 }).toEqual([]);
      },
      KILLS_TIMEOUT_MS,
    );

    it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s during a cell ends everything', async (signal) => {
      const bridge = await start(engine);
      await bridge.runPython('await mcp_stubborn.pid()', { servers: ['stubborn'] });
      const below = descendantsOf(bridge.pid);
      await beginCell(bridge, 'while True: pass');
      process.kill(bridge.pid, signal);
      await expect.poll(() => [bridge.pid, ...below].filter(isAlive), { timeout: 10_000 }).toEqual([]);
      await bridge.close();
      await expectNoSandboxes(engine, bridge.pid);
    });

    it('a closed stdin ends everything, and only the state files remain', async () => {
      const temporary = mkdtempSync(join(tmpdir(), 'bridge-leaks-'));
      // The rootless engine in these tests runs as another user.
      chmodSync(temporary, 0o777);
      const log: string[] = [];
      const bridge = await start(engine, { temporary, onLog: (text) => log.push(text) });
      const answer = await bridge.runPython('1', { servers: ['echo', 'stubborn'] });
      expect(answer.isError).toBe(false);
      const below = descendantsOf(bridge.pid);
      // Compiled code is stored for engines whose Python comes without it; it arrives after the first answer.
      const kept = engine.name === 'embedded' ? [] : ['.cache'];
      const files = () => readdirSync(bridge.folder).toSorted();
      await expect.poll(files).toEqual(expect.arrayContaining(kept));
      await bridge.client.close();
      await expect.poll(() => [bridge.pid, ...below].filter(isAlive), { timeout: 10_000 }).toEqual([]);
      await expectNoSandboxes(engine, bridge.pid);
      // A busy engine can hold up the shutdown. The next bridge then removes the socket.
      const isLate = log.some((text) => text.includes('shutdown took longer'));
      // Which servers a client uses is remembered in the cache, on the embedded engine in a moment when it may already be gone.
      const left = files().filter((name) => name !== '.cache' && !(isLate && name === '.live'));
      expect(left).toEqual(['.egress', 'audit', 'checkpoints', 'servers.json']);
      // A state without variables and files is not left to the next bridge.
      expect(isLate ? [] : readdirSync(join(bridge.folder, 'checkpoints'))).toEqual([]);
      expect(readdirSync(temporary)).toEqual([]);
      await bridge.close();
      rmSync(temporary, { recursive: true });
    });
  });
}
