/**
 * `npm run lab -- profile WORKLOAD`: where the time of a warm cell, of one call, of 1,000 concurrent calls, of a large result and of a
 * first cell goes. Of the first three, prints the CPU time of each process, that of the bridge by source file, what the bridge allocates, the profile of
 * the kernel, and the system calls of all. For engineers who make them cheaper; docs/internals/performance.md has the tables.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { messageOf } from '../../src/core/base/errors.ts';
import { type BenchContext, createContext } from '../context.ts';
import { parseOptions } from '../options.ts';
import { type Bridge, withBridge } from '../support/bridge.ts';
import { withFolder } from '../support/folder.ts';
import { ECHO } from '../support/servers.ts';
import { profileFirstCell } from './first.ts';
import { profileLargeResult } from './large.ts';
import { readProfiles, type Times } from './parts.ts';
import { BEGIN_PROFILE, endProfile, WORKLOADS, type Workload } from './workloads.ts';

/** Profiles that look at one thing from start to end. */
const PARTS_OF: Readonly<Record<string, (context: BenchContext) => Promise<void>>> = {
  large: profileLargeResult,
  first: profileFirstCell,
};
const SHOWN = 25;
/** For V8 to compile the hot code, which is not what is measured. */
const WARM_UP_CELLS = 5;
const SERVERS = { servers: { echo: ECHO } };

async function main(argv: readonly string[]): Promise<void> {
  const [name = '', ...rest] = argv;
  const workload = WORKLOADS[name];
  const profile = workload === undefined ? PARTS_OF[name] : (context: BenchContext) => profileAll(context, workload);
  if (profile === undefined) {
    const names = [...Object.keys(WORKLOADS), ...Object.keys(PARTS_OF)].join('|');
    throw new Error(`usage: npm run lab -- profile ${names} [--engine NAME] [--command FILE]`);
  }
  await profile(await createContext(parseOptions(rest)));
}

async function profileAll(context: BenchContext, workload: Workload): Promise<void> {
  await measureProcesses(context, workload);
  await profileBridge(context, workload);
  await profileAllocations(context, workload);
  await profileKernel(context, workload);
  await countSystemCalls(context, workload).catch((error: unknown) => {
    console.log(`System calls: not counted, ${messageOf(error)}`);
  });
}

async function runCells({ run }: Bridge, { code }: Workload, cells: number): Promise<void> {
  for (let cell = 0; cell < cells; cell += 1) {
    await run(code, { servers: ['echo'] });
  }
}

async function profileBridge(context: BenchContext, workload: Workload): Promise<void> {
  const { cells, perCell, unit } = workload;
  await withFolder(async (folder) => {
    const nodeArguments = ['--cpu-prof', `--cpu-prof-dir=${folder}`];
    await withBridge(context, { ...SERVERS, nodeArguments }, (bridge) => runCells(bridge, workload, cells));
    const { bySource, byFunction } = await readProfiles(folder);
    console.log(`The bridge: own CPU time in µs for each ${unit}, including its start\n`);
    print(bySource, cells * perCell);
    print(byFunction, cells * perCell);
  });
}

async function profileAllocations(context: BenchContext, workload: Workload): Promise<void> {
  const { cells, perCell, unit } = workload;
  console.log(`The bridge: bytes allocated for each ${unit}, including its start, by function of the build\n`);
  const nodeArguments = ['--import', new URL('allocations.mjs', import.meta.url).href];
  await withFolder(async (folder) => {
    const env = { PROFILED_UNITS: String(cells * perCell), PROFILED_FILE: join(folder, 'allocations') };
    await withBridge(context, { ...SERVERS, env, nodeArguments }, (bridge) => runCells(bridge, workload, cells));
    console.log(await readFile(env.PROFILED_FILE, 'utf8'));
  });
}

function print(times: Times, count: number): void {
  for (const [part, ms] of times.filter(([known]) => known !== '(idle)').slice(0, SHOWN)) {
    console.log(`${((ms * 1000) / count).toFixed(1).padStart(8)}  ${part}`);
  }
  console.log();
}

