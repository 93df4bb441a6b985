/**
 * The arguments of `podman run` and `docker run`: a pure function of limits and options, pinned by a literal test. The command is
 * run without a shell, and every value is checked here, so no value can act as a flag. Tested with podman 4.3.1 (root, rootless,
 * remote) and with docker 28 on daemon 20.10. All flags together add no measurable time.
 */
import { BridgeError } from '../../../core/base/errors.ts';
import {
  type EngineName,
  type Mount,
  OPERATORS_PACKAGES_FOLDER,
  PACKAGES_FOLDER,
  type PackageStore,
  type ProgramSandbox,
  type SandboxLimits,
} from '../../../core/session/engine.ts';
import {
  dataLimit,
  type HardLimits,
  OOM_SCORE_ADJUSTMENT,
  resourceLimits,
  SHM_BYTES,
  userAndGroup,
} from '../process-limits.ts';

/** Options that are the same for every sandbox of an engine. */
export interface SandboxOptions {
  /** Image reference, for example `python:3.14-slim`. */
  readonly image: string;
  readonly limits: SandboxLimits;
  /** `UID[:GID]` in the sandbox. The group defaults to the same number as the user; engines would use root's group. */
  readonly user: string;
  /** OCI runtime, for example `runsc`; the engine's default if undefined. */
  readonly ociRuntime?: string | undefined;
  /** Host folders to mount; none by default. */
  readonly mounts?: readonly Mount[] | undefined;
  /** The package store; none by default. */
  readonly packages?: PackageStore | undefined;
}

export interface RunRequest extends SandboxOptions {
  readonly engine: EngineName;
  /** Name of the container. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Program and arguments of PID 1. */
  readonly command: readonly string[];
  /** Whether descriptor 3 of the client is the pipe to the sandbox, instead of stdin and stdout. Only podman passes it on. */
  readonly usesDescriptor?: boolean | undefined;
  /** See `StartRequest`. */
  readonly isBuilder?: boolean | undefined;
  readonly isOffline?: boolean | undefined;
  readonly program?: ProgramSandbox | undefined;
  /** File with the system-call filter of programs, on the machine of the engine's command; undefined if the engine reads its own. */
  readonly seccompProfile?: string | undefined;
  /** Flags that this engine refused earlier. Only those in `OMITTABLE_FLAGS` are omitted. */
  readonly omit?: ReadonlySet<string> | undefined;
  /** The upper bound of what a container can get. */
  readonly hardLimits?: HardLimits | undefined;
}

/** Passes descriptor 3 on to the sandbox. */
export const DESCRIPTOR_FLAG = '--preserve-fds';

/**
 * Flags that a start can omit, and why. They are omitted only after the engine refused one. All other flags protect the host, so
 * a start that an engine refuses because of one of them fails.
 */
export const OMITTABLE_FLAGS: Readonly<Record<string, string>> = {
  [DESCRIPTOR_FLAG]: 'missing if podman is the client of a service; stdin and stdout are a slower pipe',
  '--cgroupns': 'docker needs API 1.41; affects only what /proc/self/cgroup shows',
  '--no-healthcheck': 'without it, the health check of an image only runs more processes in the sandbox',
  '--umask': 'needs podman 2.2; a sandbox has only one user',
  '--systemd': 'missing in builds without systemd',
  '--image-volume': 'without it, the volumes of an image only get mounted',
  '--stop-timeout': 'matters only if someone stops a sandbox by hand',
  // Rootless users often lack these cgroup controllers. The supervisor measures that and enforces the limits itself.
  '--memory': 'cgroup controller not delegated',
  '--memory-swap': 'cgroup controller not delegated, or swap accounting off',
  '--cpus': 'cgroup controller not delegated',
  '--pids-limit': 'cgroup controller not delegated',
};

/** `docker run` passes in the proxies of its configuration, including their passwords, even if the container has no network. */
const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY'];

/** The arguments that start one sandbox. Throws `CONFIG_INVALID` naming an invalid value. */
export function buildRunArguments(given: RunRequest): string[] {
  const request = given.program === undefined ? given : ofProgram(given, given.program);
  checkOptions(request);
  checkPattern('name', request.name, /^[a-z0-9][a-z0-9-]*$/);
  const [program = '', ...programArguments] = request.command;
  checkPattern('program', program, /^[A-Za-z0-9/][A-Za-z0-9._/+-]*$/);
  const isPodman = request.engine === 'podman';
  const mounts = request.isBuilder === true ? [] : (request.mounts ?? []);
  const runtime = request.ociRuntime === undefined ? [] : ['--runtime', request.ociRuntime];
  const flags = [
    ...identityFlags(request),
    ...isolationFlags(request),
    ...fileSystemFlags(request),
    ...mountFlags(mounts),
    ...storeFlags(request),
    ...limitFlags(request),
    ...endingFlags(),
    ...(isPodman ? podmanFlags(request, mounts) : proxyFlags()),
    ...environmentFlags(),
    ...programFlags(request),
  ];
  return [
    ...(isPodman ? runtime : []),
    'run',
    ...(isPodman ? [] : runtime),
    ...withoutFlags(flags, request.omit),
    '--entrypoint',
    program,
    request.image,
    ...programArguments,
  ];
}

