/**
 * `npm run lab -- load`: clients over HTTP, each with a token and a session of its own, that send cells of several kinds at random
 * times. Every cell checks that its session has lost nothing and belongs to the right client. How it measures: bench/load/README.md.
 */
import { messageOf } from '../../src/core/base/errors.ts';
import { findTestEngines, type TestEngine } from '../../test/support/engines.ts';
import { currentRevision, loadNow, machineFacts } from '../report/report.ts';
import { measureCosts } from './costs.ts';
import { measureGoal } from './goal.ts';
import { LOAD_USAGE, type LoadOptions, parseLoadOptions } from './options.ts';
import { faultsOf, renderLoad } from './report.ts';
import { createResults, type LoadResults, saveResults } from './results.ts';
import { searchHighest } from './search.ts';

/** Resolves with the exit code: 1 if anything was lost or mixed up. */
async function main(argv: readonly string[]): Promise<number> {
  const options = parseLoadOptions(argv);
  if (options === undefined) {
    console.log(LOAD_USAGE);
    return 0;
  }
  const results = await measure(options, await findEngine(options.engine));
  console.log(renderLoad(results));
  if (options.saveFile !== undefined) {
    await saveResults(options.saveFile, results);
  }
  return faultsOf(results).length === 0 ? 0 : 1;
}

async function findEngine(wanted: string): Promise<TestEngine> {
  const { engines, missing } = await findTestEngines();
  const engine = engines.find(({ label }) => label === wanted);
  if (engine === undefined) {
    const usable = engines.map(({ label }) => label).join(', ') || 'none';
    throw new Error(`${wanted} cannot be used. Usable: ${usable}. ${missing.join('; ')}`);
  }
  return engine;
}

async function measure(options: LoadOptions, engine: TestEngine): Promise<LoadResults> {
  const tell = (text: string): void => console.error(text);
  const [load] = loadNow();
  const { cores, kernel, node, processor } = machineFacts(engine.label);
  const does = (part: LoadOptions['parts'][number]): boolean => options.parts.includes(part);
  return createResults({
    revision: currentRevision(),
    machine: `${processor}, ${cores} cores, Linux ${kernel}, Node ${node}`,
    engine: engine.label,
    load,
    ...(does('costs') && { costs: await measureCosts(engine, options.isQuick) }),
    ...(does('search') && (await searchHighest(engine, options, tell))),
    ...(does('goal') && { goal: await measureGoal(engine, options, tell) }),
  });
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // The bridge ends with its standard input, and its sandboxes and servers end with it.
  process.once(signal, () => process.exit(1));
}
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
