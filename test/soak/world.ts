/** The bridge under test with a real client and real servers, and the disturbances from outside. */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BridgeClient, fixtureServer, startBridge } from '../support/bridge-client.ts';
import { BytesInUse } from '../support/bytes-in-use.ts';
import type { TestEngine } from '../support/engines.ts';
import { probeArguments, takeMeasured } from '../support/faults/probe.ts';
import { FLOODED_SERVER, STUCK_SERVER, storeForFloods } from '../support/floods.ts';
import { descendantsOf } from '../support/processes.ts';
import { clientsOf } from '../support/sandbox.ts';
import { Ledger } from './ledger.ts';

export const SERVERS = ['alpha', 'beta', 'gamma'] as const;
/** Short, so that sessions also end by idling. */
const IDLE_SECONDS = 25;
/** A cell that uses more memory than this ends its session. */
export const MEMORY_MIB = 128;

type Disturbance = 'sandbox' | 'server';

export interface Answer {
  readonly status: string;
  readonly lines: readonly string[];
  readonly result: string;
  readonly error: string;
  readonly notices: string;
  /** Everything the client received. */
  readonly text: string;
}

export class World {
  readonly engine: TestEngine;
  readonly bridge: BridgeClient;
  readonly ledger: Ledger;
  readonly #inUse: BytesInUse;
  /** The bridge's temporary folder; must be empty at the end. */
  readonly temporary: string;
  readonly #probe: string;
  readonly #disturbed = new Map<Disturbance, number[]>();

  constructor(
    engine: TestEngine,
    bridge: BridgeClient,
    temporary: string,
    [inUse, probe]: readonly [BytesInUse, string],
  ) {
    this.engine = engine;
    this.bridge = bridge;
    this.temporary = temporary;
    this.#inUse = inUse;
    this.#probe = probe;
    this.ledger = new Ledger(SERVERS.map((name) => ledgerFile(bridge.folder, name)));
  }

  /** Runs a cell. Rejects if the client cancels it or there is no answer for two minutes. */
  async run(code: string, session: string, more: RunOptions = {}): Promise<Answer> {
    const { servers = [], signal, timeout = 20 } = more;
    const { content, structuredContent } = await this.bridge.client.callTool(
      { name: 'run_python', arguments: { code, session, servers, timeout } },
      { timeout: 120_000, ...(signal && { signal }) },
    );
    const fields = Object(structuredContent) as Partial<Record<string, string | string[]>>;
    const text = content.map((block) => (block.type === 'text' ? block.text : `[${block.type}]`)).join('\n');
    return {
      status: String(fields['status'] ?? 'success'),
      lines: [fields['stdout'] ?? []].flat(),
      result: String(fields['result'] ?? ''),
      error: String(fields['error'] ?? ''),
      notices: [fields['notices'] ?? []].flat().join('\n'),
      text: `${text}\n${JSON.stringify(structuredContent)}`,
    };
  }

  /** Ids of the sandboxes that are running or ending. */
  async sandboxes(): Promise<string[]> {
    const { engine, bridge } = this;
    if (!engine.isContainer) {
      const below = descendantsOf(bridge.pid);
      return clientsOf('mcp-bridge-')
        .filter((pid) => below.includes(pid))
        .map(String);
    }
    const filter = `label=mcp-server-code-execution-mode.pid=${bridge.pid}`;
    const { stdout } = await engine.run('ps', '--all', '--quiet', '--filter', filter);
    return stdout.split('\n').filter((line) => line !== '');
  }

  /** Ends a sandbox as an administrator would, without notifying the bridge. */
  async killSandbox(id: string): Promise<void> {
    this.#note('sandbox');
    if (this.engine.isContainer) {
      await this.engine.run('kill', '--signal=KILL', id);
    } else {
      descendantsOf(Number(id)).forEach(killProcess);
    }
    this.#note('sandbox');
  }

  /** Process ids of the servers. */
  servers(): number[] {
    return descendantsOf(this.bridge.pid).filter((pid) => commandLine(pid).includes('servers/soak.mjs'));
  }

  /** Memory of the bridge without garbage. Collecting it does not count as a turn of the bridge. */
  async bytesInUse(): Promise<number> {
    const bytes = await this.#inUse.measure(this.bridge.pid);
    await this.longestTurnMs();
    return bytes;
  }

  /** The longest turn of the bridge's event loop since the last call, without the time for which it waited for a core. */
  async longestTurnMs(): Promise<number> {
    return (await takeMeasured(this.#probe)).maxMs;
  }

  killServer(pid: number): void {
    this.#note('server');
    killProcess(pid);
  }

  /** Notes that a server exited by itself, which also affects other calls. */
  noteServerCrash(): void {
    this.#note('server');
  }

  /** Whether such a disturbance occurred since `sinceMs` (of `performance.now()`). */
  wasDisturbed(kind: Disturbance, sinceMs: number): boolean {
    return (this.#disturbed.get(kind) ?? []).some((atMs) => atMs >= sinceMs);
  }

  /** Closes the client's connection, which ends the bridge. */
  async close(): Promise<void> {
    await this.bridge.client.close();
  }

  removeFiles(): void {
    rmSync(this.bridge.folder, { recursive: true, force: true });
    rmSync(this.temporary, { recursive: true, force: true });
    rmSync(this.#probe, { recursive: true, force: true });
  }

  #note(kind: Disturbance): void {
    this.#disturbed.set(kind, [...(this.#disturbed.get(kind) ?? []).slice(-20), performance.now()]);
  }
}

interface RunOptions {
  readonly servers?: readonly string[];
  readonly signal?: AbortSignal;
  /** Seconds. */
  readonly timeout?: number;
}

export async function createWorld(engine: TestEngine): Promise<World> {
  const temporary = mkdtempSync(join(tmpdir(), 'bridge-soak-'));
  // The rootless engine in these tests runs as another user.
  chmodSync(temporary, 0o777);
  const inUse = new BytesInUse();
  const probe = mkdtempSync(join(tmpdir(), 'bridge-soak-probe-'));
  const bridge = await startBridge({
    engine,
    nodeArguments: [...inUse.nodeArguments, ...probeArguments(probe, false)],
    onLog: (text) => process.stderr.write(inUse.takeLog(text)),
    env: {
      TMPDIR: temporary,
      MCP_BRIDGE_MEMORY: `${MEMORY_MIB}m`,
      MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: String(IDLE_SECONDS),
      MCP_BRIDGE_LOG_LEVEL: 'ERROR',
      MCP_BRIDGE_OUTPUT_MODE: 'json',
    },
    servers(folder) {
      const checked = SERVERS.map((name) => [name, fixtureServer('soak.mjs', ledgerFile(folder, name))]);
      const flooded = [FLOODED_SERVER, STUCK_SERVER].map((name) => [name, fixtureServer('flooded.mjs')]);
      return Object.fromEntries([...checked, ...flooded]);
    },
  });
  storeForFloods(bridge.folder);
  return new World(engine, bridge, temporary, [inUse, probe]);
}

function ledgerFile(folder: string, server: string): string {
  return join(folder, `${server}.ledger`);
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // It ended in the meantime.
  }
}
