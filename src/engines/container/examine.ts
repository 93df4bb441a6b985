/** What podman and docker tell of themselves, read for people: `info` of each, in our few words. */

import { type EngineCommand, runEngineCommand } from '../client.ts';
import type { EngineFact, EngineName } from '../engine.ts';
import { judgeRuntime } from './runtime-faults.ts';

/** What both commands know, under one set of names; what one does not tell is undefined. */
export interface ContainerEngineInfo {
  readonly version: string | undefined;
  readonly isRootless: boolean | undefined;
  readonly cgroupVersion: string | undefined;
  /** Whether the engine says that it can bound memory and the number of processes. */
  readonly boundsMemory: boolean | undefined;
  readonly boundsProcesses: boolean | undefined;
  readonly ociRuntime: string | undefined;
  /** Three numbers at most. */
  readonly ociRuntimeVersion: string | undefined;
  /** What the distribution calls its package; podman alone tells it. */
  readonly ociRuntimePackage?: string | undefined;
  readonly hasSeccomp: boolean | undefined;
  /** Docker Desktop on Windows runs Linux containers or, when switched over, Windows ones. */
  readonly runsWindowsContainers?: boolean;
}

const INFO_TIMEOUT_MS = 10_000;

/** Asks the engine. Never rejects: an engine that does not answer is found out by its start. */
export async function examineContainerEngine(engine: EngineName, command: EngineCommand): Promise<EngineFact[]> {
  const format = engine === 'podman' ? 'json' : '{{json .}}';
  const result = await runEngineCommand(command, ['info', '--format', format], { timeoutMs: INFO_TIMEOUT_MS });
  const info = result.exitCode === 0 ? readInfo(engine, result.stdout) : undefined;
  return info === undefined ? [] : judgeEngine(info);
}

/** `podman info --format json`, `docker info --format '{{json .}}'`; undefined for anything else, and when the daemon did not answer. */
export function readInfo(engine: EngineName, text: string): ContainerEngineInfo | undefined {
  try {
    const value = JSON.parse(text) as Record<string, never>;
    return engine === 'podman' ? ofPodman(value) : isAnswered(value) ? ofDocker(value) : undefined;
  } catch {
    return undefined;
  }
}

interface PodmanInfo {
  readonly version?: { readonly Version?: string };
  readonly host?: {
    readonly cgroupVersion?: string;
    readonly cgroupControllers?: readonly string[] | null;
    readonly ociRuntime?: { readonly name?: string; readonly package?: string; readonly version?: string };
    readonly security?: { readonly rootless?: boolean; readonly seccompEnabled?: boolean };
  };
}

function ofPodman({ version, host = {} }: PodmanInfo): ContainerEngineInfo {
  const controllers = host.cgroupControllers ?? [];
  return {
    version: version?.Version,
    isRootless: host.security?.rootless,
    cgroupVersion: host.cgroupVersion,
    boundsMemory: controllers.includes('memory'),
    boundsProcesses: controllers.includes('pids'),
    ociRuntime: host.ociRuntime?.name,
    ociRuntimeVersion: versionIn(host.ociRuntime?.version),
    ociRuntimePackage: host.ociRuntime?.package,
    hasSeccomp: host.security?.seccompEnabled,
  };
}

interface DockerInfo {
  /** Why the daemon was not asked. */
  readonly ServerErrors?: readonly string[] | null;
  readonly ServerVersion?: string;
  readonly OSType?: string;
  readonly CgroupVersion?: string;
  readonly MemoryLimit?: boolean;
  readonly PidsLimit?: boolean;
  readonly DefaultRuntime?: string;
  readonly RuncCommit?: { readonly ID?: string };
  readonly SecurityOptions?: readonly string[];
}

/** Clients before Docker 23 end with 0 and what they know of themselves when the daemon does not answer. */
function isAnswered({ ServerErrors }: DockerInfo): boolean {
  return (ServerErrors ?? []).length === 0;
}

function ofDocker(info: DockerInfo): ContainerEngineInfo {
  const options = info.SecurityOptions ?? [];
  return {
    version: info.ServerVersion,
    isRootless: options.some((option) => option.startsWith('name=rootless')),
    cgroupVersion: info.CgroupVersion && `v${info.CgroupVersion}`,
    boundsMemory: info.MemoryLimit,
    boundsProcesses: info.PidsLimit,
    ociRuntime: info.DefaultRuntime,
    ociRuntimeVersion: info.DefaultRuntime === 'runc' ? versionIn(info.RuncCommit?.ID) : undefined,
    hasSeccomp: options.some((option) => option.startsWith('name=seccomp')),
    ...(info.OSType === 'windows' ? { runsWindowsContainers: true } : {}),
  };
}

function versionIn(text: string | undefined): string | undefined {
  return /\d+\.\d+(\.\d+)?/.exec(text ?? '')?.[0];
}

/** The facts of an engine that answered, the plain ones first. */
export function judgeEngine(info: ContainerEngineInfo): EngineFact[] {
  const { cgroupVersion, hasSeccomp, isRootless, ociRuntime, ociRuntimeVersion, version } = info;
  const parts = [
    version && `version ${version}`,
    isRootless === undefined ? undefined : isRootless ? 'rootless' : 'as root',
    cgroupVersion && `cgroup ${cgroupVersion}`,
    ociRuntime && `${ociRuntime} ${ociRuntimeVersion ?? ''}`.trim(),
  ];
  const text = parts.filter((part) => part !== undefined && part !== '').join(', ');
  const facts: EngineFact[] = text === '' ? [] : [{ level: 'ok', text }];
  if (info.runsWindowsContainers === true) {
    const hint = 'Choose "Switch to Linux containers" in the menu of Docker Desktop.';
    return [...facts, { level: 'warning', text: 'it runs Windows containers, and sandboxes are Linux ones', hint }];
  }
  if (info.boundsMemory === false || info.boundsProcesses === false) {
    facts.push({
      level: 'warning',
      text: 'the engine cannot bound memory or processes here; the first process of each sandbox does it',
      hint:
        isRootless === true
          ? 'Delegate the controllers to your user: https://rootlesscontaine.rs/getting-started/common/cgroup2/'
          : undefined,
    });
  }
  if (hasSeccomp === false) {
    facts.push({ level: 'warning', text: 'the engine has no system-call filter of its own; ours holds alone' });
  }
  const runtime = { name: ociRuntime, version: ociRuntimeVersion, package: info.ociRuntimePackage };
  return [...facts, ...judgeRuntime(runtime, cgroupVersion)];
}
