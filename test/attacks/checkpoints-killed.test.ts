// Tags: full, bubblewrap
/**
 * The bridge, a sandbox or the worker in it is killed at random moments: while a cell runs, while a checkpoint is written or
 * restored, or in between. The session always continues, from a checkpoint no older than the last one that was complete, and its
 * answer says so.
 */
import { randomInt } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '../soak/random.ts';
import { amount, isQuickRun } from '../support/attacks.ts';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';
import { pause } from '../support/pause.ts';
import { descendantsOf, isAlive } from '../support/processes.ts';

const SEED = Number(process.env['MCP_BRIDGE_TEST_KILL_SEED'] ?? randomInt(1, 2 ** 31));
const KILLS = isQuickRun ? 3 : amount(8, 200);
const SESSION = 'counts';
/** A checkpoint is begun 0.3 s after a cell, and is small. */
const MAX_PAUSE_MS = 700;
/** The data makes a checkpoint of 4 MB, so that some are cut. */
const COUNT = `n = globals().get("n", 0) + 1
data = globals().get("data") or [str(i) * 8 for i in range(100_000)]
n, len(data)`;

for (const engine of await coverEngines()) {
  describe(`killed sessions on ${engine.label}, seed ${SEED}`, () => {
    attack(engine);
  });
}

function attack(engine: TestEngine): void {
  const stateDir = mkdtempSync(join(tmpdir(), 'bridge-killed-'));
  const random = createRandom(SEED);
  let bridge: BridgeClient;
  let log = '';
  /** What `n` was after each cell. */
  let counts = new Map<number, number>();
  const start = () =>
    startBridge({
      engine,
      env: { MCP_BRIDGE_STATE_DIR: stateDir, MCP_BRIDGE_LOG_LEVEL: 'DEBUG' },
      onLog: (text) => {
        log += text;
      },
    });

  beforeAll(async () => {
    bridge = await start();
  });
  afterAll(async () => {
    await bridge.close();
    rmSync(stateDir, { recursive: true, force: true });
  });

  /** Ends the worker from inside, the sandbox's process on the host, or the bridge. */
  async function kill(what: number): Promise<void> {
    if (what === 0) {
      await bridge.runPython('import os\nos._exit(9)', { session: SESSION });
      return;
    }
    const below = descendantsOf(bridge.pid);
    if (what === 1) {
      below.forEach((pid) => isAlive(pid) && process.kill(pid, 'SIGKILL'));
      await expect.poll(() => log, { timeout: 20_000 }).toMatch(/session counts: sandbox .* ended/);
      return;
    }
    process.kill(bridge.pid, 'SIGKILL');
    await bridge.close();
    await expect.poll(() => below.filter(isAlive), { timeout: 20_000 }).toEqual([]);
    bridge = await start();
  }

  async function count(): Promise<{ readonly n: number; readonly text: string }> {
    // Before a cell with a minute or more, what earlier ones left is saved, under a number that `reset` would take for that of this one.
    const { text, structured } = await bridge.runPython(COUNT, { session: SESSION, timeout: 50 });
    const [, n, length] = /^\((\d+), (\d+)\)$/.exec(String(structured['result'])) ?? [];
    if (length !== '100000') {
      throw new Error(text);
    }
    return { n: Number(n), text };
  }

  it(`${KILLS} times`, { timeout: 1_800_000 }, async () => {
    let cell = 0;
    for (let round = 0; round < KILLS; round += 1) {
      for (let more = random.below(3); more >= 0; more -= 1) {
        const { n } = await count();
        cell += 1;
        counts.set(cell, n);
      }
      await pause(random.next() * MAX_PAUSE_MS, 'the time is the point: whatever happens then, it dies');
      const what = random.below(3);
      const before = counts.get(cell) ?? 0;
      // What is logged until now is complete; the rest may be.
      const complete = [...log.matchAll(/session counts: checkpoint after cell (\d+)/g)].map(([, number]) =>
        Number(number),
      );
      await kill(what);
      const least = counts.get(Math.max(0, ...complete)) ?? 0;
      const { n, text } = await count();
      const where = `round ${round}, kill ${what}: ${text.slice(0, 300)}`;
      const isNamed = (n === 1 ? /State was lost|^\(1,/ : /Restored \d+ variables/).test(text);
      expect({ where, isNewEnough: n - 1 >= least, isOldEnough: n - 1 <= before, isNamed }).toEqual({
        where,
        isNewEnough: true,
        isOldEnough: true,
        isNamed: true,
      });
      // Cells are counted from the last one that this bridge, or the checkpoint, knows.
      log = '';
      counts = new Map([[1, n]]);
      cell = await reset(n);
    }
    const folders = readdirSync(join(stateDir, 'checkpoints'), { recursive: true, encoding: 'utf8' });
    expect(folders.filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  /** Learns the number of the cell that counted last, from its checkpoint. */
  async function reset(n: number): Promise<number> {
    const found = () => /session counts: checkpoint after cell (\d+)/.exec(log)?.[1];
    await expect.poll(found, { timeout: 30_000 }).toBeDefined();
    const number = Number(found());
    counts = new Map([[number, n]]);
    return number;
  }
}
