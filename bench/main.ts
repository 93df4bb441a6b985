/**
 * `npm run bench`: measures the built command and prints one table. Every figure has a floor from the same run next to it,
 * because absolute times say more about the machine than about the bridge. No test depends on it.
 */
import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { cpus, loadavg, release } from 'node:os';
import { messageOf } from '../src/base/errors.ts';
import { COMMANDS } from '../test/support/engines.ts';
import { type BenchContext, createContext } from './context.ts';
import { answers } from './measures/answers.ts';
import { cellCheck } from './measures/cell-check.ts';
import { checkpoints } from './measures/checkpoints.ts';
import { coldStart } from './measures/cold-start.ts';
import { concurrentCalls } from './measures/concurrent-calls.ts';
import { floods } from './measures/floods.ts';
import { idleMemory } from './measures/idle-memory.ts';
import { keptTools } from './measures/kept-tools.ts';
import { largeData } from './measures/large-data.ts';
import { packages } from './measures/packages.ts';
import { startUp } from './measures/start-up.ts';
import { stubTokens } from './measures/stub-tokens.ts';
import { toolCall } from './measures/tool-call.ts';
import { toolListSize } from './measures/tool-list-size.ts';
import { toolSearch } from './measures/tool-search.ts';
import { warmRoundTrip } from './measures/warm-round-trip.ts';
import { withoutContainers } from './measures/without-containers.ts';
import { parseOptions, USAGE } from './options.ts';
import { type Measure, type Row, rowsOrReason } from './rows.ts';
import { renderTable } from './table.ts';

const MEASURES: readonly Measure[] = [
  warmRoundTrip,
  coldStart,
  toolCall,
  concurrentCalls,
  largeData,
  floods,
  packages,
  checkpoints,
  answers,
  startUp,
  toolListSize,
  stubTokens,
  toolSearch,
  keptTools,
  cellCheck,
  idleMemory,
  withoutContainers,
];

async function main(argv: readonly string[]): Promise<void> {
  const options = parseOptions(argv);
  if (options.isHelp) {
    console.log(`${USAGE}\nMeasures: ${MEASURES.map(({ name }) => name).join(', ')}`);
    return;
  }
  const context = await createContext(options);
  const rows: Row[] = [];
  for (const measure of select(options.only)) {
    console.error(`measuring: ${measure.title}`);
    rows.push(...(await rowsOrReason(measure.title, () => measure.run(context))));
  }
  const machine = describeMachine(context);
  console.log(`${machine}\n\n${renderTable(rows)}`);
  if (options.jsonFile !== undefined) {
    const report = { measuredAt: new Date().toISOString(), machine, rows };
    await writeFile(options.jsonFile, `${JSON.stringify(report, undefined, 2)}\n`);
  }
}

/** Throws for an unknown name. */
function select(names: readonly string[]): readonly Measure[] {
  const unknown = names.filter((name) => !MEASURES.some((measure) => measure.name === name));
  if (unknown.length > 0) {
    throw new Error(`unknown: ${unknown.join(', ')}; use ${MEASURES.map(({ name }) => name).join(', ')}`);
  }
  return names.length === 0 ? MEASURES : MEASURES.filter(({ name }) => names.includes(name));
}

function describeMachine(context: BenchContext): string {
  const [cpu] = cpus();
  const load = loadavg().map((value) => value.toFixed(1));
  return [
    `${cpu?.model ?? 'unknown processor'}, ${cpus().length} cores, Linux ${release()}, Node ${process.version}`,
    describeEngine(context),
    `load ${load.join(' ')}`,
  ].join('; ');
}

function describeEngine(context: BenchContext): string {
  try {
    const { label, name, isContainer } = context.engine();
    const version = execFileSync(COMMANDS[name], ['--version'], { encoding: 'utf8' }).trim();
    return `${label} (${version})${isContainer ? `, image ${context.images.usual.name}` : ''}`;
  } catch {
    return 'no engine';
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Every process started here reads its stdin, so it ends with this one.
  process.once(signal, () => process.exit(1));
}
try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
