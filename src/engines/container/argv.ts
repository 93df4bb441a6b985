/**
 * The arguments of `podman run` and `docker run`: a pure function of limits and options, pinned by a literal test.
 * Every value is one argument of an argument list (no shell) and is checked here, so that none can become a flag.
 * Measured on podman 4.3.1 (root, rootless, remote) and on docker 28 with daemon 20.10; all flags together cost nothing.
 */
import { BridgeError } from '../../base/errors.ts';
import { MAX_SESSIONS } from '../../base/limits.ts';
import type { EngineName, Mount, SandboxLimits } from '../engine.ts';
import type { HardLimits } from '../hard-limits.ts';

/** What does not change from one sandbox of an engine to the next. */
export interface SandboxOptions {
  /** Image reference, for example `python:3.14-slim`. */
  readonly image: string;
  readonly limits: SandboxLimits;
  /** `uid:gid` in the sandbox, as numbers; the group is the same number when left out (engines would take root's). */
  readonly user: string;
  /** OCI runtime, for example `runsc`; undefined leaves the engine's own choice. */
  readonly ociRuntime?: string | undefined;
  /** Folders of the host; none when left out. */
  readonly mounts?: readonly Mount[] | undefined;
}

export interface RunRequest extends SandboxOptions {
  readonly engine: EngineName;
  /** Name of the container. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Program and arguments of PID 1. */
  readonly command: readonly string[];
  /** Flags this engine was found not to take; only those of `OMITTABLE_FLAGS` are left out. */
  readonly omit?: ReadonlySet<string> | undefined;
  /** What a container can be given at most. */
  readonly hardLimits?: HardLimits | undefined;
}

/**
 * Flags a start may do without, and why. Left out only after the engine itself refused one; every other flag protects
 * the host, so an engine that does not take it is refused.
 */
export const OMITTABLE_FLAGS: Readonly<Record<string, string>> = {
  '--cgroupns': 'docker needs API 1.41; the view of /proc/self/cgroup only',
  '--no-healthcheck': 'an image with a health check only starts processes of its own',
  '--umask': 'podman 2.2 and newer; a sandbox has one user and nothing of others to protect',
  '--systemd': 'absent from builds without systemd',
  '--image-volume': 'an image with volumes only gets them mounted',
  '--stop-timeout': 'only for people who stop a sandbox by hand',
  // Controllers that rootless users are often not given. The supervisor measures and uses rlimits instead.
  '--memory': 'cgroup controller not delegated',
  '--memory-swap': 'cgroup controller not delegated, or swap accounting off',
  '--cpus': 'cgroup controller not delegated',
  '--pids-limit': 'cgroup controller not delegated',
};

/** Open files in a sandbox; the usual soft limit of a login shell. */
export const MAX_OPEN_FILES = 1024;
/** Size of /dev/shm: multiprocessing primitives need little. */
export const SHM_BYTES = 16 * 1024 * 1024;
/** Makes the kernel prefer a sandbox to the user's own programs when the machine runs out of memory (-1000 … 1000). */
export const OOM_SCORE_ADJUSTMENT = 500;
/** `docker run` passes proxies of its own configuration in, with their passwords, even without a network. */
const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY'];

/**
 * Bound of RLIMIT_NPROC. The kernel counts it per host uid over all sandboxes, so it must exceed what all of them may
 * have together, else two would block each other; the bound of one sandbox is `--pids-limit`. It is passed at all
 * because podman's default cannot be set by a user without CAP_SYS_RESOURCE.
 */
export function maxUserProcesses(pids: number, hardLimits: HardLimits | undefined): number {
  return Math.min(pids * MAX_SESSIONS * 2, hardLimits?.processes ?? Number.POSITIVE_INFINITY);
}

