/**
 * Two reports side by side. What counts is the ratio of a figure to its floor: if the floor changed as much as the figure, the
 * machine changed and not the bridge.
 */
import type { Unit } from '../rows.ts';
import { formatNumber } from '../table.ts';
import { describeReport, type Report } from './report.ts';

/** Ratios closer together than this count as the same. Chosen: far enough apart that a run rarely differs from its repetition. */
const NOISE_FACTOR = 1.25;
/** Floors further apart than this: the times themselves cannot be compared. */
const FLOOR_FACTOR = 1.1;

export type Verdict = 'same' | 'better' | 'worse' | 'unclear' | 'new' | 'gone' | 'not measured';

export interface Compared {
  readonly figure: string;
  readonly engine: string | undefined;
  readonly before: number | undefined;
  readonly after: number | undefined;
  readonly unit: string;
  /** Of the floors, after to before; undefined if one of them has none. */
  readonly floorFactor: number | undefined;
  /** Of the figures as compared: their ratios to the floor if both have one, otherwise themselves. */
  readonly factor: number | undefined;
  readonly verdict: Verdict;
}

export const READING_RULE = [
  `Reading: *change* compares the ratios to the floor, which is why other load and another machine matter less to it; without a`,
  `floor, it compares the figures themselves. Within a factor of ${NOISE_FACTOR}, two runs are the same. If the floors are more than a`,
  `factor of ${FLOOR_FACTOR} apart, ignore *before* and *after* and read only *change*. *unclear*: a time without a floor, from`,
  'different machines or under different load. Repeat a run before you believe a difference.',
].join('\n');

type ReportRow = Report['rows'][number];

/** One line per figure, in the order of `after`; figures that only `before` has come last. */
export function compareReports(before: Report, after: Report): Compared[] {
  const earlier = new Map(before.rows.map((row) => [keyOf(row), row]));
  const isComparable = areMachinesAlike(before, after);
  const lines = after.rows.map((row) => compareRows(earlier.get(keyOf(row)), row, isComparable));
  const later = new Set(after.rows.map(keyOf));
  const gone = before.rows.filter((row) => !later.has(keyOf(row)));
  return [...lines, ...gone.map((row) => compareRows(row, undefined, isComparable))];
}

export function renderComparedReports(before: Report, after: Report): string {
  const lines = compareReports(before, after).map(toLine);
  const heading = '| figure | engine | before | after | floors | change | |';
  return [
    `before: ${describeReport(before)}  `,
    `after: ${describeReport(after)}`,
    '',
    heading,
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...lines,
    '',
    READING_RULE,
  ].join('\n');
}

/** Sizes do not depend on the machine, and a larger rate is better. */
const MACHINE_UNITS: readonly string[] = ['ms', 's', 'calls/s'] satisfies Unit[];

function compareRows(before: ReportRow | undefined, after: ReportRow | undefined, isComparable: boolean): Compared {
  const row = after ?? before;
  const [old, now] = [before?.measured, after?.measured];
  const unit = (now ?? old)?.unit ?? '';
  const factor = factorOf(before, after);
  const [oldFloor, newFloor] = [before?.floor?.value, after?.floor?.value];
  const hasFloors = oldFloor !== undefined && newFloor !== undefined;
  return {
    figure: row?.figure ?? '',
    engine: row?.engine,
    before: old?.value,
    after: now?.value,
    unit,
    floorFactor: hasFloors && oldFloor > 0 ? newFloor / oldFloor : undefined,
    factor,
    verdict: verdictOf(before, after, factor, hasFloors || isComparable || !MACHINE_UNITS.includes(unit)),
  };
}

function factorOf(before: ReportRow | undefined, after: ReportRow | undefined): number | undefined {
  const [old, now] = [ratioOf(before), ratioOf(after)];
  const hasFloors = old !== undefined && now !== undefined;
  const [from, to] = hasFloors ? [old, now] : [before?.measured?.value, after?.measured?.value];
  return from === undefined || to === undefined || from === 0 ? undefined : to / from;
}

function ratioOf(row: ReportRow | undefined): number | undefined {
  const { measured, floor } = row ?? {};
  return measured === undefined || floor === undefined || floor.value === 0 ? undefined : measured.value / floor.value;
}

function verdictOf(
  before: ReportRow | undefined,
  after: ReportRow | undefined,
  factor: number | undefined,
  isClear: boolean,
): Verdict {
  if (before === undefined || after === undefined) {
    return before === undefined ? 'new' : 'gone';
  }
  if (factor === undefined) {
    return 'not measured';
  }
  if (!isClear) {
    return 'unclear';
  }
  // A rate is better if it is higher.
  const cost = after.measured?.unit === 'calls/s' ? 1 / factor : factor;
  if (cost > NOISE_FACTOR) {
    return 'worse';
  }
  return cost < 1 / NOISE_FACTOR ? 'better' : 'same';
}

/** Whether times of the two can be compared directly. */
function areMachinesAlike(before: Report, after: Report): boolean {
  const { machine: a, load: one } = before;
  const { machine: b, load: other } = after;
  const isSame = a.processor === b.processor && a.cores === b.cores && a.engine === b.engine;
  const isIdle = [one, other].every(({ begin }) => begin[0] < a.cores / 2);
  return isSame && isIdle;
}

function keyOf({ figure, engine }: ReportRow): string {
  return `${engine ?? ''}\n${figure}`;
}

function toLine({ figure, engine, before, after, unit, floorFactor, factor, verdict }: Compared): string {
  const quantity = (value: number | undefined): string =>
    value === undefined ? '–' : `${formatNumber(value)} ${unit}`;
  const times = (value: number | undefined): string => (value === undefined ? '–' : `× ${value.toFixed(2)}`);
  const shown = verdict === 'worse' ? '**worse**' : verdict;
  return `| ${[figure, engine ?? '–', quantity(before), quantity(after), times(floorFactor), times(factor), shown].join(' | ')} |`;
}
