/** A second bridge with a raw JSON-RPC client, which a case may end in any way. Finds what is left of it. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LineClient } from '../../e2e/front-process.ts';
import { isStart, reportingStart } from '../begun.ts';
import { CLI, fixtureServer, type ServerEntry } from '../bridge-client.ts';
import type { TestEngine } from '../engines.ts';
import { descendantsOf, isAlive } from '../processes.ts';
import { sandboxesOfBridge } from '../sandbox.ts';
import { poll } from './wait.ts';

export interface Victim {
  readonly client: LineClient;
  /** Process of the bridge. */
  readonly pid: number;
  /** State directory, in its own folder. */
  readonly folder: string;
  /** Runs a cell. Returns the text of the answer. */
  run(code: string, more?: object): Promise<string>;
  /** Starts a cell. Resolves when its code runs. */
  begin(code: string): Promise<{ readonly answer: Promise<string> }>;
  /** Remembers the current descendants of the bridge for `left`. */
  look(): void;
  /** What is left after at most `limitMs`: the bridge, remembered processes, sandboxes. */
  left(limitMs: number): Promise<string[]>;
  /** Ends what still runs, and removes the folder. */
  remove(): Promise<void>;
}

export interface VictimOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** In addition to `stubborn`, which only SIGKILL ends. */
  readonly servers?: Readonly<Record<string, ServerEntry>>;
  /** Folder for the state directory; a new one by default. */
  readonly folder?: string;
}

let nextId = 0;

function textOf({ result, error }: Awaited<ReturnType<LineClient['run']>>): string {
  return (result?.content[0]?.text as string | undefined) ?? JSON.stringify(error);
}

/** Starts a bridge and initializes the connection. */
export async function startVictim(engine: TestEngine, options: VictimOptions = {}): Promise<Victim> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'bridge-faults-victim-'));
  const mcpServers = { stubborn: fixtureServer('ignores-eof.mjs'), ...options.servers };
  writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers }));
  const client = new LineClient(CLI, { ...settingsOf(engine), MCP_BRIDGE_STATE_DIR: folder, ...options.env });
  const pid = client.child.pid ?? 0;
  await client.initialize();
  let below: number[] = [];
  const find = async () => [
    ...[pid, ...below].filter(isAlive).map((each) => `process ${each}`),
    ...(await sandboxesOfBridge(engine, pid)).map((id) => `sandbox ${id}`),
  ];
  return {
    client,
    pid,
    folder,
    async run(code, more = {}) {
      nextId += 1;
      return textOf(await client.run(nextId, { code, timeout: 60, ...more }));
    },
    async begin(code) {
      nextId += 1;
      const args = { code: reportingStart(code), timeout: 60 };
      const answer = client.request(nextId, 'tools/call', {
        name: 'run_python',
        arguments: args,
        _meta: { progressToken: nextId },
      });
      await client.until(() => client.messages.some(({ params }) => isStart(Object(params))));
      return { answer: answer.then(textOf) };
    },
    look() {
      below = descendantsOf(pid);
    },
    left: (limitMs) => poll(find, (found) => found.length === 0, limitMs),
    async remove() {
      client.child.kill('SIGKILL');
      await client.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The environment of the engine without the settings of the tests. */
function settingsOf(engine: TestEngine): Record<string, string> {
  return Object.fromEntries(Object.entries(engine.env).filter(([name]) => !name.startsWith('MCP_BRIDGE_TEST_')));
}
