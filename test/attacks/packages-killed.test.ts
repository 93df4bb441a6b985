// Tags: full, bubblewrap
/**
 * The bridge, or the sandbox of a session, is killed at random points of an installation. No session ever sees a broken set,
 * nothing keeps running, and the next session gets the package. `test/integration/packages/builder.test.ts` kills builders.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PID_LABEL, SESSION_LABEL } from '../../src/edges/engines/container/labels.ts';
import { amount } from '../support/attacks.ts';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines, coverPackageEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';
import { type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { pause } from '../support/pause.ts';
import { descendantsOf, isAlive } from '../support/processes.ts';
import { makeWheel } from '../support/wheels.ts';

const SEED = Number(process.env['MCP_BRIDGE_TEST_KILL_SEED'] ?? randomInt(1, 2 ** 31));
const BODY_CHARS = 100_000;
/** Says what is missing in the sets of the session; it can see no others. */
const BROKEN_SETS = `import json, os, sys
broken = []
for folder in [os.path.dirname(path) for path in sys.path if path.startswith('/packages/sets/')]:
    with open(folder + '/manifest.json') as file:
        packages = json.load(file)['packages']
    files = [folder + '/lib/' + one['name'].replace('-', '_') + '/__init__.py' for one in packages]
    broken += [file for file in files if not os.path.isfile(file) or os.path.getsize(file) < ${BODY_CHARS}]
`;

for (const engine of await coverPackageEngines(await coverEngines())) {
  const kills = engine.isContainer ? amount(2, 6) : amount(8, 44);
  describe(`killed installations on ${engine.label}, seed ${SEED}`, () => {
    attack(engine, kills);
  });
}

function attack(engine: TestEngine, kills: number): void {
  const store = `bridge-test-killed-${randomUUID().slice(0, 8)}`;
  const stateDir = mkdtempSync(join(tmpdir(), 'bridge-killed-'));
  const random = createRandom(SEED);
  let index: PackageIndex;
  let bridge: BridgeClient;
  const start = () =>
    startBridge({
      engine,
      env: {
        MCP_BRIDGE_STATE_DIR: stateDir,
        MCP_BRIDGE_PACKAGES: 'any',
        MCP_BRIDGE_PACKAGES_STORE: store,
        MCP_BRIDGE_PACKAGES_NETWORK: 'host',
        PIP_INDEX_URL: index.url,
        PIP_CONFIG_FILE: '/dev/null',
        UV_NO_CONFIG: '1',
      },
    });

  beforeAll(async () => {
    index = await startPackageIndex();
    bridge = await start();
  });
  afterAll(async () => {
    await bridge.close();
    await index.close();
    rmSync(stateDir, { recursive: true, force: true });
    if (engine.isContainer) {
      await engine.run('volume', 'rm', '--force', store);
    } else {
      rmSync(join('/var/lib/mcp-server-code-execution-mode', store), { recursive: true, force: true });
    }
  });

  /** Installs a new package with a dependency. */
  const begin = (number: number, session: string) => {
    const body = `text = """${'x'.repeat(BODY_CHARS)}"""\n`;
    const [name, needed] = [`killed-${number}`, `needed-${number}`];
    index.add(
      makeWheel({ name, requires: [needed], files: { [`killed_${number}/__init__.py`]: body } }),
      makeWheel({ name: needed, files: { [`needed_${number}/__init__.py`]: body } }),
    );
    return bridge.runPython(`import killed_${number}, needed_${number}`, { session });
  };
  const whole = (number: number, session: string) =>
    bridge.runPython(
      `${BROKEN_SETS}import killed_${number}, needed_${number}
broken, len(killed_${number}.text), len(needed_${number}.text)`,
      { session },
    );

  it(`${kills} times`, { timeout: 600_000 }, async () => {
    // The first fetches pip as well.
    expect((await begin(0, 's0')).isError).toBe(false);
    const startedAt = performance.now();
    expect((await begin(1, 's1')).isError).toBe(false);
    const usualMs = performance.now() - startedAt;
    for (let number = 2; number < kills + 2; number += 1) {
      const session = `s${number}`;
      await bridge.runPython('1', { session });
      const cell = begin(number, session).catch(() => undefined);
      await pause(random() * usualMs, 'the time is the point: whatever happens then, it dies');
      if (number % 2 === 0) {
        const below = descendantsOf(bridge.pid);
        const { pid } = bridge;
        process.kill(pid, 'SIGKILL');
        await cell;
        await bridge.close();
        await expect.poll(() => below.filter(isAlive), { timeout: 20_000 }).toEqual([]);
        bridge = await start();
        if (engine.isContainer) {
          const left = async () => (await engine.run('ps', '--quiet', `--filter=label=${PID_LABEL}=${pid}`)).stdout;
          await expect.poll(left, { timeout: 20_000 }).toBe('');
        }
      } else {
        await killSession(engine, bridge.pid, session);
        await cell;
      }
      const { text } = await whole(number, `${session}-next`);
      expect(text, `seed ${SEED}, kill ${number}`).toBe(`([], ${BODY_CHARS}, ${BODY_CHARS})`);
    }
  });
}

/** Kills the sandboxes of sessions; builders live on. */
async function killSession(engine: TestEngine, bridgePid: number, session: string): Promise<void> {
  if (engine.isContainer) {
    const labels = [`${PID_LABEL}=${bridgePid}`, `${SESSION_LABEL}=${session}`].map((one) => `--filter=label=${one}`);
    const { stdout } = await engine.run('ps', '--quiet', ...labels);
    await engine.run('kill', '--signal=KILL', ...stdout.trim().split('\n'));
    return;
  }
  for (const pid of descendantsOf(bridgePid)) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('uploaded-prior-to')) {
        process.kill(pid, 'SIGKILL');
      }
    } catch {
      // It has ended.
    }
  }
}

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}
