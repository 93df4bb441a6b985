/**
 * What `doctor` tells of the Podman machine of macOS and Windows. The machine is asked and never changed. The shapes are those of
 * podman 4 and 5 (`machine list`, `machine inspect`, `version`, each as JSON).
 */
import { type EngineCommand, runEngineCommand } from '../client.ts';
import type { EngineFact } from '../engine.ts';
import { chooseMachine } from './machine.ts';

/** What three commands of podman printed; empty when one said nothing. */
export interface MachineTexts {
  readonly list: string;
  /** Of the machine that is used. */
  readonly inspect: string;
  readonly version: string;
}

interface Inspected {
  readonly Name?: string;
  readonly Rootful?: boolean;
  /** In podman 4 here, and in MiB. */
  readonly Resources?: { readonly CPUs?: number; readonly Memory?: number };
}

interface Versions {
  readonly Client?: { readonly Version?: string };
  /** What answers in the machine; null when it does not run. */
  readonly Server?: { readonly Version?: string } | null;
}

const ANSWER_TIMEOUT_MS = 10_000;
const MEBIBYTE = 1024 * 1024;
/** What the system of the machine needs beside a session. Chosen. */
const SYSTEM_MEBIBYTES = 512;

/** Asks podman. Never rejects. */
export async function examinePodmanMachine(command: EngineCommand, memoryBytes: number): Promise<EngineFact[]> {
  const ask = async (...words: string[]): Promise<string> => {
    const { stdout } = await runEngineCommand(command, words, { timeoutMs: ANSWER_TIMEOUT_MS });
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

/** `memoryBytes` is what one session may take. */
export function describeMachine({ inspect, list, version }: MachineTexts, memoryBytes: number): EngineFact[] {
  const machine = chooseMachine(list);
  if ('reason' in machine) {
    const hint = machine.isMissing
      ? 'Run: podman machine init --now'
      : 'See: podman machine list; podman system connection default NAME';
    return [{ level: 'problem', text: machine.reason, hint }];
  }
  const [inspected] = parse<readonly Inspected[]>(inspect) ?? [];
  const { CPUs: cpus, Memory: mebibytes } = inspected?.Resources ?? {};
  const parts = [
    machine.isRunning ? 'runs' : machine.isStarting ? 'is still starting' : 'is stopped; the first cell starts it',
    inspected?.Rootful === undefined ? undefined : inspected.Rootful ? 'rootful' : 'rootless',
    mebibytes === undefined ? undefined : `${mebibytes.toLocaleString('en-US')} MiB of memory`,
    cpus === undefined ? undefined : `${cpus} CPUs`,
  ];
  const text = `the machine ${machine.name} ${parts.filter((part) => part !== undefined).join(', ')}`;
  return [{ level: 'ok', text }, ...judgeMemory(mebibytes, memoryBytes), ...judgeVersions(version)];
}

function judgeMemory(mebibytes: number | undefined, memoryBytes: number): EngineFact[] {
  const wanted = Math.ceil(memoryBytes / MEBIBYTE) + SYSTEM_MEBIBYTES;
  if (mebibytes === undefined || mebibytes >= wanted) {
    return [];
  }
  const text = `the machine has ${mebibytes} MiB of memory; a session of ${wanted - SYSTEM_MEBIBYTES} MiB and the system want ${wanted}`;
  const hint = `Run: podman machine stop; podman machine set --memory ${wanted}; or set MCP_BRIDGE_MEMORY to less.`;
  return [{ level: 'warning', text, hint }];
}

/** Podman promises that client and machine understand each other within one major version. */
function judgeVersions(text: string): EngineFact[] {
  const { Client: client, Server: server } = parse<Versions>(text) ?? {};
  const [ours, theirs] = [client?.Version, server?.Version];
  if (ours === undefined || theirs === undefined || ours.split('.')[0] === theirs.split('.')[0]) {
    return [];
  }
  const hint = 'Make a new machine with this podman: podman machine init --now NAME; its images are pulled again.';
  return [{ level: 'warning', text: `podman ${ours} talks to podman ${theirs} in the machine`, hint }];
}

function parse<Value>(text: string): Value | undefined {
  try {
    return JSON.parse(text) as Value;
  } catch {
    return undefined;
  }
}
