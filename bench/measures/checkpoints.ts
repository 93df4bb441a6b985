/**
 * Checkpoints: what they cost cells, and saving and restoring 100 MB compared with a bare container that writes so much to a file
 * on the host, or reads it from there, through the same pipe.
 */
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { residentBytes } from '../../test/support/faults/probe.ts';
import type { BenchContext } from '../context.ts';
import { atMost, atMostTimes, type Goal, type Measure, type Quantity, type Row } from '../rows.ts';
import { type Bridge, withBridge } from '../support/bridge.ts';
import { runToEnd } from '../support/containers.ts';
import { withFolder } from '../support/folder.ts';
import { interleave, median, timed, timedEach } from '../support/statistics.ts';

const TRIP_ROUNDS = 25;
const CELLS_PER_ROUND = 100;
const LARGE_ROUNDS = 7;
const LARGE_MB = 100;
const MIB = 1024 * 1024;
const MAKE = `import os\ndata = os.urandom(${LARGE_MB} * 1_000_000)\nrows = [{"n": n, "text": str(n)} for n in range(50_000)]`;

const WRITE = `import os, sys\ndata = os.urandom(1_000_000)\nfor _ in range(${LARGE_MB}):\n    sys.stdout.buffer.write(data)`;
const READ = 'import sys\nwhile sys.stdin.buffer.read(1_000_000):\n    pass';

export const checkpoints: Measure = {
  name: 'checkpoints',
  title: 'checkpoints',
  async run(context) {
    return [await measureTrips(context), ...(await measureLarge(context))];
  },
};

function measureTrips(context: BenchContext): Promise<Row> {
  return withBridge(context, {}, (on) =>
    withBridge(context, { env: { MCP_BRIDGE_CHECKPOINT: 'off' } }, async (off) => {
      for (const bridge of [on, off]) {
        await bridge.run(MAKE.replace(String(LARGE_MB), '1'));
        await timedEach(CELLS_PER_ROUND, () => bridge.run('x=1'));
      }
      const samples = await interleave(context.repeats(TRIP_ROUNDS), {
        on: () => timedEach(CELLS_PER_ROUND, () => on.run('x=1')),
        off: () => timedEach(CELLS_PER_ROUND, () => off.run('x=1')),
      });
      const measured: Quantity = { value: mean(samples.on), unit: 'ms' };
      const floor: Quantity = { value: mean(samples.off), unit: 'ms' };
      return {
        figure: 'warm `run_python("x=1")` with checkpoints, mean',
        engine: on.engine(),
        measured,
        detail: `p50 ${median(samples.on).toFixed(2)} ms, without ${median(samples.off).toFixed(2)} ms`,
        floor: { ...floor, what: 'the same with `MCP_BRIDGE_CHECKPOINT=off`' },
        goals: [atMostTimes(measured, floor, 1.05)],
      };
    }),
  );
}

function measureLarge(context: BenchContext): Promise<Row[]> {
  return withFolder((folder) =>
    withBridge(context, { stateFolder: folder }, async (bridge) => {
      const { name: image } = context.images.usual;
      const file = join(folder, 'raw');
      await writeFile(file, Buffer.alloc(LARGE_MB * 1_000_000, 7));
      const grown: number[] = [];
      let [count, bytes] = [0, 0];
      const restores: number[] = [];
      const samples = await interleave(context.repeats(LARGE_ROUNDS), {
        bare: () => timed(() => runToEnd(context, image, 'pass')),
        write: () => timed(() => runToEnd(context, image, WRITE, { output: join(folder, 'written') })),
        read: () => timed(() => runToEnd(context, image, READ, { input: file })),
        file: () => timed(() => writeFile(join(folder, 'plain'), Buffer.alloc(LARGE_MB * 1_000_000, 7))),
        save: async () => {
          const session = `large-${(count += 1)}`;
          await bridge.run(MAKE, { session });
          const before = residentBytes(bridge.pid);
          const time = await timed(() => bridge.run('runtime.checkpoint()', { session }));
          grown.push((residentBytes(bridge.pid) - before) / MIB);
          bytes = await largestCheckpoint(folder);
          restores.push(await restore(bridge, session));
          return time;
        },
      });
      const start = median(samples.bare);
      const engine = bridge.engine();
      const row = (what: string, measured: number, moved: number): Row => {
        const quantity: Quantity = { value: measured, unit: 'ms' };
        const goal: Goal = {
          text: '≤ 1.5 × moving it + the start',
          isMet: measured <= 1.5 * (moved - start) + start,
        };
        return {
          figure: `${what} a session of ${LARGE_MB} MB`,
          engine,
          measured: quantity,
          detail: `a bare start ${start.toFixed(0)} ms; a plain file ${median(samples.file).toFixed(0)} ms`,
          floor: { value: moved, unit: 'ms', what: 'a bare container that starts and moves it through its pipe' },
          goals: [goal],
        };
      };
      const growth: Quantity = { value: Math.max(...grown), unit: 'MB' };
      return [
        row('saving', median(samples.save), median(samples.write)),
        row('restoring', median(restores), median(samples.read)),
        {
          figure: 'size of its checkpoint',
          engine,
          measured: { value: bytes / 1e6, unit: 'MB' },
          floor: { value: LARGE_MB, unit: 'MB', what: 'the bytes of its largest value' },
          goals: [],
        },
        {
          figure: `growth of the bridge while it saves ${LARGE_MB} MB`,
          engine,
          measured: growth,
          goals: [atMost(growth, 64)],
        },
      ];
    }),
  );
}

async function largestCheckpoint(folder: string): Promise<number> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.checkpoint'));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return Math.max(...sizes);
}

/** The time of the first cell after the sandbox has died. */
async function restore(bridge: Bridge, session: string): Promise<number> {
  await bridge.run('os._exit(0)', { session }).catch(() => undefined);
  const time = await timed(() => bridge.run('len(data)', { session }));
  await bridge.run('runtime.reset()', { session });
  return time;
}

function mean(samples: readonly number[]): number {
  return samples.reduce((sum, sample) => sum + sample, 0) / samples.length;
}
