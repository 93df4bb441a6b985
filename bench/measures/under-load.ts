/**
 * A warm cell while 20 sessions are busy, in two bridges because one has at most 16. What fair sharing explains: the processor
 * time of the cell takes as many times longer as there are busy processes for each core, and each of the two processes that it
 * goes to, bridge and kernel, is as slow to react as a bare process that echoes a line under the same load.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { probeArguments, takeMeasured } from '../../test/support/faults/probe.ts';
import type { BenchContext } from '../context.ts';
import { atMost, type Measure, type Quantity, type Row, rowsOrReason } from '../rows.ts';
import { type Bridge, withBridge } from '../support/bridge.ts';
import { withFolder } from '../support/folder.ts';
import { interleave, median, percentile, timedEach } from '../support/statistics.ts';

const SESSIONS_PER_BRIDGE = 10;
/** One session runs the cells that are measured. */
const BUSY = 2 * SESSIONS_PER_BRIDGE - 1;
/** Processes that a cell goes to: the bridge, and the kernel in its sandbox. */
const HOPS = 2;
const SECONDS = 20;
const CELLS_PER_ROUND = 5;
const WARM_UP_CELLS = 200;
const MAX_TURN_MS = 20;
const ECHO_PROGRAM = 'process.stdin.pipe(process.stdout)';
const CODE = 'x=1';

export const underLoad: Measure = {
  name: 'under-load',
  title: 'under load',
  run: (context) =>
    rowsOrReason('warm cell beside busy sessions', () => withFolder((folder) => measure(context, folder))),
};

function measure(context: BenchContext, probe: string): Promise<Row[]> {
  return withBridge(context, { nodeArguments: probeArguments(probe, false) }, (bridge) =>
    withBridge(context, {}, (other) =>
      withEcho(async (echo) => {
        const cell = () => bridge.run(CODE, { session: 'measured' });
        await timedEach(WARM_UP_CELLS, cell);
        const idle = median(await timedEach(WARM_UP_CELLS, cell));
        await timedEach(WARM_UP_CELLS, echo);
        const sessions = busySessions(bridge, other);
        // One after the other, because all at once would be too much for a small machine.
        for (const [owner, session] of sessions) {
          await owner.run(CODE, { session });
        }
        await takeMeasured(probe); // Starting sandboxes does not count.
        const busy = Promise.all(sessions.map(([owner, session]) => owner.run(busyCell(SECONDS), { session })));
        const samples = { cell: [] as number[], echo: [] as number[] };
        const untilMs = performance.now() + (SECONDS - 2) * 1_000;
        while (performance.now() < untilMs) {
          const round = await interleave(1, {
            cell: () => timedEach(CELLS_PER_ROUND, cell),
            echo: () => timedEach(CELLS_PER_ROUND, echo),
          });
          samples.cell.push(...round.cell);
          samples.echo.push(...round.echo);
        }
        const { maxMs } = await takeMeasured(probe);
        await busy;
        return toRows(bridge.engine(), idle, samples, maxMs);
      }),
    ),
  );
}

function busySessions(bridge: Bridge, other: Bridge): (readonly [Bridge, string])[] {
  return Array.from({ length: BUSY }, (_, index) => [
    index < SESSIONS_PER_BRIDGE - 1 ? bridge : other,
    `busy-${index}`,
  ]);
}

function busyCell(seconds: number): string {
  return `import time\nend = time.monotonic() + ${seconds}\nwhile time.monotonic() < end: pass`;
}

/** Passes `use` a function that resolves when a bare process has echoed a line. */
async function withEcho<Result>(use: (echo: () => Promise<unknown>) => Promise<Result>): Promise<Result> {
  const child = spawn(process.execPath, ['-e', ECHO_PROGRAM], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(child, 'close');
  try {
    return await use(() => {
      const echoed = once(child.stdout, 'data');
      child.stdin.write('a line\n');
      return echoed;
    });
  } finally {
    child.stdin.end();
    await ended;
  }
}

/** The longest time, in ms, that fair sharing of the cores explains. */
export function fairShareMs(idleMs: number, echoMs: number, busy: number, cores: number): number {
  return HOPS * echoMs + idleMs * Math.max(1, (busy + 1) / cores);
}

function toRows(
  engine: string,
  idle: number,
  samples: Readonly<Record<'cell' | 'echo', number[]>>,
  longestTurnMs: number,
): Row[] {
  const measured: Quantity = { value: percentile(samples.cell, 0.95), unit: 'ms' };
  const echo = percentile(samples.echo, 0.95);
  const explained = fairShareMs(idle, echo, BUSY, cpus().length);
  const turn: Quantity = { value: longestTurnMs, unit: 'ms' };
  return [
    {
      figure: `warm cell beside ${BUSY} busy sessions, p95`,
      engine,
      measured,
      detail: `p50 ${median(samples.cell).toFixed(2)} ms; without them ${idle.toFixed(2)} ms`,
      floor: {
        value: explained,
        unit: 'ms',
        what: `fair sharing: ${HOPS} × ${echo.toFixed(1)} ms + ${idle.toFixed(2)} ms × ${BUSY + 1} / ${cpus().length}`,
      },
      goals: [{ text: '≤ floor', isMet: measured.value <= explained }],
    },
    {
      figure: "longest turn of the bridge's event loop meanwhile",
      engine,
      measured: turn,
      detail: 'without waiting for a core',
      goals: [atMost(turn, MAX_TURN_MS)],
    },
  ];
}
