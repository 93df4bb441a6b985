/** The results of a measure: rows of a table, each figure next to its floor from the same run. */
import { messageOf } from '../src/core/base/errors.ts';
import type { BenchContext } from './context.ts';

export const UNITS = ['ms', 's', 'MB', 'tokens', 'calls/s'] as const;
export type Unit = (typeof UNITS)[number];

export interface Quantity {
  readonly value: number;
  readonly unit: Unit;
}

export interface Goal {
  readonly text: string;
  readonly isMet: boolean;
}

export interface Row {
  readonly figure: string;
  /** The engine reported by the bridge; undefined if none was used. */
  readonly engine?: string | undefined;
  /** Undefined if it could not be measured; then `detail` has the reason. */
  readonly measured?: Quantity | undefined;
  /** More about the figure, such as another percentile. */
  readonly detail?: string | undefined;
  /** The best possible value in the same run and unit, and what it stands for. */
  readonly floor?: (Quantity & { readonly what: string }) | undefined;
  /** Empty if the row is only informative. */
  readonly goals: readonly Goal[];
}

/** One topic; `run` may return several rows. */
export interface Measure {
  /** The name for `--only`. */
  readonly name: string;
  readonly title: string;
  /** Its figures do not depend on the chosen engine, so one run is enough for all engines. */
  readonly isForAllEngines?: boolean;
  run(context: BenchContext): Promise<Row[]>;
}

/** A reason longer than this would make the table unreadable. */
const MAX_REASON_CHARS = 160;

/** The goal that `quantity` is at most `limit`, in its own unit. */
export function atMost(quantity: Quantity, limit: number, what = ''): Goal {
  return { text: `≤ ${limit} ${quantity.unit}${what}`, isMet: quantity.value <= limit };
}

/** The goal that `quantity` is at most `factor` times its floor. */
export function atMostTimes(quantity: Quantity, floor: Quantity, factor: number): Goal {
  return { text: `≤ ${formatFactor(factor)} floor`, isMet: quantity.value <= factor * floor.value };
}

/** The goal that `quantity` is at most its floor plus `margin`. */
export function atMostMore(quantity: Quantity, floor: Quantity, margin: number): Goal {
  return { text: `≤ floor + ${margin} ${quantity.unit}`, isMet: quantity.value <= floor.value + margin };
}

/** The goal that `quantity` is at least `factor` times its floor. */
export function atLeastTimes(quantity: Quantity, floor: Quantity, factor: number): Goal {
  return { text: `≥ ${formatFactor(factor)} floor`, isMet: quantity.value >= factor * floor.value };
}

/** The rows of `measure`, or one with the reason why there are none. */
export async function rowsOrReason(figure: string, measure: () => Promise<Row[]>): Promise<Row[]> {
  try {
    return await measure();
  } catch (error) {
    const reason = messageOf(error).replaceAll(/\s+/g, ' ').slice(0, MAX_REASON_CHARS);
    return [{ figure, detail: `not measured: ${reason}`, goals: [] }];
  }
}

function formatFactor(factor: number): string {
  return factor === 1 / 4 ? '¼ ×' : `${factor} ×`;
}
