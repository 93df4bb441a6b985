/** Large results and floods of output: they must succeed, and the host's memory must stay bounded. */
import { MAX_RESULT_BYTES, MAX_SANDBOX_LINE_BYTES } from '../../src/base/limits.ts';
import type { BenchContext } from '../context.ts';
import { type Measure, type Quantity, type Row, rowsOrReason } from '../rows.ts';
import { type Bridge, withBridge } from '../support/bridge.ts';
import { peakMb, resetPeak, residentMb } from '../support/process-memory.ts';
import { HUGE } from '../support/servers.ts';
import { interleave, median, timed } from '../support/statistics.ts';

const MIB = 1024 * 1024;
const MEGABYTE = 1_000_000;
const ROUNDS = 5;
/** The host's memory may grow by this multiple of the applicable limit. */
const GROWTH_FACTOR = 3;

interface Load {
  readonly figure: string;
  readonly cell: string;
  /** The cell's answer if all data arrived. */
  readonly answer: RegExp;
  readonly bytes: number;
  readonly capBytes: number;
  readonly capName: string;
}

const LOADS: readonly Load[] = [
  {
    figure: '64 MiB tool result into code',
    cell: 'len(await mcp_huge.text(mib=64))',
    answer: new RegExp(`^${64 * MIB}$`),
    bytes: 64 * MIB,
    capBytes: MAX_RESULT_BYTES,
    capName: 'the largest result',
  },
  {
    figure: '100 MiB printed',
    cell: `for _ in range(100): print("x" * ${MIB - 1})\nprint("done")`,
    answer: /done$/,
    bytes: 100 * MIB,
    capBytes: MAX_SANDBOX_LINE_BYTES,
    capName: 'the longest line from a sandbox',
  },
];

export const largeData: Measure = {
  name: 'large-data',
  title: 'large data',
  async run(context) {
    const rows = [];
    for (const load of LOADS) {
      rows.push(...(await rowsOrReason(load.figure, () => measureLoad(context, load))));
    }
    return rows;
  },
};

function measureLoad(context: BenchContext, load: Load): Promise<Row[]> {
  return withBridge(context, { servers: { huge: HUGE } }, async (bridge) => {
    // Starts the sandbox and the server, so the host's memory grows only by the data.
    await bridge.run('await mcp_huge.echo(text="x")', { servers: ['huge'] });
    const growths: number[] = [];
    const { times } = await interleave(context.repeats(ROUNDS), {
      times: () => timed(async () => growths.push(await growthOf(bridge, load))),
    });
    const rows = toRows(load, median(times), Math.max(...growths));
    return rows.map((row) => ({ ...row, engine: bridge.engine() }));
  });
}

/** Growth of the bridge's resident memory while the cell runs, in MB. */
async function growthOf({ pid, run }: Bridge, { cell, answer }: Load): Promise<number> {
  await resetPeak(pid);
  const before = await residentMb(pid);
  const text = await run(cell);
  if (!answer.test(text)) {
    throw new Error(`the cell answered ${text.slice(-100)}`);
  }
  return (await peakMb(pid)) - before;
}

function toRows({ figure, bytes, capBytes, capName }: Load, timeMs: number, growthMb: number): Row[] {
  const growth: Quantity = { value: growthMb, unit: 'MB' };
  const cap = capBytes / MEGABYTE;
  return [
    { figure, measured: { value: timeMs, unit: 'ms' }, goals: [{ text: 'succeeds', isMet: true }] },
    {
      figure: `${figure}: growth of the bridge's memory, highest`,
      measured: growth,
      floor: { value: bytes / MEGABYTE, unit: 'MB', what: 'the data itself' },
      goals: [
        {
          text: `≤ ${GROWTH_FACTOR} × ${cap.toFixed(1)} MB, ${capName}`,
          isMet: growth.value <= GROWTH_FACTOR * cap,
        },
      ],
    },
  ];
}
