/** Packages: what the store costs a session, and a builder compared with plain `pip install` in a container with the same flags. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestEngine } from '../../test/support/engines.ts';
import { type PackageIndex, startPackageIndex } from '../../test/support/package-index.ts';
import { makeWheel, type Wheel } from '../../test/support/wheels.ts';
import type { BenchContext } from '../context.ts';
import { atMostMore, atMostTimes, type Measure, type Quantity, type Row } from '../rows.ts';
import { type Bridge, firstCell, withBridge } from '../support/bridge.ts';
import { interleave, median, percentile, timed } from '../support/statistics.ts';

const START_ROUNDS = 25;
const IMPORT_ROUNDS = 15;
const INSTALL_ROUNDS = 9;
const WHEELS = 10;
/** About the size of small packages on PyPI: 200 KB each. */
const MODULES = 40;
const FUNCTIONS = 40;

export const packages: Measure = {
  name: 'packages',
  title: 'packages',
  async run(context) {
    const engine = context.engine();
    const index = await startPackageIndex();
    const store = `bridge-bench-packages-${randomUUID().slice(0, 8)}`;
    const env = {
      MCP_BRIDGE_PACKAGES: 'any',
      MCP_BRIDGE_PACKAGES_STORE: store,
      MCP_BRIDGE_PACKAGES_NETWORK: 'host',
      PIP_INDEX_URL: index.url,
    };
    try {
      return await withBridge(context, { env }, async (bridge) => [
        await measureInstall(context, bridge, index, store),
        await measureImport(context, bridge, index),
        await measureStart(context, bridge),
      ]);
    } finally {
      await index.close();
      await removeStore(engine, store);
    }
  },
};

/** Each round has wheels of its own, so the store has none of them. */
async function measureInstall(context: BenchContext, bridge: Bridge, index: PackageIndex, store: string): Promise<Row> {
  const figure = `resolving and fetching ${WHEELS} wheels from an index on this machine`;
  // Fetches a pip if the image has none that is new enough.
  index.add(makeWheel({ name: 'warm-up' }));
  await bridge.run('await runtime.install("warm-up")', { session: 'warm-up' });
  let count = 0;
  const nextFamily = (): string => {
    const wheels = makeFamily(`family${(count += 1)}`);
    index.add(...wheels);
    return wheels[0]?.name ?? '';
  };
  const samples = await interleave(context.repeats(INSTALL_ROUNDS), {
    bridge: async () => {
      const [name, session] = [nextFamily(), `install-${count}`];
      await bridge.run('x=1', { session });
      const time = await timed(() => bridge.run(`await runtime.install("${name}")`, { session }));
      await bridge.run('runtime.reset()', { session });
      return time;
    },
    pip: async () => {
      const name = nextFamily();
      return timed(() => plainInstall(context.engine(), store, index.url, name));
    },
  });
  const measured: Quantity = { value: median(samples.bridge), unit: 'ms' };
  const floor: Quantity = { value: median(samples.pip), unit: 'ms' };
  return {
    figure,
    engine: bridge.engine(),
    measured,
    detail: `best ${Math.min(...samples.bridge).toFixed(0)} ms`,
    floor: { ...floor, what: '`pip install --target`, sandbox with the same flags' },
    goals: [atMostTimes(measured, floor, 1.5)],
  };
}

/** The first package needs all others. */
function makeFamily(family: string): Wheel[] {
  const functions = Array.from({ length: FUNCTIONS }, (_, number) => {
    return `def function_${number}(first, second=${number}):\n    """Adds and compares."""\n    if first > second:\n        return [first + second]\n    return {"value": second}\n`;
  }).join('\n');
  const names = Array.from({ length: WHEELS }, (_, number) => `${family}-${number}`);
  return names.map((name, number) => {
    const folder = name.replaceAll('-', '_');
    const modules = Array.from({ length: MODULES }, (_, module) => [`${folder}/module_${module}.py`, functions]);
    return makeWheel({
      name,
      files: { [`${folder}/__init__.py`]: '', ...Object.fromEntries(modules) },
      requires: number === 0 ? names.slice(1) : [],
    });
  });
}

