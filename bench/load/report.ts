/** The results of the load benchmark as Markdown tables, which read well in a terminal too. */
import { formatNumber } from '../table.ts';
import { type LoadResults, type Percentiles, type Step } from './results.ts';
import { GOAL_P95_MS } from './search.ts';

/** The goal: a stranger may at most double what others wait. */
const GOAL_STRANGER = 2;
const MAX_FAULTS = 10;

export function renderLoad(results: LoadResults): string {
  const { costs, engine, goal, load, machine, measuredAt, memory, revision, search } = results;
  const head = `${measuredAt}; revision ${revision}; ${machine}; ${engine}; load ${load.toFixed(1)} at the start`;
  const parts = [
    head,
    costs && renderCosts(costs),
    memory && renderMemory(memory),
    search && renderSearch(search),
    goal && renderGoal(goal),
    renderFaults(faultsOf(results)),
  ];
  return parts.filter((part) => part !== undefined).join('\n\n');
}

/** What was lost or mixed up in the whole run. */
export function faultsOf({ goal, search }: LoadResults): string[] {
  const steps = [...(search?.steps ?? []), goal?.without, goal?.beside].filter((step) => step !== undefined);
  return [...steps.flatMap(({ faults }) => faults), ...(goal?.missing ?? [])];
}

const COST_TITLES: Readonly<Record<keyof NonNullable<LoadResults['costs']>, string>> = {
  small: 'small',
  calls: '5 calls',
  output: '1 MB of output',
  plot: 'plot',
  checkpoint: 'small, with the checkpoint after it',
  restore: 'small, in a session that is restored for it',
  hibernate: 'a checkpoint, and the end of its idle session',
};

function renderCosts(costs: NonNullable<LoadResults['costs']>): string {
  const rows = Object.entries(costs).map(([name, { belowMs, bridgeMs, clientMs, wallMs }]) => [
    COST_TITLES[name as keyof typeof COST_TITLES],
    name === 'hibernate' ? '–' : `${formatNumber(wallMs)} ms`,
    ...[bridgeMs, belowMs, clientMs].map((ms) => `${formatNumber(ms)} ms`),
  ]);
  return table(['alone', 'wait, p50', 'processor: bridge', 'sandbox and server', 'client'], rows);
}

function renderMemory(memory: NonNullable<LoadResults['memory']>): string {
  const { bridgeMb, perClientMb, perSandboxMb, perServerMb, perSessionMb } = memory;
  return table(
    ['memory', 'MB'],
    [
      ['bridge without clients', formatNumber(bridgeMb)],
      ['… for each connected client', formatNumber(perClientMb)],
      ['… for each session', formatNumber(perSessionMb)],
      ['sandbox of a session, proportional', formatNumber(perSandboxMb)],
      ['MCP server of a principal, proportional', formatNumber(perServerMb)],
    ],
  );
}

function renderSearch({ highest, steps }: NonNullable<LoadResults['search']>): string {
  const rows = steps.toSorted((a, b) => a.clients - b.clients).map(rowOf);
  const [rate] = steps.map((step) => step.rate);
  const found = `Highest number of clients with a warm p95 of at most ${GOAL_P95_MS} ms, at ${rate} cells/s each: ${highest}.`;
  return `${table(HEADINGS, rows)}\n\n${found}`;
}

function renderGoal({ beside, liveSandboxes, missing, sandboxes, without }: NonNullable<LoadResults['goal']>): string {
  const lines = [
    table(HEADINGS, [without, ...(beside === undefined ? [] : [beside])].map(rowOf)),
    '',
    `${without.clients} clients, ${liveSandboxes} of at most ${sandboxes} sandboxes live at the end; ${missing.length === 0 ? 'each session has all its cells' : 'cells are missing'}.`,
  ];
  const [alone, flooded] = [without.times.warm, beside?.times.warm];
  if (alone !== undefined && flooded !== undefined && beside?.stranger !== undefined) {
    const { answeredPerS, sentPerS } = beside.stranger;
    const statuses = Object.entries(answeredPerS).map(([status, perS]) => `${status}: ${formatNumber(perS)}/s`);
    const answered = Object.values(answeredPerS).reduce((sum, perS) => sum + perS, 0);
    const ratio = flooded.p95Ms / alone.p95Ms;
    lines.push(
      `The stranger sent ${formatNumber(sentPerS)} requests/s; ${formatNumber(answered)}/s were answered (${statuses.join(', ')}).`,
      `Warm p95: ${formatNumber(alone.p95Ms)} ms alone, ${formatNumber(flooded.p95Ms)} ms beside the stranger: ${formatNumber(ratio)} × (goal: at most ${GOAL_STRANGER} ×, ${ratio <= GOAL_STRANGER ? 'met' : '**missed**'}).`,
    );
  }
  return lines.join('\n');
}

function renderFaults(faults: readonly string[]): string {
  if (faults.length === 0) {
    return 'Nothing was lost or mixed up.';
  }
  const shown = faults.slice(0, MAX_FAULTS).map((fault) => `- ${fault.replaceAll(/\s+/g, ' ')}`);
  return [`**Lost or mixed up: ${faults.length}**`, '', ...shown].join('\n');
}

const HEADINGS = [
  'step',
  'cells/s',
  'warm: p50 / p95 / p99, ms',
  'small',
  'calls',
  '1 MB of output',
  'plot',
  'restored',
  'cores: bridge, below, clients',
  'generator late, p99',
  'refused',
  'lost or mixed up',
];

function rowOf({ cellsPerS, cores, faults, lateMs, refused, times, title }: Step): string[] {
  const { calls, output, plot, restored, small, warm } = times;
  return [
    title,
    formatNumber(cellsPerS),
    ...[warm, small, calls, output, plot, restored].map(percentiles),
    [cores.bridge, cores.below, cores.clients].map(formatNumber).join(', '),
    `${formatNumber(lateMs)} ms`,
    String(refused),
    String(faults.length),
  ];
}

function percentiles(of: Percentiles | undefined): string {
  return of === undefined ? '–' : [of.p50Ms, of.p95Ms, of.p99Ms].map(formatNumber).join(' / ');
}

export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, headings.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return lines.join('\n');
}
