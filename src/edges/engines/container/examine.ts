/** Reads `podman info` and `docker info` and summarizes them for people. */

import type { EngineFact, EngineName } from '../../../core/session/engine.ts';
import { type EngineCommand, runEngineCommand } from '../client.ts';
import { judgeRuntime } from './runtime-faults.ts';

/** The same facts from both commands; undefined if the command does not report one. */
export interface ContainerEngineInfo {
  readonly version: string | undefined;
  readonly isRootless: boolean | undefined;
  readonly cgroupVersion: string | undefined;
  /** Whether the engine reports that it can limit memory. */
  readonly limitsMemory: boolean | undefined;
  /** Whether the engine reports that it can limit the number of processes. */
  readonly limitsProcesses: boolean | undefined;
  readonly ociRuntime: string | undefined;
  /** At most three numbers. */
  readonly ociRuntimeVersion: string | undefined;
  /** Name of the distribution's package; only podman reports it. */
  readonly ociRuntimePackage?: string | undefined;
  readonly hasSeccomp: boolean | undefined;
  /** Docker Desktop on Windows can be switched to Windows containers. */
  readonly runsWindowsContainers?: boolean;
}

const INFO_TIMEOUT_MS = 10_000;

/** Asks the engine. Never rejects; if the engine does not answer, its start shows that. */
export async function examineContainerEngine(engine: EngineName, command: EngineCommand): Promise<EngineFact[]> {
  const format = engine === 'podman' ? 'json' : '{{json .}}';
  const result = await runEngineCommand(command, ['info', '--format', format], { timeoutMs: INFO_TIMEOUT_MS });
  const info = result.exitCode === 0 ? readInfo(engine, result.stdout) : undefined;
  return info === undefined ? [] : judgeEngine(info);
}

/** Parses `podman info --format json` or `docker info --format '{{json .}}'`. Undefined if it is not valid or the daemon did not answer. */
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
    limitsMemory: controllers.includes('memory'),
    limitsProcesses: controllers.includes('pids'),
    ociRuntime: host.ociRuntime?.name,
    ociRuntimeVersion: versionIn(host.ociRuntime?.version),
    ociRuntimePackage: host.ociRuntime?.package,
    hasSeccomp: host.security?.seccompEnabled,
  };
}

interface DockerInfo {
  /** Why the daemon did not answer. */
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

/** If the daemon does not answer, clients before Docker 23 exit with 0 and print only their own facts. */
function isAnswered({ ServerErrors }: DockerInfo): boolean {
  return (ServerErrors ?? []).length === 0;
}

function ofDocker(info: DockerInfo): ContainerEngineInfo {
  const options = info.SecurityOptions ?? [];
  return {
    version: info.ServerVersion,
    isRootless: options.some((option) => option.startsWith('name=rootless')),
    cgroupVersion: info.CgroupVersion && `v${info.CgroupVersion}`,
    limitsMemory: info.MemoryLimit,
    limitsProcesses: info.PidsLimit,
    ociRuntime: info.DefaultRuntime,
    ociRuntimeVersion: info.DefaultRuntime === 'runc' ? versionIn(info.RuncCommit?.ID) : undefined,
    hasSeccomp: options.some((option) => option.startsWith('name=seccomp')),
    ...(info.OSType === 'windows' ? { runsWindowsContainers: true } : {}),
  };
}

function versionIn(text: string | undefined): string | undefined {
  return /\d+\.\d+(\.\d+)?/.exec(text ?? '')?.[0];
}

export const NO_LIMITS = 'the engine cannot limit memory or processes here; the supervisor in the sandbox does instead';

/** The findings for an engine that answered, the summary first. */
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
    return [
      ...facts,
      { level: 'warning', text: 'it runs Windows containers, but sandboxes need Linux containers', hint },
    ];
  }
  if (info.limitsMemory === false || info.limitsProcesses === false) {
    facts.push({
      level: 'warning',
      text: NO_LIMITS,
      hint:
        isRootless === true
          ? 'Delegate the controllers to your user: https://rootlesscontaine.rs/getting-started/common/cgroup2/'
          : undefined,
    });
  }
  if (hasSeccomp === false) {
    facts.push({
      level: 'warning',
      text: 'the engine has no system-call filter; only the filter of the bridge applies',
    });
  }
  const runtime = { name: ociRuntime, version: ociRuntimeVersion, package: info.ociRuntimePackage };
  return [...facts, ...judgeRuntime(runtime, cgroupVersion)];
}
