/** What OpenTelemetry costs: cells and calls of two bridges in turn, one of which sends traces and metrics to a collector. */
import type { BenchContext } from '../context.ts';
import type { Measure, Row } from '../rows.ts';
import { besideOff, ROUNDS, timeCalls, timeCells, warmUp } from '../support/beside-off.ts';
import { type Bridge, withBridge } from '../support/bridge.ts';
import { withCollector } from '../support/collector.ts';
import { ECHO } from '../support/servers.ts';
import { interleave, timedEach } from '../support/statistics.ts';

const MAX_RATIO = 1.1;
/** Calls at once: each makes a span. */
const GATHER = 'import asyncio\nlen(await asyncio.gather(*[mcp_echo.echo(text="x") for _ in range(200)]))';
const GATHERS_PER_ROUND = 2;

export const telemetry: Measure = {
  name: 'telemetry',
  title: 'OpenTelemetry',
  run: (context) =>
    withCollector((address) => {
      const servers = { echo: ECHO };
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: address };
      return withBridge(context, { servers, env }, (on) =>
        withBridge(context, { servers }, (off) => measure(context, on, off)),
      );
    }),
};

async function measure(context: BenchContext, on: Bridge, off: Bridge): Promise<Row[]> {
  const gather = ({ run }: Bridge) => timedEach(GATHERS_PER_ROUND, () => run(GATHER, { servers: ['echo'] }));
  await warmUp([on, off]);
  await gather(on);
  await gather(off);
  const samples = await interleave(context.repeats(ROUNDS), {
    cellOn: () => timeCells(on),
    cellOff: () => timeCells(off),
    callOn: () => timeCalls(on),
    callOff: () => timeCalls(off),
    gatherOn: () => gather(on),
    gatherOff: () => gather(off),
  });
  const { cellOn, cellOff, callOn, callOff, gatherOn, gatherOff } = samples;
  const row = (figure: string, times: readonly number[], without: readonly number[], maxRatio?: number): Row =>
    besideOff({
      figure,
      bridge: on,
      on: times,
      off: without,
      without: 'it',
      ...(maxRatio !== undefined && { maxRatio }),
    });
  return [
    row('warm `run_python("x=1")` with OpenTelemetry', cellOn, cellOff, MAX_RATIO),
    row('warm cell with a tool call, with OpenTelemetry', callOn, callOff, MAX_RATIO),
    // Each call makes and sends a span of its own; the figure shows what that costs, without a goal.
    row('200 concurrent calls in a cell, with OpenTelemetry', gatherOn, gatherOff),
  ];
}
