/** The report of a soak as text. */
import type { SoakOptions } from './options.ts';
import type { Record } from './record.ts';
import { GOAL_TURN_MS, type Sample, WARM_UP_SAMPLES } from './watch.ts';

export interface SoakReport extends SoakOptions {
  readonly seconds: number;
  readonly kinds: ReturnType<Record['table']>;
  readonly samples: readonly Sample[];
  /** Tool calls that cells could make, each with a key in the ledger. */
  readonly calls: number;
  readonly violations: readonly string[];
}

export function renderReport(report: SoakReport): string {
  const { calls, engine, kinds, minutes, samples, seconds, seed, violations } = report;
  const cells = kinds.reduce((sum, { count }) => sum + count, 0);
  const rows = [
    ['what', 'times', 'disturbed', 'overloaded', 'p50 ms', 'p95 ms', 'max ms'],
    ...kinds.map(({ count, disturbed, kind, max, overloaded, p50, p95 }) => [
      kind,
      ...[count, disturbed, overloaded, p50, p95, max].map(String),
    ]),
  ];
  const measures: readonly (readonly [string, keyof Sample])[] = [
    ['memory of the bridge, MiB', 'residentMib'],
    ['the same without garbage', 'inUseMib'],
    ['descriptors', 'descriptors'],
    ['processes below it', 'processes'],
    ['sandboxes', 'sandboxes'],
    ['ping, ms', 'pingMs'],
    [`longest turn of its event loop, ms (goal: ${GOAL_TURN_MS})`, 'turnMs'],
  ];
  const watched = measures.map(([name, key]) => [name, ...summaryOf(samples.map((sample) => sample[key]))]);
  return [
    `Soak of ${minutes} minutes on ${engine}, seed ${seed}: ${cells} cells, ${calls} calls, ${Math.round(seconds)} s`,
    '',
    table(rows),
    '',
    table([['measured every 5 s', 'first', 'after 2 min', 'most', 'last'], ...watched]),
    '',
    `Violated: ${violations.length === 0 ? 'nothing' : violations.length}`,
    ...violations.map((violation) => `  ${violation}`),
  ].join('\n');
}

function summaryOf(values: readonly (number | undefined)[]): string[] {
  const shown = [
    values[0],
    values[WARM_UP_SAMPLES],
    Math.max(...values.filter((value) => value !== undefined)),
    values.at(-1),
  ];
  return shown.map((value) => (value === undefined ? '–' : String(Math.round(value))));
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  '),
    )
    .join('\n');
}
