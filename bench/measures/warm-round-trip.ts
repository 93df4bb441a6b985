/** A trivial cell in a running session, from client to client, compared with the bare pipe and with IPython. */
import type { BenchContext } from '../context.ts';
import { atMost, atMostTimes, type Measure, type Quantity, type Row, rowsOrReason } from '../rows.ts';
import { withBridge } from '../support/bridge.ts';
import { withPipeEcho } from '../support/containers.ts';
import { withIPython } from '../support/ipython.ts';
import { interleave, median, percentile, type Sampler, timedEach } from '../support/statistics.ts';

const CODE = 'x=1';
const ROUNDS = 25;
const CELLS_PER_ROUND = 100;
/** Warm-up before measuring, so both sides compile their hot code. */
const WARM_UP_CELLS = 500;
const FIGURE = 'warm `run_python("x=1")`, client to client, p50';

export const warmRoundTrip: Measure = {
  name: 'warm-round-trip',
  title: 'warm round trip',
  async run(context) {
    const withPipe = await rowsOrReason(FIGURE, () => measureBesidePipe(context));
    const withKernel = await rowsOrReason('the same next to an IPython kernel without a container', () =>
      measureBesideIPython(context),
    );
    return [...withPipe, ...withKernel];
  },
};

function measureBesidePipe(context: BenchContext): Promise<Row[]> {
  return withPipeEcho(context, async (echo) => {
    const samples = await measureBeside(context, () => timedEach(CELLS_PER_ROUND, echo));
    const measured: Quantity = { value: median(samples.bridge), unit: 'ms' };
    const floor: Quantity = { value: median(samples.other), unit: 'ms' };
    return [
      {
        figure: FIGURE,
        engine: samples.engine,
        measured,
        detail: `p95 ${percentile(samples.bridge, 0.95).toFixed(2)} ms`,
        floor: { ...floor, what: "JSON line through the container's pipe" },
        goals: [atMost(measured, 0.8), atMostTimes(measured, floor, 4)],
      },
    ];
  });
}

function measureBesideIPython(context: BenchContext): Promise<Row[]> {
  return withIPython(async (runCells) => {
    const samples = await measureBeside(context, () => runCells(CELLS_PER_ROUND));
    const measured: Quantity = { value: median(samples.bridge), unit: 'ms' };
    const floor: Quantity = { value: median(samples.other), unit: 'ms' };
    return [
      {
        figure: 'the same next to an IPython kernel without a container',
        engine: samples.engine,
        measured,
        floor: { ...floor, what: 'IPython kernel, jupyter_client' },
        goals: [atMostTimes(measured, floor, 1 / 4)],
      },
    ];
  });
}

interface Beside {
  readonly engine: string;
  readonly bridge: number[];
  readonly other: number[];
}

function measureBeside(context: BenchContext, other: Sampler): Promise<Beside> {
  return withBridge(context, {}, async ({ run, engine }) => {
    const cell = () => run(CODE);
    await timedEach(WARM_UP_CELLS, cell);
    const bridge = () => timedEach(CELLS_PER_ROUND, cell);
    return { engine: engine(), ...(await interleave(context.repeats(ROUNDS), { bridge, other })) };
  });
}
