/** What policies, audit log and checkpoints cost: cells and calls of two bridges in turn, with all of them and with none. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BenchContext } from '../context.ts';
import { atMostTimes, type Measure, type Quantity, type Row } from '../rows.ts';
import { type Bridge, withBridge } from '../support/bridge.ts';
import { withFolder } from '../support/folder.ts';
import { ECHO } from '../support/servers.ts';
import { interleave, median, percentile, timedEach } from '../support/statistics.ts';

const ROUNDS = 25;
const CELLS_PER_ROUND = 40;
const WARM_UP_CELLS = 200;
const CALL = 'await mcp_echo.echo(text="x")';
/** The last rule is the one that matches. */
const POLICY = {
  rules: [
    { effect: 'deny', server: 'echo', tool: 'delete_*' },
    { effect: 'deny', tool: 'echo', arguments: { text: { matches: '*secret*' } } },
    { effect: 'allow', server: 'echo', tool: 'echo', arguments: { text: { matches: 'x*' } } },
  ],
  default: 'deny',
};
const ON = { MCP_BRIDGE_AUDIT: 'required', MCP_BRIDGE_CHECKPOINT: 'auto' };
const OFF = { MCP_BRIDGE_AUDIT: '0', MCP_BRIDGE_CHECKPOINT: 'off' };

export const everythingOn: Measure = {
  name: 'everything-on',
  title: 'policies, audit log and checkpoints',
  run: (context) =>
    withFolder(async (stateFolder) => {
      await writeFile(join(stateFolder, 'policy.json'), JSON.stringify(POLICY));
      const servers = { echo: ECHO };
      return withBridge(context, { servers, stateFolder, env: ON }, (on) =>
        withBridge(context, { servers, env: OFF }, (off) => measure(context, on, off)),
      );
    }),
};

async function measure(context: BenchContext, on: Bridge, off: Bridge): Promise<Row[]> {
  const cell =
    ({ run }: Bridge) =>
    () =>
      run('x=1');
  const call =
    ({ run }: Bridge) =>
    () =>
      run(CALL, { servers: ['echo'] });
  for (const bridge of [on, off]) {
    await timedEach(WARM_UP_CELLS, cell(bridge));
    await timedEach(WARM_UP_CELLS, call(bridge));
  }
  const samples = await interleave(context.repeats(ROUNDS), {
    cellOn: () => timedEach(CELLS_PER_ROUND, cell(on)),
    cellOff: () => timedEach(CELLS_PER_ROUND, cell(off)),
    callOn: () => timedEach(CELLS_PER_ROUND, call(on)),
    callOff: () => timedEach(CELLS_PER_ROUND, call(off)),
  });
  return [
    besideOff('warm `run_python("x=1")` with policies, audit log and checkpoints', on, samples.cellOn, samples.cellOff),
    besideOff('warm cell with a tool call, with all of them', on, samples.callOn, samples.callOff),
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
    floor: { ...floor, what: 'the same without any of them' },
    goals: [atMostTimes(measured, floor, 1.2)],
  };
}