/** Arguments of the engine's command that start one sandbox. Throws `CONFIG_INVALID` naming a value that is refused. */
export function buildRunArguments(request: RunRequest): string[] {
  checkOptions(request);
  checkPattern('name', request.name, /^[a-z0-9][a-z0-9-]*$/);
  const [program = '', ...programArguments] = request.command;
  checkPattern('program', program, /^[A-Za-z0-9/][A-Za-z0-9._/+-]*$/);
  const isPodman = request.engine === 'podman';
  const runtime = request.ociRuntime === undefined ? [] : ['--runtime', request.ociRuntime];
  const flags = [
    ...identityFlags(request),
    ...isolationFlags(request),
    ...fileSystemFlags(request),
    ...mountFlags(request.mounts ?? []),
    ...limitFlags(request),
    ...endingFlags(),
    ...(isPodman ? podmanFlags(request.mounts ?? []) : proxyFlags()),
    ...environmentFlags(),
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

/** Refuses values that could be read as a flag or as more than one argument. Throws `CONFIG_INVALID`. */
export function checkOptions(options: SandboxOptions): void {
  checkPattern('image', options.image, /^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}$/);
  checkPattern('user', options.user, /^\d{1,10}(:\d{1,10})?$/);
  if (options.ociRuntime !== undefined) {
    checkPattern('OCI runtime', options.ociRuntime, /^[A-Za-z0-9/][A-Za-z0-9._/+-]{0,255}$/);
  }
  const { memoryBytes, pids, cpus, tmpBytes, workspaceBytes } = options.limits;
  for (const [name, value] of Object.entries({ memoryBytes, pids, tmpBytes, workspaceBytes })) {
    if (!Number.isSafeInteger(value) || value <= 0) {
      throw refused(name, String(value), 'a whole number above 0');
    }
  }
  if (cpus !== undefined && !(Number.isFinite(cpus) && cpus > 0)) {
    throw refused('cpus', String(cpus), 'a number above 0');
  }
}

function identityFlags(request: RunRequest): string[] {
  const labels = Object.entries(request.labels).flatMap(([key, value]) => {
    checkPattern('label', `${key}=${value}`, /^[a-z0-9.-]+=[A-Za-z0-9._:%-]*$/);
    return [`--label=${key}=${value}`];
  });
  // `--pull=never`: a cell must not wait for a network; pulling is a step of its own.
  return ['--rm', '--interactive', '--pull=never', `--name=${request.name}`, ...labels];
}

function isolationFlags(request: RunRequest): string[] {
  return [
    '--network=none',
    '--hostname=sandbox',
    '--ipc=private',
    '--cgroupns=private',
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
    `--user=${userAndGroup(request.user).join(':')}`,
  ];
}

function fileSystemFlags({ engine, limits, user }: RunRequest): string[] {
  // `noexec` is hygiene only: memfd_create gets around it.
  const options = `rw,noexec,nosuid,nodev,mode=1777,${ownerOptions(engine, user)}`;
  return [
    '--read-only',
    `--tmpfs=/tmp:${options},size=${limits.tmpBytes}`,
    `--tmpfs=/workspace:${options},size=${limits.workspaceBytes}`,
    `--shm-size=${SHM_BYTES}`,
    '--workdir=/workspace',
  ];
}

/** `--mount` and not `--volume`: the engine then refuses a source that is not there, and does not make it. */
function mountFlags(mounts: readonly Mount[]): string[] {
  return mounts.map(({ source, target, isWritable }) => {
    // Parts of the value are separated by commas.
    checkPattern('mount', `${source}${target}`, /^[^,"\0\n]+$/);
    return `--mount=type=bind,source=${source},target=${target}${isWritable ? '' : ',readonly'}`;
  });
}

/**
 * Makes the sandbox's user own the tmpfs. The mode alone does not do: runc before 1.2 gives a tmpfs the mode of the
 * folder below it, which is 0755 when the image has one or docker made it for `--workdir`. podman takes no `uid`, and
 * would copy what the image has there into the tmpfs.
 */
function ownerOptions(engine: EngineName, user: string): string {
  const [uid, gid] = userAndGroup(user);
  return engine === 'podman' ? 'U,notmpcopyup' : `uid=${uid},gid=${gid}`;
}

/** User and group of a `user` option, as text. */
export function userAndGroup(user: string): readonly [string, string] {
  const [uid = user, gid = uid] = user.split(':');
  return [uid, gid];
}

function limitFlags(request: RunRequest): string[] {
  const { limits, hardLimits } = request;
  const processes = maxUserProcesses(limits.pids, hardLimits);
  const openFiles = Math.min(MAX_OPEN_FILES, hardLimits?.openFiles ?? MAX_OPEN_FILES);
  return [
    `--memory=${limits.memoryBytes}`,
    // Equal to the memory: no swap.
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
    // Else every byte of stdout goes to the host's disk, at half the speed.
    '--log-driver=none',
    // With the default (TERM, 10 s) `podman rm -f` in state "Stopping" drops the record and leaves the process (4.3.1).
    '--stop-signal=KILL',
    '--stop-timeout=1',
    '--no-healthcheck',
  ];
}

function podmanFlags(mounts: readonly Mount[]): string[] {
  // What code writes into a folder of the host belongs to another user there, and has to be readable for the person.
  const umask = mounts.some(({ isWritable }) => isWritable) ? '0022' : '0077';
  return [
    '--no-hosts',
    '--http-proxy=false',
    // Else /run and /var/tmp are writable, executable, and half of the machine's memory large.
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

/** Every flag with a value is written `--flag=value`, so that one argument is one flag. */
function withoutFlags(flags: readonly string[], omit: ReadonlySet<string> | undefined): string[] {
  return flags.filter((flag) => {
    const name = flag.split('=', 1)[0] ?? flag;
    return !(omit?.has(name) && Object.hasOwn(OMITTABLE_FLAGS, name));
  });
}

function checkPattern(what: string, value: string, allowed: RegExp): void {
  if (!allowed.test(value)) {
    throw refused(what, value, `text that matches ${allowed.source}`);
  }
}

function refused(what: string, value: string, allowed: string): BridgeError {
  return new BridgeError(
    'CONFIG_INVALID',
    `the sandbox ${what} ${JSON.stringify(value)} is refused; allowed is ${allowed}`,
    {
      hint: `Correct the setting of the sandbox ${what}.`,
    },
  );
}
