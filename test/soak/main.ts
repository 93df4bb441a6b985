/**
 * `npm run lab -- soak --minutes N`: a real bridge, client and servers with random cells, deadlines, cancels, crashes and kills, while
 * invariants are checked throughout. Prints a report; exits with 1 if an invariant was violated.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { messageOf } from '../../src/core/base/errors.ts';
import { findTestEngines, type TestEngine } from '../support/engines.ts';
import { descendantsOf, isAlive } from '../support/processes.ts';
import { pause } from './actions.ts';
import { createAgent } from './agent.ts';
import { createAttacker } from './attacker.ts';
import { parseSoakOptions, type SoakOptions, USAGE } from './options.ts';
import { Record } from './record.ts';
import { renderReport, type SoakReport } from './report.ts';
import { type Sample, takeSample, WARM_UP_SAMPLES, watch } from './watch.ts';
import { createWorld, type World } from './world.ts';

/** Time after which garbage of the last cells is gone. */
const QUIET_MS = 5_000;
/**
 * Allowed growth of the bridge's memory in use from the warm-up to the end. Its resident memory says little: V8 keeps what large
 * results needed, so it was 96 MiB higher after 30 minutes with attackers.
 */
const MAX_GROWTH_MIB = 16;
const MAX_DESCRIPTOR_GROWTH = 4;
const END_TIMEOUT_MS = 20_000;

async function main(argv: readonly string[]): Promise<void> {
  const options = parseSoakOptions(argv);
  if (options === 'help') {
    console.log(USAGE);
    return;
  }
  const { agents, attackers, engine, minutes, seed } = options;
  console.log(`soak: ${minutes} minutes on ${engine}, seed ${seed}, ${agents} agents, ${attackers} attackers`);
  const report = await soak(options);
  console.log(renderReport(report));
  if (options.jsonFile !== undefined) {
    writeFileSync(options.jsonFile, `${JSON.stringify(report, undefined, 2)}\n`);
  }
  process.exitCode = report.violations.length === 0 ? 0 : 1;
}

async function soak(options: SoakOptions): Promise<SoakReport> {
  const engine = await findEngine(options.engine);
  const world = await createWorld(engine);
  const record = new Record();
  const endMs = performance.now() + options.minutes * 60_000;
  let isStopped = false;
  process.once('SIGINT', () => {
    isStopped = true;
  });
  const agents = Array.from({ length: options.agents }, (_, index) => createAgent(index, options.seed, world, record));
  const attackers = Array.from({ length: options.attackers }, (_, index) =>
    createAttacker(index, options.seed, world, record),
  );
  const watching = watch(world, record, options.attackers > 0);
  const isOver = (): boolean => isStopped || performance.now() > endMs;
  await Promise.all([...agents, ...attackers].map((client) => client.act(isOver)));
  await Promise.all(agents.map((agent) => agent.visitAll()));
  await watching.stop();
  await pause(QUIET_MS);
  const last = await takeSample(world, true);
  const samples = [...watching.samples, last];
  checkGrowth(samples, record);
  await checkEnd(world, record);
  world.ledger.faults().forEach((fault) => record.violate(fault));
  world.removeFiles();
  return {
    ...options,
    seconds: (performance.now() - record.startedMs) / 1000,
    kinds: record.table(),
    samples,
    calls: world.ledger.size,
    violations: record.violations,
  };
}

async function findEngine(label: string): Promise<TestEngine> {
  process.env['MCP_BRIDGE_TEST_ENGINES'] = label;
  const { engines, missing } = await findTestEngines();
  const [engine] = engines;
  if (engine === undefined) {
    throw new Error(missing.join('; '));
  }
  return engine;
}

/** Compares the end with the time after the warm-up. Only runs much longer than the warm-up show anything. */
function checkGrowth(samples: readonly Sample[], record: Record): void {
  const warm = samples[WARM_UP_SAMPLES];
  const last = samples.at(-1);
  if (warm === undefined || last === undefined) {
    return;
  }
  const growthMib = (last.inUseMib ?? 0) - (warm.inUseMib ?? 0);
  if (growthMib > MAX_GROWTH_MIB) {
    record.violate(`the bridge uses ${Math.round(growthMib)} MiB more than after the warm-up`);
  }
  // A session uses four descriptors.
  const perSession = (sample: Sample): number => sample.descriptors - 4 * sample.sandboxes;
  if (perSession(last) > perSession(warm) + MAX_DESCRIPTOR_GROWTH) {
    record.violate(`${last.descriptors} descriptors at the end, ${warm.descriptors} after the warm-up`);
  }
}

/** Ends the bridge: no process, sandbox or temporary file may be left. */
async function checkEnd(world: World, record: Record): Promise<void> {
  const { bridge, temporary } = world;
  const below = descendantsOf(bridge.pid);
  await world.close();
  const left = async () => ({
    processes: [bridge.pid, ...below].filter(isAlive).length,
    sandboxes: (await world.sandboxes()).length,
    files: readdirSync(temporary).length,
  });
  const untilMs = performance.now() + END_TIMEOUT_MS;
  for (;;) {
    const { files, processes, sandboxes } = await left();
    if (processes + sandboxes + files === 0) {
      return;
    }
    if (performance.now() > untilMs) {
      record.violate(`left behind: ${processes} processes, ${sandboxes} sandboxes, ${files} temporary files`);
      return;
    }
    await pause(200);
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
