/**
 * The first cell after the client has listed the tools and the agent has thought, that of another session later, and the first after
 * a loss, compared with a bare start of the engine. A bridge may have a sandbox in standby by then; these figures show what that
 * saves, with the settings as they are by default.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchContext } from '../context.ts';
import { atMost, type Measure, type Quantity, type Row } from '../rows.ts';
import { type Bridge, firstCell, withBridge } from '../support/bridge.ts';
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
  let engine = '';
  const times = { first: [] as number[], lost: [] as number[], later: [] as number[], atOnce: [] as number[] };
  const bridge = () =>
    withBridge(context, { stateFolder }, async (opened) => {
      await opened.client.listTools();
      await sleep(THINKING_MS);
      times.first.push(await firstCell(opened, 'first'));
      engine = opened.engine();
      await loseSandbox(opened, 'first');
      await sleep(THINKING_MS);
      times.lost.push(await firstCell(opened, 'first'));
      await sleep(THINKING_MS);
      times.later.push(await firstCell(opened, 'later'));
      // Comes at once, so nothing can be in standby unless it was made during the cell before.
      times.atOnce.push(await firstCell(opened, 'at-once'));
      return 0;
    });
  await bridge(); // Compiles and stores code.
  Object.values(times).forEach((samples) => samples.splice(0));
  const { bare } = await interleave(context.repeats(ROUNDS), {
    bridge,
    bare: async () =>
      runsCommands ? timed(() => runToEnd(context, context.images.usual.name, 'pass', { engine: 'any' })) : [],
  });
  const floor = bare.length === 0 ? undefined : { value: median(bare), unit: 'ms' as const };
  const row = (figure: string, samples: readonly number[]): Row => toRow(figure, engine, samples, floor);
  return [
    withGoal(row('first cell after `tools/list` and 3 s', times.first)),
    withGoal(row('first cell of a session that lost its sandbox, 3 s later', times.lost)),
    withGoal(row('first cell of another session, 3 s later', times.later)),
    // By default, one sandbox is in standby, so this has no goal.
    row('first cell of yet another session, at once', times.atOnce),
  ];
}

/** Ends the process of a session's code, as a crash would. */
async function loseSandbox({ run }: Bridge, session: string): Promise<void> {
  const ended = await run('import os\nos._exit(1)', { session }).then(
    () => false,
    () => true,
  );
  if (!ended) {
    throw new Error('the session did not lose its sandbox');
  }
}

function toRow(figure: string, engine: string, times: readonly number[], floor: Quantity | undefined): Row {
  return {
    figure,
    engine,
    measured: { value: median(times), unit: 'ms' },
    detail: `best ${Math.min(...times).toFixed(0)} ms`,
    ...(floor !== undefined && { floor: { ...floor, what: 'a bare start of the engine, `python3 -c pass`' } }),
    goals: [],
  };
}

function withGoal(row: Row): Row {
  const { measured } = row;
  return { ...row, goals: measured === undefined ? [] : [atMost(measured, MAX_FIRST_CELL_MS)] };
}
