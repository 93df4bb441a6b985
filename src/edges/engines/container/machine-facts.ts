/**
 * What `doctor` reports about the Podman machine on macOS and Windows. Reads the JSON of `machine list`, `machine inspect` and
 * `version` in podman 4 and 5, and changes nothing.
 */

import type { EngineFact } from '../../../core/session/engine.ts';
import { type EngineCommand, runEngineCommand } from '../client.ts';
import { chooseMachine } from './machine.ts';

/** The output of three podman commands; empty if a command failed. */
export interface MachineTexts {
  readonly list: string;
  /** For the machine in use. */
  readonly inspect: string;
  readonly version: string;
}

interface Inspected {
  readonly Name?: string;
  readonly Rootful?: boolean;
  /** Memory is in MiB. */
  readonly Resources?: { readonly CPUs?: number; readonly Memory?: number };
}

interface Versions {
  readonly Client?: { readonly Version?: string };
  /** The service in the machine; null if it is not running. */
  readonly Server?: { readonly Version?: string } | null;
}

const ANSWER_TIMEOUT_MS = 10_000;
const MEBIBYTE = 1024 * 1024;
/** Memory for the machine's operating system beside a session. Chosen. */
const SYSTEM_MEBIBYTES = 512;

/** Asks podman. Never rejects. */
export async function examinePodmanMachine(command: EngineCommand, memoryBytes: number): Promise<EngineFact[]> {
  const ask = async (...argv: string[]): Promise<string> => {
    const { stdout } = await runEngineCommand(command, argv, { timeoutMs: ANSWER_TIMEOUT_MS });
    return stdout;
  };
  const [list, version] = await Promise.all([
    ask('machine', 'list', '--format', 'json'),
    ask('version', '--format', 'json'),
  ]);
  const machine = chooseMachine(list);
  const inspect = 'reason' in machine ? '' : await ask('machine', 'inspect', machine.name);
  return describeMachine({ list, inspect, version }, memoryBytes);
}

/** `memoryBytes` is the memory limit of a session. */
export function describeMachine({ inspect, list, version }: MachineTexts, memoryBytes: number): EngineFact[] {
  const machine = chooseMachine(list);
  if ('reason' in machine) {
    const hint = machine.isMissing
      ? 'Run: podman machine init --now'
      : 'Run: podman machine list, then: podman system connection default NAME';
    return [{ level: 'problem', text: machine.reason, hint }];
  }
  const [inspected] = parse<readonly Inspected[]>(inspect) ?? [];
  const { CPUs: cpus, Memory: mebibytes } = inspected?.Resources ?? {};
  const parts = [
    machine.isRunning
      ? 'is running'
      : machine.isStarting
        ? 'is still starting'
        : 'is stopped; the first cell starts it',
    inspected?.Rootful === undefined ? undefined : inspected.Rootful ? 'rootful' : 'rootless',
    mebibytes === undefined ? undefined : `${mebibytes.toLocaleString('en-US')} MiB of memory`,
    cpus === undefined ? undefined : `${cpus} CPUs`,
  ];
  const text = `the machine ${machine.name} ${parts.filter((part) => part !== undefined).join(', ')}`;
  return [{ level: 'ok', text }, ...judgeMemory(mebibytes, memoryBytes), ...judgeVersions(version)];
}

function judgeMemory(mebibytes: number | undefined, memoryBytes: number): EngineFact[] {
  const neededMebibytes = Math.ceil(memoryBytes / MEBIBYTE) + SYSTEM_MEBIBYTES;
  if (mebibytes === undefined || mebibytes >= neededMebibytes) {
    return [];
  }
  const text = `the machine has ${mebibytes} MiB of memory; a session with ${neededMebibytes - SYSTEM_MEBIBYTES} MiB and the system need ${neededMebibytes} MiB`;
  const hint = `Run: podman machine stop; podman machine set --memory ${neededMebibytes}; or lower MCP_BRIDGE_MEMORY.`;
  return [{ level: 'warning', text, hint }];
}

/** Podman guarantees compatibility between client and machine only within one major version. */
function judgeVersions(text: string): EngineFact[] {
  const { Client: client, Server: server } = parse<Versions>(text) ?? {};
  const [ours, theirs] = [client?.Version, server?.Version];
  if (ours === undefined || theirs === undefined || ours.split('.')[0] === theirs.split('.')[0]) {
    return [];
  }
  const hint = 'Create a new machine with this podman: podman machine init --now NAME. Its images are pulled again.';
  return [{ level: 'warning', text: `the client is podman ${ours}, but the machine runs podman ${theirs}`, hint }];
}

function parse<Value>(text: string): Value | undefined {
  try {
    return JSON.parse(text) as Value;
  } catch {
    return undefined;
  }
}
