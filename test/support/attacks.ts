/** What the attacks in `test/attacks` share. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BridgeClient, type BridgeOptions, fixtureServer, startBridge } from './bridge-client.ts';
import { coverEngines } from './covered-engines.ts';
import type { TestEngine } from './engines.ts';

/** `npm run attacks` runs every attack in full. `npm test` runs a short form: the same attacks, smaller or fewer times. */
export const isLongRun = process.env['MCP_BRIDGE_TEST_ATTACKS'] === 'long';

/** As with faults: another part of the same CI run has all attacks of a short run. */
export const isQuickRun = process.env['MCP_BRIDGE_TEST_FAULTS'] === 'quick';

/** The number for this run: of a short one, or of a long one. */
export function amount(short: number, long: number): number {
  return isLongRun ? long : short;
}

/** The engines for attacks on the bridge itself, which is the same on each: in a short run, the first one is enough. */
export async function enginesForBridge(): Promise<TestEngine[]> {
  return (await coverEngines()).slice(0, amount(1, Number.POSITIVE_INFINITY));
}

export interface NotesBridge extends BridgeClient {
  /** Names and arguments of the tools that the server was really called for. */
  ledger(): string[];
}

/** A bridge with this policy and the server `notes`, which records each call that reaches it. */
export async function startNotes(policy: object, options: Omit<BridgeOptions, 'servers'>): Promise<NotesBridge> {
  const bridge = await startBridge({
    ...options,
    servers: (folder) => {
      const env = { FIXTURE_LEDGER: join(folder, 'ledger'), FIXTURE_NAME: 'notes' };
      return { notes: { ...fixtureServer('guarded.mjs'), env } };
    },
  });
  writeFileSync(join(bridge.folder, 'policy.json'), JSON.stringify(policy));
  const file = join(bridge.folder, 'ledger');
  return { ...bridge, ledger: () => (existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []) };
}

export interface ProgramEnd {
  /** Whether it ended by itself. */
  readonly isEnded: boolean;
  /** What it printed to stdout, then what to stderr. */
  readonly shown: string;
}

/** Runs a program, which is killed after `timeout` milliseconds. Its exit code does not matter. */
export function runProgram(
  [program = '', ...words]: readonly string[],
  options: { readonly env: Readonly<Record<string, string>>; readonly cwd?: string; readonly timeout?: number },
): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    execFile(program, words, { ...options, killSignal: 'SIGKILL' }, (error, out, err) =>
      resolve({ isEnded: error?.killed !== true, shown: out + err }),
    );
  });
}