/** What a program has instead of what a session has: neither folders of the user nor packages. */
function ofProgram(request: RunRequest, { image, limits }: ProgramSandbox): RunRequest {
  return {
    ...request,
    image: image ?? request.image,
    limits: limits ?? request.limits,
    mounts: undefined,
    packages: undefined,
  };
}

/**
 * What the supervisor does in a session. The limit of memory counts for each process, so that it also holds, as far as it can,
 * where the engine has no cgroup.
 */
function programFlags({ limits, program, seccompProfile }: RunRequest): string[] {
  if (program === undefined) {
    return [];
  }
  const dataBytes = dataLimit(limits);
  return [
    `--ulimit=data=${dataBytes}:${dataBytes}`,
    ...(seccompProfile === undefined ? [] : [`--security-opt=seccomp=${seccompProfile}`]),
  ];
}

/** Throws `CONFIG_INVALID` if a value could be read as a flag or as more than one argument. */
export function checkOptions(options: SandboxOptions): void {
  checkPattern('image', options.image, /^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}$/);
  checkPattern('user', options.user, /^\d{1,10}(:\d{1,10})?$/);
  if (options.ociRuntime !== undefined) {
    checkPattern('OCI runtime', options.ociRuntime, /^[A-Za-z0-9/][A-Za-z0-9._/+-]{0,255}$/);
  }
  const { memoryBytes, pids, cpus, tmpBytes, workspaceBytes } = options.limits;
  for (const [name, value] of Object.entries({ memoryBytes, pids, tmpBytes, workspaceBytes })) {
    if (!Number.isSafeInteger(value) || value <= 0) {
      throw invalid(name, String(value), 'a whole number above 0');
    }
  }
  if (cpus !== undefined && !(Number.isFinite(cpus) && cpus > 0)) {
    throw invalid('cpus', String(cpus), 'a number above 0');
  }
}

function identityFlags(request: RunRequest): string[] {
  const labels = Object.entries(request.labels).flatMap(([key, value]) => {
    checkPattern('label', `${key}=${value}`, /^[a-z0-9.-]+=[A-Za-z0-9._:%-]*$/);
    return [`--label=${key}=${value}`];
  });
  // `--pull=never`: a cell must not wait for the network. Pulling is a separate step.
  const pipe = request.usesDescriptor === true ? `${DESCRIPTOR_FLAG}=1` : '--interactive';
  return ['--rm', pipe, '--pull=never', `--name=${request.name}`, ...labels];
}

function isolationFlags({ isBuilder, isOffline, packages, program, user }: RunRequest): string[] {
  const offline = ['--network=none', '--hostname=sandbox'];
  const common = ['--ipc=private', '--cgroupns=private', '--cap-drop=ALL', '--security-opt=no-new-privileges'];
  const [uid, gid] = userAndGroup(user);
  if (program?.hasRunner === true) {
    // No other process of the user can open the pipes or the memory of one that has become this user: it is not dumpable (proc(5)).
    return [...offline, ...common, '--cap-add=SETUID', `--user=0:${gid}`, `--env=BRIDGE_UID=${uid}`];
  }
  if (isBuilder !== true) {
    return [...offline, ...common, `--user=${uid}:${gid}`];
  }
  const online = packages?.network === 'host' ? ['--network=host'] : ['--hostname=sandbox'];
  return [
    ...(isOffline === true ? offline : online),
    ...common,
    // A new volume belongs to root. The builder gives it to its own user, becomes that user, and has no capability left.
    ...['CHOWN', 'SETUID', 'SETGID'].map((name) => `--cap-add=${name}`),
    '--user=0:0',
  ];
}

function fileSystemFlags({ engine, limits, program, user }: RunRequest): string[] {
  // `noexec` is only hygiene: memfd_create bypasses it.
  const options = `rw,${program?.canExecuteFiles === true ? 'exec' : 'noexec'},nosuid,nodev,mode=1777,${ownerOptions(engine, user)}`;
  return [
    '--read-only',
    `--tmpfs=/tmp:${options},size=${limits.tmpBytes}`,
    `--tmpfs=/workspace:${options},size=${limits.workspaceBytes}`,
    `--shm-size=${SHM_BYTES}`,
    '--workdir=/workspace',
  ];
}

