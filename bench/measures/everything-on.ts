/**
 * What policies, audit log, checkpoints and OpenTelemetry cost: cells and calls of three bridges in turn, with all of them, with all
 * of them and a required audit record, and with none.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BenchContext } from '../context.ts';
import type { Measure, Row } from '../rows.ts';
import { besideOff, ROUNDS, timeCalls, timeCells, warmUp } from '../support/beside-off.ts';
import { type Bridge, withBridge } from '../support/bridge.ts';
import { withCollector } from '../support/collector.ts';
import { withFolder } from '../support/folder.ts';
import { ECHO } from '../support/servers.ts';
import { interleave } from '../support/statistics.ts';

const MAX_RATIO = 1.2;
/** The last rule is the one that matches. */
const POLICY = {
  rules: [
    { effect: 'deny', server: 'echo', tool: 'delete_*' },
    { effect: 'deny', tool: 'echo', arguments: { text: { matches: '*secret*' } } },
    { effect: 'allow', server: 'echo', tool: 'echo', arguments: { text: { matches: 'x*' } } },
  ],
  default: 'deny',
};
const OFF = { MCP_BRIDGE_AUDIT: '0', MCP_BRIDGE_CHECKPOINT: 'off' };

export const everythingOn: Measure = {
  name: 'everything-on',
  title: 'policies, audit log, checkpoints and OpenTelemetry',
  run: (context) =>
    withCollector((address) =>
      withEverything(context, address, '1', (on) =>
        withEverything(context, address, 'required', (required) =>
          withBridge(context, { servers: { echo: ECHO }, env: OFF }, (off) => measure(context, on, required, off)),
        ),
      ),
    ),
};

function withEverything(
  context: BenchContext,
  collector: string,
  audit: '1' | 'required',
  use: (bridge: Bridge) => Promise<Row[]>,
): Promise<Row[]> {
  return withFolder(async (stateFolder) => {
    await writeFile(join(stateFolder, 'policy.json'), JSON.stringify(POLICY));
    const env = {
      MCP_BRIDGE_AUDIT: audit,
      MCP_BRIDGE_CHECKPOINT: 'auto',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector,
    };
    return withBridge(context, { servers: { echo: ECHO }, stateFolder, env }, use);
  });
}

async function measure(context: BenchContext, on: Bridge, required: Bridge, off: Bridge): Promise<Row[]> {
  await warmUp([on, required, off]);
  const samples = await interleave(context.repeats(ROUNDS), {
    cellOn: () => timeCells(on),
    cellRequired: () => timeCells(required),
    cellOff: () => timeCells(off),
    callOn: () => timeCalls(on),
    callRequired: () => timeCalls(required),
    callOff: () => timeCalls(off),
  });
  const { cellOn, cellRequired, cellOff, callOn, callRequired, callOff } = samples;
  const without = 'any of them';
  const cell = 'warm `run_python("x=1")` with policies, audit log, checkpoints and OpenTelemetry';
  const call = 'warm cell with a tool call, with all of them';
  // A required record is waited for twice, which is what a person who requires it wants: no goal.
  const waits = ', the record required';
  return [
    besideOff({ figure: cell, bridge: on, on: cellOn, off: cellOff, without, maxRatio: MAX_RATIO }),
    besideOff({ figure: call, bridge: on, on: callOn, off: callOff, without, maxRatio: MAX_RATIO }),
    besideOff({ figure: cell + waits, bridge: required, on: cellRequired, off: cellOff, without }),
    besideOff({ figure: call + waits, bridge: required, on: callRequired, off: callOff, without }),
  ];
}
