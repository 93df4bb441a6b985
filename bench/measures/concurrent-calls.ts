/** Concurrent calls: slow ones, which must overlap, and small ones, which must not slow each other down. */
import type { BenchContext } from '../context.ts';
import { atLeastTimes, atMost, type Measure, type Quantity, type Row, rowsOrReason } from '../rows.ts';
import { withBridge } from '../support/bridge.ts';
import { ECHO, SLOW, withDirectClient } from '../support/servers.ts';
import { interleave, median, timed } from '../support/statistics.ts';

const SLOW_ROUNDS = 5;
const SLOW_CALLS = 10;
const SLOW_SECONDS = 0.5;
const SMALL_ROUNDS = 9;
const SMALL_CALLS = 1_000;

const SLOW_CELL = `
import asyncio
len(await asyncio.gather(*(mcp_slow.sleep(seconds=${SLOW_SECONDS}) for _ in range(${SLOW_CALLS}))))
`;
/** Checks the answers too, because mixed-up answers would make the figure worthless. */
const SMALL_CELL = `
import asyncio, time
start = time.perf_counter()
answers = await asyncio.gather(*(mcp_echo.echo(text=f"call {i}") for i in range(${SMALL_CALLS})))
seconds = time.perf_counter() - start
assert answers == [f"call {i}" for i in range(${SMALL_CALLS})]
seconds
`;

export const concurrentCalls: Measure = {
  name: 'concurrent-calls',
  title: 'concurrent calls',
  async run(context) {
    const figures = {
      slow: `\`gather\` of ${SLOW_CALLS} calls of ${SLOW_SECONDS} s`,
      small: `${SMALL_CALLS.toLocaleString('en-US')} concurrent small calls`,
    };
    return [
      ...(await rowsOrReason(figures.slow, () => measureSlow(context, figures.slow))),
      ...(await rowsOrReason(figures.small, () => measureSmall(context, figures.small))),
    ];
  },
};

function measureSlow(context: BenchContext, figure: string): Promise<Row[]> {
  return withBridge(context, { servers: { slow: SLOW } }, async ({ run, engine }) => {
    await run('await mcp_slow.sleep(seconds=0)', { servers: ['slow'] });
    const { cells } = await interleave(context.repeats(SLOW_ROUNDS), { cells: () => timed(() => run(SLOW_CELL)) });
    const measured: Quantity = { value: median(cells) / 1000, unit: 's' };
    const floor = { value: SLOW_SECONDS, unit: 's', what: 'one call' } as const;
    return [{ figure, engine: engine(), measured, floor, goals: [atMost(measured, 0.52)] }];
  });
}

function measureSmall(context: BenchContext, figure: string): Promise<Row[]> {
  return withBridge(context, { servers: { echo: ECHO } }, ({ run, engine }) =>
    withDirectClient(ECHO, async (client) => {
      const fromCell = async () => SMALL_CALLS / Number(await run(SMALL_CELL, { servers: ['echo'] }));
      const direct = async () => {
        const calls = Array.from({ length: SMALL_CALLS }, (_, index) => ({ text: `call ${index}` }));
        const time = await timed(() =>
          Promise.all(calls.map((call) => client.callTool({ name: 'echo', arguments: call }))),
        );
        return SMALL_CALLS / (time / 1000);
      };
      await interleave(2, { fromCell, direct }); // Both sides compile their hot code.
      const samples = await interleave(context.repeats(SMALL_ROUNDS), { fromCell, direct });
      const measured: Quantity = { value: median(samples.fromCell), unit: 'calls/s' };
      const floor: Quantity = { value: median(samples.direct), unit: 'calls/s' };
      return [
        {
          figure,
          engine: engine(),
          measured,
          floor: { ...floor, what: `MCP client with ${SMALL_CALLS.toLocaleString('en-US')} at once` },
          goals: [atLeastTimes(measured, floor, 0.75)],
        },
      ];
    }),
  );
}
