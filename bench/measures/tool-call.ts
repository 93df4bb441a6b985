/** One upstream tool call, awaited in a cell, compared with a client that is connected to the same server. */
import { atMostMore, type Measure, type Quantity } from '../rows.ts';
import { withBridge } from '../support/bridge.ts';
import { ECHO, withDirectClient } from '../support/servers.ts';
import { interleave, median, percentile, timedEach } from '../support/statistics.ts';

const ROUNDS = 15;
const CALLS_PER_ROUND = 100;

/** Times itself, so the cell's way to the sandbox and back is not counted. */
const CELL = `
import json, time
samples = []
for _ in range(${CALLS_PER_ROUND}):
    start = time.perf_counter()
    await mcp_echo.echo(text="x")
    samples.append((time.perf_counter() - start) * 1000)
print(json.dumps(samples))
`;

export const toolCall: Measure = {
  name: 'tool-call',
  title: 'upstream call',
  run: (context) =>
    withBridge(context, { servers: { echo: ECHO } }, ({ run, engine }) =>
      withDirectClient(ECHO, async (client) => {
        const fromCell = async () => JSON.parse(await run(CELL, { servers: ['echo'] })) as number[];
        const direct = () =>
          timedEach(CALLS_PER_ROUND, () => client.callTool({ name: 'echo', arguments: { text: 'x' } }));
        await interleave(2, { fromCell, direct }); // Both sides compile their hot code.
        const samples = await interleave(context.repeats(ROUNDS), { fromCell, direct });
        const measured: Quantity = { value: median(samples.fromCell), unit: 'ms' };
        const floor: Quantity = { value: median(samples.direct), unit: 'ms' };
        return [
          {
            figure: 'upstream tool call from a cell, p50',
            engine: engine(),
            measured,
            detail: `p95 ${percentile(samples.fromCell, 0.95).toFixed(2)} ms`,
            floor: { ...floor, what: 'MCP client to the same server' },
            goals: [atMostMore(measured, floor, 0.35)],
          },
        ];
      }),
    ),
};
