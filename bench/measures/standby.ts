/**
 * The first cell after the client has listed the tools and the agent has thought, compared with a bare start of the engine. A bridge
 * may have a sandbox in standby by then; these figures show what that saves, with the settings as they are by default.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchContext } from '../context.ts';
import { atMost, type Measure, type Quantity, type Row } from '../rows.ts';
import { firstCell, withBridge } from '../support/bridge.ts';
import { runToEnd } from '../support/containers.ts';
import { withFolder } from '../support/folder.ts';
import { interleave, median, timed } from '../support/statistics.ts';

const ROUNDS = 9;
/** Longer than any engine needs to start a sandbox, and shorter than an agent needs to read its task. */
const THINKING_MS = 3_000;
const MAX_FIRST_CELL_MS = 60;

export const standby: Measure = {
  name: 'standby',
  title: 'first cell after thinking',
  run: (context) => withFolder((stateFolder) => measure(context, stateFolder)),
};

async function measure(context: BenchContext, stateFolder: string): Promise<Row[]> {
  const { runsCommands } = context.engine();
  let [engine, count] = ['', 0];
  const later: number[] = [];
  const bridge = () =>
    withBridge(context, { stateFolder }, async (opened) => {
      await opened.client.listTools();
      await sleep(THINKING_MS);
      const time = await firstCell(opened, `first-${(count += 1)}`);
      engine = opened.engine();
      // The next session comes at once, so nothing can be in standby unless it was made during the first cell.
      later.push(await firstCell(opened, `later-${count}`));
      return time;
    });
  await bridge(); // Compiles and stores code.
  later.length = 0;
  const samples = await interleave(context.repeats(ROUNDS), {
    bridge,
    bare: async () =>
      runsCommands ? timed(() => runToEnd(context, context.images.usual.name, 'pass', { engine: 'any' })) : [],
  });
  const floor = samples.bare.length === 0 ? undefined : { value: median(samples.bare), unit: 'ms' as const };
  return [
    toRow('first cell after `tools/list` and 3 s', engine, samples.bridge, floor),
    toRow('first cell of the next session, at once', engine, later, floor),
  ];
}

function toRow(figure: string, engine: string, times: readonly number[], floor: Quantity | undefined): Row {
  const measured: Quantity = { value: median(times), unit: 'ms' };
  return {
    figure,
    engine,
    measured,
    detail: `best ${Math.min(...times).toFixed(0)} ms`,
    ...(floor !== undefined && { floor: { ...floor, what: 'a bare start of the engine, `python3 -c pass`' } }),
    goals: [atMost(measured, MAX_FIRST_CELL_MS)],
  };
}
