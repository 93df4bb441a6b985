/** Large results and floods of output, beside what they take without the bridge: their time, and how far the host's memory grows. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { BenchContext } from '../context.ts';
import { atMost, type Measure, type Quantity, type Row, rowsOrReason } from '../rows.ts';
import { type Bridge, withBridge } from '../support/bridge.ts';
import { peakMb, resetPeak, residentMb } from '../support/process-memory.ts';
import { HUGE } from '../support/servers.ts';
import { interleave, median, timed } from '../support/statistics.ts';

const MIB = 1024 * 1024;
const MEGABYTE = 1_000_000;
const ROUNDS = 5;
const LINE_FEED = 0x0a;

interface Load {
  readonly figure: string;
  readonly cell: string;
  /** The cell's answer if all data arrived. */
  readonly answer: RegExp;
  readonly bytes: number;
  /** The same without the bridge. */
  readonly floor: { readonly what: string; readonly run: () => Promise<number> };
  readonly maxMs?: number;
  /** How far the memory of the bridge may grow. */
  readonly maxGrowthMb: number;
}

const LOADS: readonly Load[] = [
  {
    figure: '64 MiB tool result into code',
    cell: 'len(await mcp_huge.text(mib=64))',
    answer: new RegExp(`^${64 * MIB}$`),
    bytes: 64 * MIB,
    floor: { what: 'request to last byte, from the same server', run: () => askServer(64) },
    maxMs: 700,
    maxGrowthMb: (2 * 64 * MIB) / MEGABYTE,
  },
  {
    figure: '100 MiB printed',
    cell: `for _ in range(100): print("x" * ${MIB - 1})\nprint("done")`,
    answer: /done$/,
    bytes: 100 * MIB,
    floor: { what: 'as many bytes through a pipe', run: () => sendThroughPipe(100 * MIB) },
    maxGrowthMb: (10 * MIB) / MEGABYTE,
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
    const samples = await interleave(context.repeats(ROUNDS), {
      cell: () => timed(async () => growths.push(await growthOf(bridge, load))),
      floor: load.floor.run,
    });
    const rows = toRows(load, samples, Math.max(...growths));
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

/** Milliseconds from the request to the last byte of the answer, which nobody parses. */
export async function askServer(mib: number): Promise<number> {
  const server = spawn(HUGE.command, HUGE.args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(server, 'close');
  const ask = (id: number, params: unknown) => {
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
    return readLine(server.stdout);
  };
  await ask(1, { name: 'echo', arguments: { text: 'x' } }); // It has started.
  const time = await timed(() => ask(2, { name: 'text', arguments: { mib } }));
  server.stdin.end();
  await ended;
  return time;
}

/** Reads to the end of a line. The server waits for the next request then. */
function readLine(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    stream.on('data', function take(chunk: Buffer) {
      if (chunk.at(-1) === LINE_FEED) {
        stream.off('data', take);
        resolve();
      }
    });
  });
}

/** Milliseconds to read `bytes` zeros from another process. */
function sendThroughPipe(bytes: number): Promise<number> {
  return timed(() => readZeros(bytes));
}

async function readZeros(bytes: number): Promise<void> {
  const head = spawn('head', ['--bytes', String(bytes), '/dev/zero'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(head, 'close');
  let read = 0;
  for await (const chunk of head.stdout as AsyncIterable<Buffer>) {
    read += chunk.length;
  }
  await ended;
  if (read !== bytes) {
    throw new Error(`the pipe carried ${read} of ${bytes} bytes`);
  }
}

function toRows(
  { figure, bytes, floor, maxMs, maxGrowthMb }: Load,
  samples: { readonly cell: readonly number[]; readonly floor: readonly number[] },
  growthMb: number,
): Row[] {
  const time: Quantity = { value: median(samples.cell), unit: 'ms' };
  const growth: Quantity = { value: growthMb, unit: 'MB' };
  return [
    {
      figure,
      measured: time,
      floor: { value: median(samples.floor), unit: 'ms', what: floor.what },
      goals: maxMs === undefined ? [] : [atMost(time, maxMs)],
    },
    {
      figure: `${figure}: growth of the bridge's memory, highest`,
      measured: growth,
      floor: { value: bytes / MEGABYTE, unit: 'MB', what: 'the data itself' },
      goals: [atMost(growth, Math.round(maxGrowthMb))],
    },
  ];
}
