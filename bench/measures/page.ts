/** The page of `ui` beside ten bridges and a log of 100,000 calls: how soon it is there, and how fast it searches, next to `grep`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Page } from 'playwright-core';
import { findChromium, startChromium } from '../../test/support/chromium.ts';
import { makeHistory, writeHistory } from '../../test/support/history-log.ts';
import type { BenchContext } from '../context.ts';
import { atMost, type Measure, type Quantity, type Row } from '../rows.ts';
import { type Bridge, withBridge } from '../support/bridge.ts';
import { withFolder } from '../support/folder.ts';
import { median, percentile } from '../support/statistics.ts';
import { grep, LARGE_LOG, timeOf } from './history.ts';

const ROUNDS = 9;
const TEXT = 'filter tickets';
const QUERIES = [
  'text=nothing+contains+this',
  'text=FILTER+tickets',
  'server=github&status=failed',
  'kind=cell&tool=list_rows',
];

export const page: Measure = {
  name: 'page',
  title: 'the page of `ui`',
  isForAllEngines: true,
  run: (context) =>
    withFolder(async (folder) => {
      writeHistory(join(folder, 'audit'), makeHistory(LARGE_LOG));
      return withBridges(context, folder, LARGE_LOG.bridges, () => measure(context, folder));
    }),
};

/** They run no cell, so they need no engine. */
async function withBridges<Result>(
  context: BenchContext,
  stateFolder: string,
  count: number,
  use: () => Promise<Result>,
): Promise<Result> {
  if (count === 0) {
    return use();
  }
  return withBridge(context, { stateFolder, env: { MCP_BRIDGE_PREWARM: '0' } }, async ({ client }: Bridge) => {
    await client.listTools();
    return withBridges(context, stateFolder, count - 1, use);
  });
}

async function measure(context: BenchContext, folder: string): Promise<Row[]> {
  const path = findChromium();
  if (path === undefined) {
    throw new Error('needs Chromium');
  }
  const browser = await startChromium(path);
  const ui = await startUi(context, folder);
  try {
    const { hash, origin } = new URL(ui.address);
    const headers = { Authorization: `Bearer ${hash.slice('#token='.length)}` };
    await untilBridgesListen(`${origin}/api/overview`, headers);
    const opened: number[] = [];
    const searched: number[] = [];
    const read: number[] = [];
    for (let round = 0; round < context.repeats(ROUNDS); round += 1) {
      read.push(await timeOf(() => grep(join(folder, 'audit'), '-i', TEXT)));
      const shown = await (await browser.newContext()).newPage();
      opened.push(await timeOf(() => open(shown, ui.address)));
      await shown.context().close();
      for (const query of QUERIES) {
        searched.push(await timeOf(async () => (await fetch(`${origin}/api/history?${query}`, { headers })).text()));
      }
    }
    return rowsOf({ opened, searched, read });
  } finally {
    await browser.close();
    await ui.close();
  }
}

/** Until it shows all bridges. */
async function open(shown: Page, address: string): Promise<void> {
  await shown.goto(address, { waitUntil: 'commit' });
  await shown
    .locator('.bridge')
    .nth(LARGE_LOG.bridges - 1)
    .waitFor();
}

function rowsOf({ opened, read, searched }: Readonly<Record<'opened' | 'searched' | 'read', number[]>>): Row[] {
  const [open_, search] = [ms(median(opened)), ms(percentile(searched, 0.95))];
  const calls = LARGE_LOG.calls.toLocaleString('en-US');
  return [
    {
      figure: `opening the page, ${LARGE_LOG.bridges} bridges and ${calls} calls`,
      measured: open_,
      detail: `longest ${Math.max(...opened).toFixed(0)} ms`,
      floor: { ...ms(median(read)), what: '`grep -i` for a text in the log' },
      goals: [atMost(open_, 1_000)],
    },
    {
      figure: `search over the API of the page in ${calls} calls, p95`,
      measured: search,
      detail: `p50 ${median(searched).toFixed(1)} ms`,
      floor: { ...ms(median(read)), what: '`grep -i` for a text in the log' },
      goals: [atMost(search, 200)],
    },
  ];
}

const ms = (value: number): Quantity => ({ value, unit: 'ms' });

async function startUi(context: BenchContext, folder: string) {
  const env = { ...context.env, HOME: folder, MCP_BRIDGE_STATE_DIR: folder };
  const child: ChildProcess = spawn(process.execPath, [context.script, 'ui', '--no-open'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  if (child.stdout === null) {
    throw new Error('ui has no output');
  }
  const [address] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    address,
    async close() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** They listen a moment after their client has listed the tools. */
async function untilBridgesListen(overview: string, headers: Readonly<Record<string, string>>): Promise<void> {
  for (;;) {
    const { bridges } = (await (await fetch(overview, { headers })).json()) as { readonly bridges: readonly unknown[] };
    if (bridges.length === LARGE_LOG.bridges) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
