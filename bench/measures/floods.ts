/** Floods: one session sends as much as it can; the bridge must stay small and answer the others. */
import { codeOf, createFloods, FLOODED_SERVER, STUCK_SERVER, storeForFloods } from '../../test/support/floods.ts';
import type { BenchContext } from '../context.ts';
import { atMost, type Measure, type Quantity, type Row, rowsOrReason } from '../rows.ts';
import { type Bridge, withBridge } from '../support/bridge.ts';
import { withFolder } from '../support/folder.ts';
import { peakMb, resetPeak, residentMb } from '../support/process-memory.ts';
import { FLOODED } from '../support/servers.ts';
import { percentile, timed, timedEach } from '../support/statistics.ts';

/** The requirement, 300 MiB, in MB. */
const MAX_GROWTH_MB = 314;
const MAX_ANSWER_MS = 1_000;
const SERVERS = [FLOODED_SERVER, STUCK_SERVER];
const QUIET_CELLS = 100;

export const floods: Measure = {
  name: 'floods',
  title: 'floods of requests',
  run: (context) => rowsOrReason('floods of requests', () => withFolder((folder) => measure(context, folder))),
};

interface Flooded {
  readonly title: string;
  readonly growthMb: number;
  readonly cellsMs: readonly number[];
}

function measure(context: BenchContext, stateFolder: string): Promise<Row[]> {
  storeForFloods(stateFolder);
  const servers = Object.fromEntries(SERVERS.map((name) => [name, FLOODED]));
  return withBridge(context, { servers, stateFolder }, async (bridge) => {
    await bridge.run('1', { session: 'beside' });
    await bridge.run(SERVERS.map((name) => `await mcp_${name}.takes()`).join('\n'), attacker);
    const before = await residentMb(bridge.pid);
    const quietMs = await timedEach(QUIET_CELLS, () => cellBeside(bridge));
    const measured: Flooded[] = [];
    for (const flood of createFloods((short) => short)) {
      measured.push(await flooded(bridge, before, flood.title, codeOf(flood)));
    }
    return toRows(bridge.engine(), measured, quietMs);
  });
}

const attacker = { session: 'attacker', servers: SERVERS };

async function flooded(bridge: Bridge, before: number, title: string, code: string): Promise<Flooded> {
  await resetPeak(bridge.pid);
  let isOver = false;
  const flooding = bridge.run(code, attacker).finally(() => {
    isOver = true;
  });
  // Reported below; until then it would end this process.
  flooding.catch(() => undefined);
  const cellsMs: number[] = [];
  while (!isOver) {
    cellsMs.push(await timed(() => cellBeside(bridge)));
  }
  await flooding;
  return { title, growthMb: (await peakMb(bridge.pid)) - before, cellsMs };
}

function cellBeside({ run }: Bridge): Promise<string> {
  return run('1', { session: 'beside' });
}

function toRows(engine: string, measured: readonly Flooded[], quietMs: readonly number[]): Row[] {
  const largest = measured.toSorted((a, b) => b.growthMb - a.growthMb)[0];
  const cells = measured.flatMap(({ cellsMs }) => cellsMs);
  const growth: Quantity = { value: largest?.growthMb ?? 0, unit: 'MB' };
  const slowest: Quantity = { value: Math.max(...cells), unit: 'ms' };
  return [
    {
      figure: `floods of ${measured.length} kinds: growth of the bridge's memory, highest`,
      engine,
      measured: growth,
      detail: largest?.title,
      floor: { value: (8 * 1024 * 1024) / 1_000_000, unit: 'MB', what: 'the longest line' },
      goals: [atMost(growth, MAX_GROWTH_MB)],
    },
    {
      figure: 'cell of another session during the floods, slowest',
      engine,
      measured: slowest,
      detail: `p95 ${percentile(cells, 0.95).toFixed(0)} ms`,
      floor: { value: Math.max(...quietMs), unit: 'ms', what: 'without a flood, slowest' },
      goals: [atMost(slowest, MAX_ANSWER_MS)],
    },
  ];
}
