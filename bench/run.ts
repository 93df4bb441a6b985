/** Runs measures on one engine and adds the facts that belong to their figures. */
import { execFileSync } from 'node:child_process';
import { COMMANDS } from '../test/support/engines.ts';
import type { BenchContext } from './context.ts';
import { answers } from './measures/answers.ts';
import { cellCheck } from './measures/cell-check.ts';
import { checkpoints } from './measures/checkpoints.ts';
import { coldStart } from './measures/cold-start.ts';
import { concurrentCalls } from './measures/concurrent-calls.ts';
import { egress } from './measures/egress.ts';
import { everythingOn } from './measures/everything-on.ts';
import { firstCall } from './measures/first-call.ts';
import { floods } from './measures/floods.ts';
import { history } from './measures/history.ts';
import { idleMemory } from './measures/idle-memory.ts';
import { keptTools } from './measures/kept-tools.ts';
import { largeData } from './measures/large-data.ts';
import { packages } from './measures/packages.ts';
import { page } from './measures/page.ts';
import { readyData } from './measures/ready-data.ts';
import { standby } from './measures/standby.ts';
import { startUp } from './measures/start-up.ts';
import { stubTokens } from './measures/stub-tokens.ts';
import { telemetry } from './measures/telemetry.ts';
import { toolCall } from './measures/tool-call.ts';
import { toolListSize } from './measures/tool-list-size.ts';
import { toolSearch } from './measures/tool-search.ts';
import { underLoad } from './measures/under-load.ts';
import { warmRoundTrip } from './measures/warm-round-trip.ts';
import { withoutContainers } from './measures/without-containers.ts';
import { createReport, loadNow, machineFacts, type Report } from './report/report.ts';
import { type Measure, type Row, rowsOrReason } from './rows.ts';

export const MEASURES: readonly Measure[] = [
  warmRoundTrip,
  coldStart,
  standby,
  readyData,
  toolCall,
  egress,
  firstCall,
  everythingOn,
  telemetry,
  underLoad,
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
  history,
  page,
  keptTools,
  cellCheck,
  idleMemory,
  withoutContainers,
];

/** Runs the measures one after the other. Figures that could not be taken are rows with the reason. */
export async function runMeasures(
  context: BenchContext,
  measures: readonly Measure[],
  isQuick: boolean,
): Promise<Report> {
  const begin = loadNow();
  const rows: Row[] = [];
  for (const measure of measures) {
    console.error(`measuring: ${measure.title}`);
    rows.push(...(await rowsOrReason(measure.title, () => measure.run(context))));
  }
  return createReport(
    { machine: machineFacts(describeEngine(context)), load: { begin, end: loadNow() }, isQuick },
    rows,
  );
}

/** Throws for an unknown name. */
export function selectMeasures(names: readonly string[]): readonly Measure[] {
  const unknown = names.filter((name) => !MEASURES.some((measure) => measure.name === name));
  if (unknown.length > 0) {
    throw new Error(`unknown: ${unknown.join(', ')}; use ${MEASURES.map(({ name }) => name).join(', ')}`);
  }
  return names.length === 0 ? MEASURES : MEASURES.filter(({ name }) => names.includes(name));
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