/** Not `--volume`, because with it the engine creates a missing source folder instead of refusing it. */
function mountFlags(mounts: readonly Mount[]): string[] {
  return mounts.map(({ source, target, isWritable }) => {
    // The parts of the value are separated by commas.
    checkPattern('mount', `${source}${target}`, /^[^,"\0\n]+$/);
    return `--mount=type=bind,source=${source},target=${target}${isWritable ? '' : ',readonly'}`;
  });
}

/** The package store, which only a builder may write to. */
function storeFlags({ engine, isBuilder, packages }: RunRequest): string[] {
  const volumes = [
    ...(packages === undefined ? [] : [[packages.volume, PACKAGES_FOLDER, isBuilder !== true] as const]),
    ...(packages?.operators === undefined || isBuilder !== true
      ? []
      : [[packages.operators.volume, OPERATORS_PACKAGES_FOLDER, true] as const]),
  ];
  return volumes.map(([volume, folder, isReadOnly]) => {
    checkPattern('package store', volume, /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/);
    // Otherwise docker copies what the image has in that folder.
    const options = [...(isReadOnly ? ['ro'] : []), ...(engine === 'docker' ? ['volume-nocopy'] : [])];
    return `--mount=${['type=volume', `source=${volume}`, `target=${folder}`, ...options].join(',')}`;
  });
}

/**
 * Makes the sandbox's user own the tmpfs. The mode alone is not enough: runc before 1.2 gives a tmpfs the mode of the folder below
 * it, which is 0755 if the image has that folder or docker created it for `--workdir`. podman has no `uid` option, and by default
 * copies the files of the image into the tmpfs.
 */
function ownerOptions(engine: EngineName, user: string): string {
  const [uid, gid] = userAndGroup(user);
  return engine === 'podman' ? 'U,notmpcopyup' : `uid=${uid},gid=${gid}`;
}

function limitFlags(request: RunRequest): string[] {
  const { limits, hardLimits } = request;
  const { openFiles, processes } = resourceLimits(limits, hardLimits);
  return [
    `--memory=${limits.memoryBytes}`,
    // Equal to the memory limit, which means no swap.
    `--memory-swap=${limits.memoryBytes}`,
    `--pids-limit=${limits.pids}`,
    ...(limits.cpus === undefined ? [] : [`--cpus=${limits.cpus}`]),
    `--ulimit=nofile=${openFiles}:${openFiles}`,
    `--ulimit=nproc=${processes}:${processes}`,
    '--ulimit=core=0:0',
    `--oom-score-adj=${OOM_SCORE_ADJUSTMENT}`,
  ];
}

function endingFlags(): string[] {
  return [
    // Otherwise the engine writes every byte of stdout to the host's disk, at half the speed.
    '--log-driver=none',
    // With the default (TERM, 10 s), `podman rm -f` in state "Stopping" deletes the record but leaves the process (4.3.1).
    '--stop-signal=KILL',
    '--stop-timeout=1',
    '--no-healthcheck',
  ];
}

function podmanFlags({ isBuilder }: RunRequest, mounts: readonly Mount[]): string[] {
  // Files that code writes to a mounted folder belong to another user on the host, and the person must be able to read them.
  const umask = mounts.some(({ isWritable }) => isWritable) ? '0022' : '0077';
  return [
    // Names in the hosts file are how a builder reaches an index on this machine or its network.
    ...(isBuilder === true ? [] : ['--no-hosts']),
    '--http-proxy=false',
    // Otherwise /run and /var/tmp are writable and executable, and may grow to half of the machine's memory.
    '--read-only-tmpfs=false',
    '--systemd=false',
    `--umask=${umask}`,
    '--image-volume=ignore',
  ];
}

function proxyFlags(): string[] {
  return PROXY_VARIABLES.flatMap((name) => [`--env=${name}=`, `--env=${name.toLowerCase()}=`]);
}

function environmentFlags(): string[] {
  return [
    '--env=HOME=/workspace',
    '--env=PYTHONUNBUFFERED=1',
    '--env=PYTHONIOENCODING=utf-8',
    '--env=PYTHONDONTWRITEBYTECODE=1',
  ];
}

/** Relies on every flag being one argument (`--flag=value`). */
function withoutFlags(flags: readonly string[], omit: ReadonlySet<string> | undefined): string[] {
  return flags.filter((flag) => {
    const name = flag.split('=', 1)[0] ?? flag;
    return !(omit?.has(name) && Object.hasOwn(OMITTABLE_FLAGS, name));
  });
}

function checkPattern(what: string, value: string, allowed: RegExp): void {
  if (!allowed.test(value)) {
    throw invalid(what, value, `text that matches ${allowed.source}`);
  }
}

function invalid(what: string, value: string, allowed: string): BridgeError {
  return new BridgeError(
    'CONFIG_INVALID',
    `the sandbox ${what} ${JSON.stringify(value)} is invalid; expected ${allowed}`,
    {
      hint: `Correct the setting for the sandbox ${what}.`,
    },
  );
}
