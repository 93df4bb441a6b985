/** Time from spawning the bridge to its tool list, compared with an empty Node process. Needs no engine. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { atMost, atMostTimes, type Measure, type Quantity } from '../rows.ts';
import { withFolder } from '../support/folder.ts';
import { interleave, median, percentile, timed } from '../support/statistics.ts';

const ROUNDS = 25;

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
};
const INITIALIZED = { jsonrpc: '2.0', method: 'notifications/initialized' };
const LIST_TOOLS = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} };

export const startUp: Measure = {
  name: 'start-up',
  title: 'start-up',
  isForAllEngines: true,
  run: (context) =>
    withFolder(async (folder) => {
      const samples = await interleave(context.repeats(ROUNDS), {
        bridge: () => timeToTools(context.script, folder),
        bare: () => timed(runBareNode),
      });
      const measured: Quantity = { value: median(samples.bridge), unit: 'ms' };
      const floor: Quantity = { value: median(samples.bare), unit: 'ms' };
      return [
        {
          figure: 'spawn to the answer to `tools/list`',
          measured,
          detail: `p95 ${percentile(samples.bridge, 0.95).toFixed(0)} ms`,
          floor: { ...floor, what: '`node -e 0`' },
          goals: [atMost(measured, 150), atMostTimes(measured, floor, 2)],
        },
      ];
    }),
};

interface StartOptions {
  /** For Node. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Milliseconds to the answer. Writes JSON-RPC directly, so a client's startup does not count. */
export async function timeToTools(
  script: string,
  stateFolder: string,
  { flags = [], env = {} }: StartOptions = {},
): Promise<number> {
  const start = performance.now();
  const child = spawn(process.execPath, [...flags, script], {
    env: { ...process.env, MCP_BRIDGE_STATE_DIR: stateFolder, ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const send = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`);
  send(INITIALIZE);
  await lines.next();
  send(INITIALIZED);
  send(LIST_TOOLS);
  const { value } = await lines.next();
  const time = performance.now() - start;
  child.stdin.end();
  await ended;
  if (!String(value).includes('run_python')) {
    throw new Error(`the bridge answered ${String(value).slice(0, 200)}`);
  }
  return time;
}

async function runBareNode(): Promise<void> {
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'close');
}
