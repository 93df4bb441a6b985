/** One bridge with its servers, secrets and a neighbor: the environment in which cases run. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BridgeClient, fixtureServer, type ServerEntry, startBridge } from '../bridge-client.ts';
import type { TestEngine } from '../engines.ts';
import { descendantsOf, isAlive } from '../processes.ts';
import { sandboxesOfBridge } from '../sandbox.ts';
import { SETTLE_MS } from './gates.ts';
import { probeArguments } from './probe.ts';
import { poll } from './wait.ts';

/** A call that reached a server. */
export interface LedgerEntry {
  readonly server: string;
  readonly tool: string;
  /** The first 200 characters of the arguments as JSON. */
  readonly arguments: string;
}

export interface ArenaOptions {
  readonly engine: TestEngine;
  /** In addition to those of every arena. `folder` is the state directory. */
  readonly servers?: (folder: string) => Readonly<Record<string, ServerEntry>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** What the bridge sent for one request. */
export interface Answered {
  readonly id: string | number;
  readonly text: string;
}

export interface Arena {
  readonly engine: TestEngine;
  readonly bridge: BridgeClient;
  /** How many sandboxes wait for sessions. */
  readonly sandboxesAhead: number;
  /** For `takeMeasured`. */
  readonly probeFolder: string;
  /** Working directory of the bridge. */
  readonly callersFolder: string;
  /** Secrets that must never show up anywhere, except the third one in the neighbor. */
  readonly canaries: Canaries;
  /** All calls that have reached servers so far. */
  ledger(): readonly LedgerEntry[];
  /** Everything the bridge has logged so far. */
  log(): string;
  /** All answers so far, in the order of their arrival. */
  readonly answers: readonly Answered[];
  /** Remembers the descendants of the bridge for `close`, because a dead bridge has none. */
  noteProcesses(): void;
  /** Ends the bridge. Returns what is left of it, which should be nothing. */
  close(): Promise<string[]>;
}

export type Canaries = Readonly<Record<'environment' | 'server' | 'neighbour' | 'proxy', string>>;

/** Starts a bridge with a probe in it, secrets around it, and servers that record their calls. */
export async function startArena(options: ArenaOptions): Promise<Arena> {
  const callersFolder = mkdtempSync(join(tmpdir(), 'bridge-faults-cwd-'));
  const aside = mkdtempSync(join(tmpdir(), 'bridge-faults-'));
  const ledgerFile = join(aside, 'ledger.jsonl');
  writeFileSync(ledgerFile, '');
  const canaries = createCanaries();
  const answers: Answered[] = [];
  const processes = new Set<number>();
  // With them and without: bubblewrap starts them fastest.
  const sandboxesAhead = options.engine.name === 'bubblewrap' ? 1 : 0;
  let log = '';
  const bridge = await startBridge({
    engine: options.engine,
    env: {
      ...secretsOf(canaries),
      MCP_BRIDGE_LOG_LEVEL: 'DEBUG',
      MCP_BRIDGE_PREWARM: String(sandboxesAhead),
      ...options.env,
    },
    cwd: callersFolder,
    nodeArguments: probeArguments(aside),
    servers: (folder) => noted({ ...ownServers(canaries), ...options.servers?.(folder) }, ledgerFile),
    onLog: (text) => {
      log += text;
    },
    onMessage: (message) => {
      if ('id' in message && !('method' in message)) {
        answers.push({ id: message.id ?? '', text: JSON.stringify(message) });
      }
    },
  });
  // A client that lists the tools gets them.
  await bridge.client.listTools();
  function noteProcesses(): void {
    descendantsOf(bridge.pid).forEach((pid) => processes.add(pid));
  }
  return {
    engine: options.engine,
    bridge,
    sandboxesAhead,
    probeFolder: aside,
    callersFolder,
    canaries,
    ledger: () => readLedger(ledgerFile),
    log: () => log,
    answers,
    noteProcesses,
    async close() {
      noteProcesses();
      await bridge.close();
      const left = await lookForRest(options.engine, bridge.pid, [...processes], callersFolder);
      rmSync(callersFolder, { recursive: true, force: true });
      rmSync(aside, { recursive: true, force: true });
      return left;
    },
  };
}

/** The canaries share one pattern, so that code can look for them without containing them. */
function createCanaries(): Canaries {
  const canary = () => `canary-${randomBytes(16).toString('hex')}`;
  return { environment: canary(), server: canary(), neighbour: canary(), proxy: canary() };
}

/** Places where a bridge comes across secrets that are not for it. */
function secretsOf({ environment, proxy }: Canaries): Record<string, string> {
  const url = `http://user:${proxy}@proxy.invalid:3128`;
  return { API_TOKEN: environment, HTTP_PROXY: url, https_proxy: url, NO_PROXY: '*' };
}

function ownServers({ server }: Canaries): Record<string, ServerEntry> {
  const ledger = { ...fixtureServer('ledger.mjs', '/dev/null'), env: { SECRET_TOKEN: server } };
  return {
    ledger,
    forbidden: ledger,
    echo: fixtureServer('echo.mjs'),
    neighbour: fixtureServer('echo.mjs'),
  };
}

/** The same servers, set up to record their calls. */
function noted(servers: Readonly<Record<string, ServerEntry>>, file: string): Record<string, ServerEntry> {
  return Object.fromEntries(
    Object.entries(servers).map(([name, entry]) => {
      return [name, { ...entry, env: { ...entry.env, FIXTURE_LEDGER: file, FIXTURE_NAME: name } }];
    }),
  );
}

function readLedger(file: string): LedgerEntry[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as LedgerEntry);
}

/** G6, after the bridge has ended. */
function lookForRest(
  engine: TestEngine,
  bridgePid: number,
  below: readonly number[],
  callersFolder: string,
): Promise<string[]> {
  const look = async () => [
    ...[bridgePid, ...below].filter(isAlive).map((pid) => `process ${pid}: ${commandOf(pid)}`),
    ...(await sandboxesOfBridge(engine, bridgePid)).map((id) => `sandbox ${id}`),
    ...readdirSync(callersFolder).map((name) => `file ${name}`),
  ];
  return poll(look, (found) => found.length === 0, SETTLE_MS);
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').slice(0, 200);
  } catch {
    return 'gone'; // It ended in the meantime.
  }
}
