/** What a measure gives: rows of one table, each figure beside its floor from the same run. */
import { messageOf } from '../src/base/errors.ts';
import type { BenchContext } from './context.ts';

export type Unit = 'ms' | 's' | 'MB' | 'tokens' | 'calls/s';

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
  /** The engine that ran it, as the bridge reported; left out when none did. */
  readonly engine?: string | undefined;
  /** Undefined when it could not be measured; `detail` then says why. */
  readonly measured?: Quantity | undefined;
  /** Further facts about the figure, such as another percentile. */
  readonly detail?: string | undefined;
  /** What could be reached at best in the same run, in the same unit, and what that is. */
  readonly floor?: (Quantity & { readonly what: string }) | undefined;
  /** Empty when the row is for information. */
  readonly goals: readonly Goal[];
}

/** One topic; `run` may give several rows. */
export interface Measure {
  /** For `--only`. */
  readonly name: string;
  readonly title: string;
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

/** The goal that `quantity` is at most its floor and `margin` more. */
export function atMostMore(quantity: Quantity, floor: Quantity, margin: number): Goal {
  return { text: `≤ floor + ${margin} ${quantity.unit}`, isMet: quantity.value <= floor.value + margin };
}

/** The goal that `quantity` is at least `factor` times its floor. */
export function atLeastTimes(quantity: Quantity, floor: Quantity, factor: number): Goal {
  return { text: `≥ ${formatFactor(factor)} floor`, isMet: quantity.value >= factor * floor.value };
}

/** The rows of `measure`, or one that says why there are none. */
export async function rowsOrReason(figure: string, measure: () => Promise<Row[]>): Promise<Row[]> {
  try {
    return await measure();
  } catch (error) {
    const reason = messageOf(error).replaceAll(/\s+/g, ' ').slice(0, MAX_REASON_CHARS);
    return [{ figure, detail: `not measured: ${reason}`, goals: [] }];
  }
}

function formatFactor(factor: number): string {
  return factor === 1 / 3 ? '⅓ ×' : `${factor} ×`;
}