async function profileKernel(context: BenchContext, workload: Workload): Promise<void> {
  const { cells, perCell, unit } = workload;
  await withBridge(context, SERVERS, async (bridge) => {
    await runCells(bridge, workload, WARM_UP_CELLS);
    await bridge.run(BEGIN_PROFILE, { servers: ['echo'] });
    await runCells(bridge, workload, cells);
    console.log(`The main thread of the kernel, for each ${unit}; slower than without a profile\n`);
    console.log(await bridge.run(endProfile(cells * perCell), { servers: ['echo'] }));
  });
}

/** CPU time of the bridge and of everything that it started, which tells more than wall time on a machine with other work. */
async function measureProcesses(context: BenchContext, workload: Workload): Promise<void> {
  const { cells, perCell, unit } = workload;
  await withBridge(context, SERVERS, async (bridge) => {
    await runCells(bridge, workload, WARM_UP_CELLS);
    const before = await withDescendants(bridge.pid);
    await runCells(bridge, workload, cells);
    const after = await withDescendants(bridge.pid);
    console.log(`CPU time in µs for each ${unit}, by process\n`);
    for (const { pid, command, cpuMs } of after) {
      const used = cpuMs - (before.find((one) => one.pid === pid)?.cpuMs ?? 0);
      console.log(`${((used * 1000) / (cells * perCell)).toFixed(1).padStart(8)}  ${command}`);
    }
    console.log();
  });
}

/** Attaches `strace` to the bridge and to everything that it started. */
async function countSystemCalls(context: BenchContext, workload: Workload): Promise<void> {
  const { perCell, unit } = workload;
  const cells = Math.min(workload.cells, 10);
  await withFolder((folder) =>
    withBridge(context, SERVERS, async (bridge) => {
      await runCells(bridge, workload, WARM_UP_CELLS);
      const processes = await withDescendants(bridge.pid);
      const traces = processes.map(({ pid }) => join(folder, String(pid)));
      const traced = processes.map(({ pid }, index) =>
        spawn('strace', ['-f', '-c', '-o', traces[index] ?? '', '-p', String(pid)], { stdio: 'ignore' }),
      );
      // From now on, because one whose process has just ended ends at once.
      const ended = traced.map((child) => once(child, 'exit'));
      await Promise.all(traced.map((child) => once(child, 'spawn')));
      await wait(1_000); // strace does not say when it has attached.
      await runCells(bridge, workload, cells);
      traced.forEach((child) => child.kill('SIGINT'));
      await Promise.all(ended);
      for (const [index, { command }] of processes.entries()) {
        console.log(`System calls of ${command}, for ${cells * perCell} of: ${unit}\n`);
        console.log(await readFile(traces[index] ?? '', 'utf8').catch(() => 'It has ended.'));
      }
    }),
  );
}

interface Process {
  readonly pid: number;
  readonly command: string;
  readonly cpuMs: number;
}

/** The unit of times in the files `stat` of processes (see proc_pid_stat; 100 a second on every Linux that Node runs on). */
const TICK_MS = 10;

/** The process and its descendants. */
async function withDescendants(root: number): Promise<Process[]> {
  const parents = new Map<number, number>();
  const ticks = new Map<number, number>();
  for (const name of (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))) {
    const status = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    // The name of the program, in brackets, may contain anything.
    const fields = status.slice(status.lastIndexOf(')')).split(' ');
    parents.set(Number(name), Number(fields[2]));
    ticks.set(Number(name), Number(fields[12]) + Number(fields[13]));
  }
  const found = [root];
  for (const pid of found) {
    found.push(...[...parents].filter(([, parent]) => parent === pid).map(([child]) => child));
  }
  return Promise.all(
    found.map(async (pid) => ({
      pid,
      cpuMs: (ticks.get(pid) ?? 0) * TICK_MS,
      command: (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').slice(0, 100),
    })),
  );
}

await main(process.argv.slice(2));
