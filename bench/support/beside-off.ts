/** Bridges in turn, with and without a feature: what it costs. */
import { atMostTimes, type Quantity, type Row } from '../rows.ts';
import type { Bridge } from './bridge.ts';
import { median, percentile, timedEach } from './statistics.ts';

export const ROUNDS = 25;
const CELLS_PER_ROUND = 40;
const WARM_UP_CELLS = 200;
/** Needs the server `echo`. */
const CALL = 'await mcp_echo.echo(text="x")';

export interface Beside {
  readonly figure: string;
  /** The bridge that has it. */
  readonly bridge: Bridge;
  readonly on: readonly number[];
  readonly off: readonly number[];
  /** What the other bridge does without. */
  readonly without: string;
  /** Highest ratio; without one, there is no goal. */
  readonly maxRatio?: number;
}

/** Milliseconds of each of a round of cells. */
export function timeCells({ run }: Bridge, count = CELLS_PER_ROUND): Promise<number[]> {
  return timedEach(count, () => run('x=1'));
}

/** Milliseconds of each of a round of cells with a tool call. */
export function timeCalls({ run }: Bridge, count = CELLS_PER_ROUND): Promise<number[]> {
  return timedEach(count, () => run(CALL, { servers: ['echo'] }));
}

export async function warmUp(bridges: readonly Bridge[]): Promise<void> {
  for (const bridge of bridges) {
    await timeCells(bridge, WARM_UP_CELLS);
    await timeCalls(bridge, WARM_UP_CELLS);
  }
}

export function besideOff({ bridge, figure, maxRatio, off, on, without }: Beside): Row {
  const measured: Quantity = { value: median(on), unit: 'ms' };
  const floor: Quantity = { value: median(off), unit: 'ms' };
  return {
    figure,
    engine: bridge.engine(),
    measured,
    detail: `p95 ${percentile(on, 0.95).toFixed(2)} ms, without ${percentile(off, 0.95).toFixed(2)} ms`,
    floor: { ...floor, what: `the same without ${without}` },
    goals: maxRatio === undefined ? [] : [atMostTimes(measured, floor, maxRatio)],
  };
}