/** The pip of the image, otherwise the one in the store. */
const PIP = `
import glob, runpy, sys
sys.path += glob.glob("/packages/tools/pip-*")
runpy.run_module("pip", run_name="__main__")`;

/** Runs pip in a builder's sandbox, to its end. Rejects if it fails. */
async function plainInstall(engine: TestEngine, store: string, url: string, name: string): Promise<void> {
  const sandbox = await engine.create({ packages: { volume: store, folder: '', network: 'host' } }).start({
    command: [
      'python3',
      '-I',
      '-c',
      PIP,
      'install',
      '--quiet',
      '--no-cache-dir',
      '--disable-pip-version-check',
      '--only-binary=:all:',
      '--root-user-action=ignore',
      '--target=/tmp/packages',
      '--index-url',
      url,
      name,
    ],
    session: 'bench',
    isBuilder: true,
  });
  let noise = '';
  sandbox.stdin.end();
  sandbox.stdout.resume();
  sandbox.stderr.on('data', (chunk: Buffer) => {
    noise += chunk.toString('utf8');
  });
  const { exitCode } = await sandbox.exited;
  if (exitCode !== 0) {
    throw new Error(`pip install ended with ${exitCode}: ${noise.trim().slice(-300)}`);
  }
}

/** In one session per round: a module whose set is stored but not yet used, then one of the same size that is on the path. */
async function measureImport(context: BenchContext, bridge: Bridge, index: PackageIndex): Promise<Row> {
  const wheels = makeFamily('import');
  index.add(...wheels);
  const [first = '', second = ''] = wheels.map(({ name }) => name.replaceAll('-', '_'));
  await bridge.run(`await runtime.install("${wheels[0]?.name}")`, { session: 'import' });
  await bridge.run(`import ${first}`, { session: 'import-warm-up' });
  const times = { stored: [] as number[], onPath: [] as number[] };
  for (let round = 0; round < context.repeats(IMPORT_ROUNDS); round += 1) {
    const session = `import-${round}`;
    await bridge.run('x=1', { session });
    times.stored.push(await timed(() => bridge.run(`import ${first}.module_0`, { session })));
    times.onPath.push(await timed(() => bridge.run(`import ${second}.module_0`, { session })));
    await bridge.run('runtime.reset()', { session });
  }
  const measured: Quantity = { value: median(times.stored), unit: 'ms' };
  const floor: Quantity = { value: median(times.onPath), unit: 'ms' };
  return {
    figure: 'import from a stored set in a new session',
    engine: bridge.engine(),
    measured,
    detail: `p95 ${percentile(times.stored, 0.95).toFixed(1)} ms`,
    floor: { ...floor, what: 'the same import, once the set is on the path' },
    goals: [atMostMore(measured, floor, 50)],
  };
}

async function measureStart(context: BenchContext, withStore: Bridge): Promise<Row> {
  return withBridge(context, { env: { MCP_BRIDGE_PACKAGES: 'off' } }, async (without) => {
    await firstCell(without, 'warm-up');
    let count = 0;
    const samples = await interleave(context.repeats(START_ROUNDS), {
      store: () => firstCell(withStore, `start-${(count += 1)}`),
      bare: () => firstCell(without, `start-${count}`),
    });
    const measured: Quantity = { value: median(samples.store), unit: 'ms' };
    const floor: Quantity = { value: median(samples.bare), unit: 'ms' };
    return {
      figure: 'first cell of a new session, with the package store',
      engine: withStore.engine(),
      measured,
      detail: `best ${Math.min(...samples.store).toFixed(0)} ms`,
      floor: { ...floor, what: `packages off; best ${Math.min(...samples.bare).toFixed(0)} ms` },
      goals: [atMostTimes(measured, floor, 1.05)],
    };
  });
}

async function removeStore(engine: TestEngine, store: string): Promise<void> {
  if (engine.isContainer) {
    await engine.run('volume', 'rm', '--force', store);
  } else {
    // Where root's stores are; those of others are in the state directory.
    rmSync(join('/var/lib/mcp-server-code-execution-mode', store), { recursive: true, force: true });
  }
}
