/**
 * The first cell of a session that works with pandas, after an earlier one has: its sandbox was started ahead and has imported it.
 * The floor is the import alone, in a session whose sandbox has not. On an engine without containers, the host's Python needs pandas.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { TEST_IMAGES } from '../../test/support/engines.ts';
import type { BenchContext } from '../context.ts';
import { atMost, type Measure, type Quantity, type Row } from '../rows.ts';
import { type Bridge, withBridge } from '../support/bridge.ts';
import { withFolder } from '../support/folder.ts';
import { interleave, median, timed } from '../support/statistics.ts';

const ROUNDS = 9;
/** Longer than a sandbox needs to start and to import all of that, and shorter than an agent needs to write its first cell. */
const THINKING_MS = 8_000;
const MAX_FIRST_CELL_MS = 100;
const IMPORTS = 'import numpy, pandas as pd, matplotlib.pyplot';
const CELL = 'import pandas as pd\npd.DataFrame({"a": [1, 2], "b": ["x", "y"]})';
const OWN_MEMORY =
  'print("kibibytes:", sum(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(("RssAnon", "RssShmem"))))';

export const readyData: Measure = {
  name: 'ready-data',
  title: 'first cell that imports pandas',
  run: (context) => withFolder((stateFolder) => measure(context, stateFolder)),
};

async function measure(context: BenchContext, stateFolder: string): Promise<Row[]> {
  let engine = '';
  const times = { ahead: [] as number[], plain: [] as number[] };
  const megabytes = { ahead: [] as number[], plain: [] as number[] };
  const withImports = (mode: string, use: (bridge: Bridge) => Promise<void>) =>
    withBridge(
      context,
      { stateFolder, image: TEST_IMAGES.datascience, env: { MCP_BRIDGE_PREWARM_IMPORTS: mode } },
      async (bridge) => {
        await bridge.client.listTools();
        await sleep(THINKING_MS);
        await use(bridge);
        engine = bridge.engine();
        return 0;
      },
    );
  // The first bridge compiles and stores code, and learns what is imported.
  await withImports('recent', async ({ run }) => void (await run(IMPORTS)));
  await interleave(context.repeats(ROUNDS), {
    ahead: () =>
      withImports('recent', async ({ run }) => {
        times.ahead.push(await timed(() => run(CELL)));
        megabytes.ahead.push(await ownMemory(run));
      }).then(() => 0),
    plain: () =>
      withImports('off', async ({ run }) => {
        megabytes.plain.push(await ownMemory(run));
        times.plain.push(await timed(() => run(CELL)));
      }).then(() => 0),
  });
  const measured: Quantity = { value: median(times.ahead), unit: 'ms' };
  const without: Quantity = { value: median(megabytes.plain), unit: 'MB' };
  return [
    {
      figure: '`import pandas` and a small frame, first cell after 8 s',
      engine,
      measured,
      detail: `best ${Math.min(...times.ahead).toFixed(0)} ms`,
      floor: {
        value: median(times.plain),
        unit: 'ms',
        what: 'the same in a session whose sandbox has not imported it',
      },
      goals: [atMost(measured, MAX_FIRST_CELL_MS)],
    },
    {
      figure: 'own memory of a sandbox that has imported numpy, pandas and pyplot',
      engine,
      measured: { value: median(megabytes.ahead), unit: 'MB' },
      floor: { ...without, what: 'one that has imported nothing' },
      goals: [],
    },
  ];
}

async function ownMemory(run: Bridge['run']): Promise<number> {
  const [, kibibytes] = /kibibytes: (\d+)/.exec(await run(OWN_MEMORY)) ?? [];
  return (Number(kibibytes) * 1024) / 1e6;
}
