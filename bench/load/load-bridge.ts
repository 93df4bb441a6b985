/** The built bridge over HTTP with a token for each client, and steps of load on it. */
import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TokenFile } from '../../src/front/tokens/index.ts';
import { createRandom } from '../../test/soak/random.ts';
import type { TestEngine } from '../../test/support/engines.ts';
import { type HttpBridge, startHttpBridge } from '../../test/support/http-bridge.ts';
import { percentile } from '../support/statistics.ts';
import { SERVER } from './cells.ts';
import { emptyTally, LoadClient, type Tally } from './load-client.ts';
import { TreeClock } from './process-tree.ts';
import { type Step, timesOf } from './results.ts';

/** Starting sandboxes is work for every core; more at once would only make each start slower. */
const STARTS_AT_ONCE = 4;
/** Reading the times of hundreds of processes must not become load itself. */
const CLOCK_MS = 2_000;
const { resolve } = createRequire(import.meta.url);
const SERVER_PATH = resolve('@modelcontextprotocol/server-everything/dist/index.js');

/** Whether a process below the bridge is an MCP server. */
export function isServer(commandLine: string): boolean {
  return commandLine.includes(SERVER_PATH);
}

export interface LoadBridge {
  readonly bridge: HttpBridge;
  readonly pid: number;
  /** Connects further clients until there are `count`, each with a token of its own; returns all. */
  connect(count: number): Promise<readonly LoadClient[]>;
  /** Sessions with a sandbox, as its metrics say. */
  liveSandboxes(): Promise<number>;
}

interface Given {
  readonly engine: TestEngine;
  /** The most that will connect. */
  readonly clients: number;
  readonly maxSessions: number;
  readonly seed: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Passes `use` a bridge, and ends it with everything below it. */
export async function withLoadBridge<Result>(
  { engine, clients: most, maxSessions, seed, env = {} }: Given,
  use: (bridge: LoadBridge) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-load-'));
  const file = new TokenFile(folder);
  const tokens: string[] = [];
  for (let number = 0; number < most; number += 1) {
    tokens.push(await file.add(`client-${number}`, {}));
  }
  const bridge = await startHttpBridge({
    engine,
    folder,
    servers: { [SERVER]: { command: process.execPath, args: [SERVER_PATH, 'stdio'] } },
    env: { MCP_BRIDGE_MAX_SESSIONS: String(maxSessions), ...env },
  });
  const clients: LoadClient[] = [];
  try {
    return await use({
      bridge,
      pid: bridge.child.pid ?? 0,
      async connect(count) {
        while (clients.length < count) {
          const number = clients.length;
          const client = new LoadClient(`client-${number}`, createRandom(seed * 1_000 + number));
          clients.push(client);
          await client.connect(bridge, tokens[number] ?? '');
        }
        return clients.slice(0, count);
      },
      async liveSandboxes() {
        const { href } = new URL('/metrics', bridge.url);
        const response = await fetch(href, { headers: { Authorization: `Bearer ${tokens[0]}` } });
        const states = [...(await response.text()).matchAll(/^mcp_bridge_sessions\{.*\} (\d+)$/gm)];
        return states.reduce((sum, [, count]) => sum + Number(count), 0);
      },
    });
  } finally {
    await Promise.all(clients.map((client) => client.close().catch(() => undefined)));
    await bridge.stop();
    await bridge.remove();
  }
}

/** Starts the sessions of these clients, a few at a time, and no more than there may be sandboxes. */
export async function begin(clients: readonly LoadClient[], maxAtOnce = STARTS_AT_ONCE): Promise<void> {
  const waiting = [...clients];
  const startNext = async (): Promise<void> => {
    for (let client = waiting.shift(); client !== undefined; client = waiting.shift()) {
      await client.begin();
    }
  };
  await Promise.all(Array.from({ length: Math.min(STARTS_AT_ONCE, maxAtOnce) }, startNext));
}

export interface StepPlan {
  readonly title: string;
  readonly clients: number;
  readonly rate: number;
  readonly seconds: number;
}

/** Measures a step: `send` sends cells until the given time and resolves when all are answered. */
export async function runStep(
  { pid }: LoadBridge,
  { title, clients, rate, seconds }: StepPlan,
  send: (endMs: number, tally: Tally) => Promise<unknown>,
): Promise<{ readonly step: Step; readonly tally: Tally }> {
  const tally = emptyTally();
  const clock = new TreeClock(pid, CLOCK_MS);
  const [tree, own] = [await clock.read(), process.cpuUsage()];
  const startMs = performance.now();
  await send(startMs + seconds * 1_000, tally);
  const tookMs = performance.now() - startMs;
  const after = await clock.read();
  clock.stop();
  const { user, system } = process.cpuUsage(own);
  const { faults, latenessMs, refused, times } = tally;
  const step = {
    title,
    clients,
    rate,
    seconds,
    refused,
    faults,
    cellsPerS: times.length / (tookMs / 1_000),
    times: timesOf(tally),
    lateMs: latenessMs.length === 0 ? 0 : percentile(latenessMs, 0.99),
    cores: {
      bridge: (after.bridgeMs - tree.bridgeMs) / tookMs,
      below: (after.belowMs - tree.belowMs) / tookMs,
      clients: (user + system) / 1_000 / tookMs,
    },
  };
  return { step, tally };
}
