/** The memory of an idle bridge and its session. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchContext } from '../context.ts';
import { atMost, type Measure, type Quantity, type Row } from '../rows.ts';
import { withBridge } from '../support/bridge.ts';
import { withContainer } from '../support/containers.ts';
import { descendants, proportionalMb, residentMb } from '../support/process-memory.ts';

/** The bridge collects garbage once it has been idle for 3 s, and V8 gives the space of young objects back 8 s after that. */
const REST_MS = 15_000;
const SESSION = `bench-${process.pid}`;
/** Without asyncio, there are no calls to await. */
const IDLE_PYTHON = 'import asyncio, sys\nsys.stdin.read()';
const IDLE_NODE = 'process.stdin.resume()';

export const idleMemory: Measure = {
  name: 'idle-memory',
  title: 'idle memory',
  async run(context) {
    // Sequentially, because processes that share pages would make each other look smaller.
    context.containerEngine(); // Fails before the first figure is measured.
    const bridge = await measureBridge(context);
    const python = await withContainer(context, IDLE_PYTHON, async ({ id }) => memoryOfContainer(context, id));
    const node = await measureNode();
    return toRows(bridge, python, node);
  },
};

interface BridgeMemory {
  readonly engine: string;
  readonly bridgeMb: number;
  readonly sessionMb: number;
  readonly clientMb: number;
}

function measureBridge(context: BenchContext): Promise<BridgeMemory> {
  return withBridge(context, {}, async ({ pid, run, engine }) => {
    // The first session on an image compiles code that later ones get from the host, and keeps some of that memory.
    await run('x=1\nruntime.reset()');
    await run('x=1', { session: SESSION });
    await sleep(REST_MS);
    const filter = `label=mcp-server-code-execution-mode.session=${SESSION}`;
    const { stdout } = await context.engine().run('ps', '--quiet', '--filter', filter);
    const clients = await descendants(pid);
    return {
      engine: engine(),
      bridgeMb: await residentMb(pid),
      sessionMb: await memoryOfContainer(context, stdout.trim()),
      clientMb: sum(await Promise.all(clients.map(proportionalMb))),
    };
  });
}

/** Proportional memory of all processes in a container. Rejects if its processes are not on this machine. */
async function memoryOfContainer(context: BenchContext, id: string): Promise<number> {
  const { stdout } = await context.engine().run('inspect', '--format', '{{.State.Pid}}', id);
  const pid = Number(stdout.trim());
  const inside = [pid, ...(await descendants(pid))];
  return sum(await Promise.all(inside.map(proportionalMb)));
}

async function measureNode(): Promise<number> {
  const child = spawn(process.execPath, ['-e', IDLE_NODE], { stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = once(child, 'close');
  await sleep(REST_MS);
  const memory = await residentMb(child.pid ?? 0);
  child.stdin.end();
  await ended;
  return memory;
}

function toRows({ engine, bridgeMb, sessionMb, clientMb }: BridgeMemory, pythonMb: number, nodeMb: number): Row[] {
  const bridge: Quantity = { value: bridgeMb, unit: 'MB' };
  const session: Quantity = { value: sessionMb, unit: 'MB' };
  return [
    {
      figure: 'idle bridge with one session, resident',
      engine,
      measured: bridge,
      floor: { value: nodeMb, unit: 'MB', what: 'idle `node -e`' },
      goals: [atMost(bridge, 95)],
    },
    {
      figure: 'idle session: supervisor and worker, proportional',
      engine,
      measured: session,
      floor: { value: pythonMb, unit: 'MB', what: 'idle `python3` with asyncio, same image' },
      goals: [atMost(session, 25)],
    },
    {
      figure: "the engine's client for that session, proportional",
      engine,
      measured: { value: clientMb, unit: 'MB' },
      goals: [],
    },
  ];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
