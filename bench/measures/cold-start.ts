/** The first cell of a new session, compared with the engine's `run --rm` with the same flags. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchContext } from '../context.ts';
import { atMostTimes, type Measure, type Quantity, type Row, rowsOrReason } from '../rows.ts';
import { firstCell, withBridge } from '../support/bridge.ts';
import { runToEnd } from '../support/containers.ts';
import { withFolder } from '../support/folder.ts';
import { interleave, median, timed } from '../support/statistics.ts';

const ROUNDS = 15;
const FRESH_ROUNDS = 7;
/** An agent thinks at least this long before its first call, while the bridge loads its modules. */
const THINKING_MS = 1_000;

export const coldStart: Measure = {
  name: 'cold-start',
  title: 'first cell',
  async run(context) {
    const { usual, compiled } = context.images;
    const figures = {
      usual: `first cell of a new session, ${usual.title}`,
      compiled: `first cell of a new session, ${compiled.title}`,
      fresh: `first cell of a new bridge, ${usual.title}`,
    };
    return [
      ...(await rowsOrReason(figures.usual, () => measureImage(context, figures.usual, usual.name))),
      ...(await rowsOrReason(figures.compiled, () => measureImage(context, figures.compiled, compiled.name))),
      ...(await rowsOrReason(figures.fresh, () => measureFresh(context, figures.fresh, usual.name))),
    ];
  },
};

async function measureImage(context: BenchContext, figure: string, image: string): Promise<Row[]> {
  return withBridge(context, { image }, async (bridge) => {
    await firstCell(bridge, 'warm-up'); // Gives the host the code pack.
    let count = 0;
    const samples = await interleave(context.repeats(ROUNDS), {
      bridge: () => firstCell(bridge, `cold-${(count += 1)}`),
      bare: () => timed(() => runToEnd(context, image, 'pass')),
    });
    return [besideBare(figure, bridge.engine(), samples.bridge, samples.bare)];
  });
}

/** Two bridges per round: the first has no code pack for the image, the second finds the one from the first. */
async function measureFresh(context: BenchContext, figure: string, image: string): Promise<Row[]> {
  let [folder, engine] = ['', ''];
  const freshBridge = () =>
    withBridge(context, { image, stateFolder: folder }, async (bridge) => {
      await bridge.client.listTools();
      await sleep(THINKING_MS);
      const time = await firstCell(bridge, 'default');
      engine = bridge.engine();
      return time;
    });
  const rounds = Array.from({ length: context.repeats(FRESH_ROUNDS) });
  const samples = { first: [] as number[], second: [] as number[], bare: [] as number[] };
  for (const _ of rounds) {
    await withFolder(async (path) => {
      folder = path;
      const round = await interleave(1, {
        first: freshBridge,
        second: freshBridge,
        bare: () => timed(() => runToEnd(context, image, 'pass')),
      });
      samples.first.push(...round.first);
      samples.second.push(...round.second);
      samples.bare.push(...round.bare);
    });
  }
  const veryFirst = besideBare(
    'very first cell on an image (compiles and stores code)',
    engine,
    samples.first,
    samples.bare,
  );
  return [besideBare(figure, engine, samples.second, samples.bare), { ...veryFirst, goals: [] }];
}

function besideBare(figure: string, engine: string, bridge: readonly number[], bare: readonly number[]): Row {
  const measured: Quantity = { value: median(bridge), unit: 'ms' };
  const floor: Quantity = { value: median(bare), unit: 'ms' };
  return {
    figure,
    engine,
    measured,
    detail: `best ${Math.min(...bridge).toFixed(0)} ms`,
    floor: { ...floor, what: '`run --rm`, same flags, `python3 -c pass`' },
    goals: [atMostTimes(measured, floor, 0.9)],
  };
}
