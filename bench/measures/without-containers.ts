/** The engines that need no container engine, compared with the container engine of the same run. */
import { setTimeout as sleep } from 'node:timers/promises';
import { findTestEngines, type TestEngine } from '../../test/support/engines.ts';
import type { BenchContext } from '../context.ts';
import { atMost, atMostTimes, type Measure, type Quantity, type Row, rowsOrReason } from '../rows.ts';
import { firstCell, withBridge } from '../support/bridge.ts';
import { runToEnd } from '../support/containers.ts';
import { descendants, proportionalMb } from '../support/process-memory.ts';
import { interleave, median, percentile, timed, timedEach } from '../support/statistics.ts';

const LABELS = ['embedded', 'bubblewrap'] as const;
type Label = (typeof LABELS)[number];
const CODE = 'x=1';
const COLD_ROUNDS = 15;
const WARM_ROUNDS = 15;
const CELLS_PER_ROUND = 100;
const WARM_UP_CELLS = 500;
/** Time for garbage collection, and until V8 gives memory back. */
const REST_MS = 15_000;
const MAX_IDLE_MB = { embedded: 60, bubblewrap: 25 } as const;

export const withoutContainers: Measure = {
  name: 'without-containers',
  title: 'engines without containers',
  isForAllEngines: true,
  async run(context) {
    const { engines, missing } = await findTestEngines();
    const rows: Row[] = [];
    for (const label of LABELS) {
      const engine = engines.find((one) => one.label === label);
      const reason = missing.find((one) => one.startsWith(label)) ?? `${label} is not among the engines`;
      if (engine === undefined) {
        rows.push(...(await rowsOrReason(label, () => Promise.reject(new Error(reason)))));
      } else {
        rows.push(...(await measureEngine(context, engine, label)));
      }
    }
    return rows;
  },
};

/** The context with another engine. */
function on(context: BenchContext, engine: TestEngine): BenchContext {
  return { ...context, env: engine.env, engine: () => engine };
}

async function measureEngine(context: BenchContext, engine: TestEngine, label: Label): Promise<Row[]> {
  const own = on(context, engine);
  const figures = {
    cold: `${label}: first cell of a new session`,
    warm: `${label}: warm \`run_python("x=1")\`, p50`,
    memory: `${label}: idle session, all its processes, proportional`,
  };
  return [
    ...(await rowsOrReason(figures.cold, () => measureCold(context, own, figures.cold))),
    ...(await rowsOrReason(figures.warm, () => measureWarm(context, own, figures.warm))),
    ...(await rowsOrReason(figures.memory, () => measureMemory(own, figures.memory, MAX_IDLE_MB[label]))),
  ];
}

async function measureCold(context: BenchContext, own: BenchContext, figure: string): Promise<Row[]> {
  context.containerEngine();
  const { engine, beside, ...samples } = await withBridge(own, {}, (bridge) =>
    withBridge(context, {}, async (container) => {
      await firstCell(bridge, 'warm-up');
      await firstCell(container, 'warm-up');
      let count = 0;
      const taken = await interleave(context.repeats(COLD_ROUNDS), {
        own: () => firstCell(bridge, `cold-${(count += 1)}`),
        container: () => firstCell(container, `cold-${count}`),
        bare: () => timed(() => runToEnd(context, context.images.usual.name, 'pass')),
      });
      return { engine: bridge.engine(), beside: container.engine(), ...taken };
    }),
  );
  const measured: Quantity = { value: median(samples.own), unit: 'ms' };
  const floor: Quantity = { value: median(samples.container), unit: 'ms' };
  return [
    {
      figure,
      engine,
      measured,
      detail: `best ${Math.min(...samples.own).toFixed(0)} ms, a bare container ${median(samples.bare).toFixed(0)} ms`,
      floor: { ...floor, what: `the same on ${beside}` },
      goals: [atMostTimes(measured, floor, 0.8)],
    },
  ];
}

async function measureWarm(context: BenchContext, own: BenchContext, figure: string): Promise<Row[]> {
  context.containerEngine();
  const { engine, beside, ...samples } = await withBridge(own, {}, (bridge) =>
    withBridge(context, {}, async (container) => {
      await timedEach(WARM_UP_CELLS, () => bridge.run(CODE));
      await timedEach(WARM_UP_CELLS, () => container.run(CODE));
      const taken = await interleave(context.repeats(WARM_ROUNDS), {
        own: () => timedEach(CELLS_PER_ROUND, () => bridge.run(CODE)),
        container: () => timedEach(CELLS_PER_ROUND, () => container.run(CODE)),
      });
      return { engine: bridge.engine(), beside: container.engine(), ...taken };
    }),
  );
  const measured: Quantity = { value: median(samples.own), unit: 'ms' };
  const floor: Quantity = { value: median(samples.container), unit: 'ms' };
  return [
    {
      figure,
      engine,
      measured,
      detail: `p95 ${percentile(samples.own, 0.95).toFixed(2)} ms`,
      floor: { ...floor, what: `the same on ${beside}` },
      goals: [atMostTimes(measured, floor, 1.5)],
    },
  ];
}

/** Memory of all processes that the bridge started, which is only the session. */
function measureMemory(own: BenchContext, figure: string, maxMb: number): Promise<Row[]> {
  return withBridge(own, {}, async ({ pid, run, engine }) => {
    await run(CODE);
    await sleep(REST_MS);
    const processes = await Promise.all((await descendants(pid)).map(proportionalMb));
    const measured: Quantity = { value: processes.reduce((sum, megabytes) => sum + megabytes, 0), unit: 'MB' };
    return [{ figure, engine: engine(), measured, goals: [atMost(measured, maxMb)] }];
  });
}
