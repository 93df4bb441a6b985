/** What OpenTelemetry costs: cells and calls of two bridges in turn, one of which sends traces and metrics to a collector. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BenchContext } from '../context.ts';
import { atMostTimes, type Measure, type Quantity, type Row } from '../rows.ts';
import { type Bridge, withBridge } from '../support/bridge.ts';
import { ECHO } from '../support/servers.ts';
import { interleave, median, percentile, timedEach } from '../support/statistics.ts';

const ROUNDS = 25;
const CELLS_PER_ROUND = 40;
const WARM_UP_CELLS = 200;
const CALL = 'await mcp_echo.echo(text="x")';
/** Calls at once: each makes a span. */
const GATHER = 'import asyncio\nlen(await asyncio.gather(*[mcp_echo.echo(text="x") for _ in range(200)]))';
const GATHERS_PER_ROUND = 2;
const SERVERS = { servers: ['echo'] };

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

/** Takes everything and keeps nothing. */
async function withCollector<Result>(use: (address: string) => Promise<Result>): Promise<Result> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function measure(context: BenchContext, on: Bridge, off: Bridge): Promise<Row[]> {
  const cell = (bridge: Bridge) => () => bridge.run('x=1');
  const call = (bridge: Bridge) => () => bridge.run(CALL, SERVERS);
  const gather = (bridge: Bridge) => () => bridge.run(GATHER, SERVERS);
  for (const bridge of [on, off]) {
    await timedEach(WARM_UP_CELLS, cell(bridge));
    await timedEach(WARM_UP_CELLS, call(bridge));
    await timedEach(GATHERS_PER_ROUND, gather(bridge));
  }
  const samples = await interleave(context.repeats(ROUNDS), {
    cellOn: () => timedEach(CELLS_PER_ROUND, cell(on)),
    cellOff: () => timedEach(CELLS_PER_ROUND, cell(off)),
    callOn: () => timedEach(CELLS_PER_ROUND, call(on)),
    callOff: () => timedEach(CELLS_PER_ROUND, call(off)),
    gatherOn: () => timedEach(GATHERS_PER_ROUND, gather(on)),
    gatherOff: () => timedEach(GATHERS_PER_ROUND, gather(off)),
  });
  return [
    besideOff('warm `run_python("x=1")` with OpenTelemetry', on, samples.cellOn, samples.cellOff),
    besideOff('warm cell with a tool call, with OpenTelemetry', on, samples.callOn, samples.callOff),
    // Each call makes and sends a span of its own; the figure shows what that costs, without a goal.
    {
      ...besideOff('200 concurrent calls in a cell, with OpenTelemetry', on, samples.gatherOn, samples.gatherOff),
      goals: [],
    },
  ];
}

function besideOff(figure: string, bridge: Bridge, on: readonly number[], off: readonly number[]): Row {
  const measured: Quantity = { value: median(on), unit: 'ms' };
  const floor: Quantity = { value: median(off), unit: 'ms' };
  return {
    figure,
    engine: bridge.engine(),
    measured,
    detail: `p95 ${percentile(on, 0.95).toFixed(2)} ms, without ${percentile(off, 0.95).toFixed(2)} ms`,
    floor: { ...floor, what: 'the same without it' },
    goals: [atMostTimes(measured, floor, 1.1)],
  };
}
