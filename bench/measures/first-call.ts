/**
 * The first call of a server in a new bridge, compared with a client that starts the same server and calls it. The server was used by
 * an earlier bridge, which a bridge may take as a reason to start it before the first call.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchContext } from '../context.ts';
import { atMostTimes, type Measure, type Quantity, type Row } from '../rows.ts';
import { withBridge } from '../support/bridge.ts';
import { withFolder } from '../support/folder.ts';
import { ECHO, withDirectClient } from '../support/servers.ts';
import { interleave, median, percentile, timed, timedEach } from '../support/statistics.ts';

const ROUNDS = 9;
const LATER_CALLS = 20;
const THINKING_MS = 3_000;
const CALL = 'await mcp_echo.echo(text="x")';

export const firstCall: Measure = {
  name: 'first-call',
  title: 'first call of a server',
  run: (context) => withFolder((stateFolder) => measure(context, stateFolder)),
};

async function measure(context: BenchContext, stateFolder: string): Promise<Row[]> {
  let engine = '';
  const later: number[] = [];
  const bridge = () =>
    withBridge(context, { stateFolder, servers: { echo: ECHO } }, async ({ client, run, engine: reported }) => {
      const call = () => run(CALL, { servers: ['echo'] });
      await client.listTools();
      await run('pass'); // The start of the sandbox is measured elsewhere.
      await sleep(THINKING_MS);
      const time = await timed(call);
      later.push(...(await timedEach(LATER_CALLS, call)));
      engine = reported();
      return time;
    });
  await bridge(); // Remembers which server was used.
  later.length = 0;
  const samples = await interleave(context.repeats(ROUNDS), {
    bridge,
    direct: () =>
      timed(() => withDirectClient(ECHO, (client) => client.callTool({ name: 'echo', arguments: { text: 'x' } }))),
  });
  const measured: Quantity = { value: median(samples.bridge), unit: 'ms' };
  const floor: Quantity = { value: median(samples.direct), unit: 'ms' };
  return [
    {
      figure: 'first call of a server, from request to answer',
      engine,
      measured,
      detail: `p95 ${percentile(samples.bridge, 0.95).toFixed(0)} ms; a later call ${median(later).toFixed(2)} ms`,
      floor: { ...floor, what: 'a client starts it, calls it and ends it' },
      goals: [atMostTimes(measured, floor, 1.25)],
    },
  ];
}
