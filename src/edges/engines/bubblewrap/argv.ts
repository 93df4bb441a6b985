/**
 * The command line of a bubblewrap sandbox: a pure function, pinned by a literal test. The sandbox starts with an empty root, so it
 * contains only what is named here. Tested with bubblewrap 0.8.0, as root and as an ordinary user.
 */
import { BridgeError } from '../../../core/base/errors.ts';
import {
  type Mount,
  OPERATORS_PACKAGES_FOLDER,
  PACKAGES_FOLDER,
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
import { type OwnFile, SHOWN_IN_ETC } from './etc-files.ts';
import type { Interpreter } from './interpreter.ts';

/** Absolute paths of the commands that start a sandbox. Each executes the next one. */
export interface BubblewrapTools {
  readonly bwrap: string;
  readonly choom: string;
  readonly prlimit: string;
  /** Set if the bridge runs as root. A sandbox must not be root, not even outside its user namespace. */
  readonly setpriv?: string | undefined;
  /** setpriv, if this machine has it: with it, a runner starts its program without its own capability. */
  readonly setprivOfRunner?: string | undefined;
}

/**
 * Only runners have it. A process cannot open the pipes or the memory of one with a capability that it lacks (capabilities(7),
 * `cap_ptrace_access_check` in Linux). This one allows nothing in a user namespace.
 */
const CAPABILITY_OF_RUNNERS = 'CAP_WAKE_ALARM';

/** A folder such as /lib. On a system with merged /usr it is a link. */
export interface SystemFolder {
  readonly path: string;
  readonly linkTarget?: string | undefined;
}

export interface BubblewrapRequest {
  readonly tools: BubblewrapTools;
  /** Name of the sandbox, for `ps` on the host. */
  readonly name: string;
  readonly limits: SandboxLimits;
  /** `UID[:GID]` in the sandbox. */
  readonly user: string;
  readonly interpreter: Interpreter;
  readonly folders: readonly SystemFolder[];
  /** Host folders to mount; none by default. */
  readonly mounts?: readonly Mount[] | undefined;
  /** Folder of the package store on the host; none by default. */
  readonly packages?: string | undefined;
  /** Of the operator's store, for a builder of a principal. */
  readonly operatorsPackages?: string | undefined;
  /** See `StartRequest`. */
  readonly isBuilder?: boolean | undefined;
  readonly isOffline?: boolean | undefined;
  readonly program?: ProgramSandbox | undefined;
  /** Files that bwrap makes of what it reads from `FIRST_DESCRIPTOR` and the next ones. */
  readonly files?: readonly OwnFile[] | undefined;
  /** Whether bwrap reads a system-call filter from the descriptor after those: builders and programs have no supervisor that applies one. */
  readonly hasFilter?: boolean | undefined;
  /** Whether the Linux kernel counts processes by user namespace (5.14 or newer). */
  readonly countsProcesses?: boolean | undefined;
  /** Program and arguments of PID 1; `python3` stands for the interpreter. */
  readonly command: readonly string[];
  readonly hardLimits?: HardLimits | undefined;
}

/** The first one after stdin, stdout and stderr. */
const FIRST_DESCRIPTOR = 3;

/** Of a builder. Some systems link `resolv.conf` to /run. */
const NETWORK_FILES = [
  '/etc/resolv.conf',
  '/etc/hosts',
  '/etc/nsswitch.conf',
  '/etc/ssl',
  '/etc/pki',
  '/etc/ca-certificates',
  '/run/systemd/resolve',
];

/** The program and its arguments. Throws `CONFIG_INVALID` if `user` is invalid. */
export function buildBubblewrapCommand(given: BubblewrapRequest): string[] {
  const request = given.program === undefined ? given : ofProgram(given, given.program);
  const { tools, limits, interpreter, command, files = [] } = request;
  const [program = '', ...programArguments] = command;
  return [
    ...launcher(request),
    ...limitArguments(request),
    tools.bwrap,
    ...namespaceArguments(request),
    ...environmentArguments(interpreter),
    ...runnerArguments(request),
    ...systemArguments(request.folders),
    ...files.flatMap(({ path }, index) => ['--perms', '0444', '--ro-bind-data', `${FIRST_DESCRIPTOR + index}`, path]),
    ...scratchArguments(limits),
    ...(request.isBuilder === true ? networkArguments() : (request.mounts ?? []).flatMap(mountArguments)),
    ...storeArguments(request),
    ...(interpreter.prefix === undefined ? [] : ['--ro-bind', interpreter.prefix, interpreter.prefix]),
    ...(request.program?.binds ?? []).flatMap((path) => ['--ro-bind', path, path]),
    '--chdir',
    '/workspace',
    // Last, because nothing can be mounted afterwards.
    '--remount-ro',
    '/dev',
    '--remount-ro',
    '/',
    ...(request.hasFilter === true ? ['--seccomp', `${FIRST_DESCRIPTOR + files.length}`] : []),
    '--',
    program === 'python3' ? interpreter.path : program,
    ...programArguments,
  ];
}

/** What a program has instead of what a session has: neither folders of the user nor packages. */
function ofProgram(request: BubblewrapRequest, { limits }: ProgramSandbox): BubblewrapRequest {
  const own = limits ?? request.limits;
  return { ...request, limits: own, mounts: undefined, packages: undefined, command: limited(request, own) };
}

/** Inside the sandbox, in whose user namespace only its own processes count. A limit from outside would count all of the user. */
function limited({ command, countsProcesses, tools }: BubblewrapRequest, { pids }: SandboxLimits): readonly string[] {
  return countsProcesses === true ? [tools.prlimit, `--nproc=${pids}:${pids}`, '--', ...command] : command;
}

/** The start of the command line if the bridge runs as root: switches to the sandbox's user, without groups. */
export function launcher({ tools, user }: Pick<BubblewrapRequest, 'tools' | 'user'>): string[] {
  if (!/^\d{1,10}(:\d{1,10})?$/.test(user)) {
    throw new BridgeError('CONFIG_INVALID', `the sandbox user ${JSON.stringify(user)} is invalid`, {
      hint: 'Set MCP_BRIDGE_CONTAINER_USER to UID or UID:GID.',
    });
  }
  const [uid, gid] = userAndGroup(user);
  return tools.setpriv === undefined ? [] : [tools.setpriv, `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--'];
}

function limitArguments({ tools, limits, hardLimits, isBuilder, program }: BubblewrapRequest): string[] {
  const { openFiles, processes } = resourceLimits(limits, hardLimits);
  return [
    tools.choom,
    `--adjust=${OOM_SCORE_ADJUSTMENT}`,
    '--',
    tools.prlimit,
    `--nofile=${openFiles}:${openFiles}`,
    `--nproc=${processes}:${processes}`,
    '--core=0:0',
    // Of each process; a builder has two, and nothing else can limit a program here. The supervisor of a session counts all of its processes together instead.
    ...(isBuilder === true ? [`--data=${limits.memoryBytes}:${limits.memoryBytes}`] : []),
    ...(program === undefined ? [] : [`--data=${dataLimit(limits)}:${dataLimit(limits)}`]),
    '--',
  ];
}

function namespaceArguments({ isBuilder, isOffline, name, program, user }: BubblewrapRequest): string[] {
  const [uid, gid] = userAndGroup(user);
  const hasNetwork = isBuilder === true && isOffline !== true;
  const namespaces = ['user', 'pid', ...(hasNetwork ? [] : ['net']), 'ipc', 'uts', 'cgroup'];
  return [
    ...namespaces.map((namespace) => `--unshare-${namespace}`),
    '--disable-userns',
    // The supervisor relies on being PID 1.
    '--as-pid-1',
    '--die-with-parent',
    '--new-session',
    '--uid',
    uid,
    '--gid',
    gid,
    '--hostname',
    'sandbox',
    '--cap-drop',
    'ALL',
    // For the supervisor, which mounts what bubblewrap cannot and then drops both (`mounts.py`).
    ...(isBuilder === true || program !== undefined ? [] : ['--cap-add', 'CAP_SYS_ADMIN', '--cap-add', 'CAP_SETPCAP']),
    '--clearenv',
    // Has no effect except that `ps` on the host shows the name; bubblewrap has no option for a name.
    '--unsetenv',
    name,
  ];
}

function runnerArguments({ program, tools: { setprivOfRunner } }: BubblewrapRequest): string[] {
  return program?.hasRunner === true && setprivOfRunner !== undefined
    ? ['--cap-add', CAPABILITY_OF_RUNNERS, '--setenv', 'BRIDGE_SETPRIV', setprivOfRunner]
    : [];
}

function environmentArguments({ path }: Interpreter): string[] {
  const folder = path.slice(0, path.lastIndexOf('/'));
  const environment = {
    PATH: [...new Set([folder, '/usr/bin', '/bin'])].join(':'),
    HOME: '/workspace',
    LANG: 'C.UTF-8',
    PYTHONUNBUFFERED: '1',
    PYTHONIOENCODING: 'utf-8',
    PYTHONDONTWRITEBYTECODE: '1',
  };
  return Object.entries(environment).flatMap(([variable, value]) => ['--setenv', variable, value]);
}

function systemArguments(folders: readonly SystemFolder[]): string[] {
  return [
    '--ro-bind',
    '/usr',
    '/usr',
    ...folders.flatMap(({ path, linkTarget }) =>
      linkTarget === undefined ? ['--ro-bind', path, path] : ['--symlink', linkTarget, path],
    ),
    ...Object.keys(SHOWN_IN_ETC).flatMap((file) => ['--ro-bind-try', `/etc/${file}`, `/etc/${file}`]),
    '--proc',
    '/proc',
    // Otherwise code could change the kernel settings of its own namespaces, some of which affect the whole machine on older kernels.
    '--ro-bind',
    '/proc/sys',
    '/proc/sys',
    '--dev',
    '/dev',
    // Reads the same, but cannot be mapped: a shared mapping of /dev/zero is memory that only a cgroup counts.
    '--dev-bind',
    '/dev/full',
    '/dev/zero',
  ];
}

/** bubblewrap has no `noexec`; the supervisor remounts these folders with it. */
function scratchArguments({ tmpBytes, workspaceBytes }: SandboxLimits): string[] {
  const scratch: [string, number][] = [
    ['/tmp', tmpBytes],
    ['/workspace', workspaceBytes],
    ['/dev/shm', SHM_BYTES],
  ];
  return scratch.flatMap(([folder, bytes]) => ['--perms', '1777', '--size', String(bytes), '--tmpfs', folder]);
}

/** What a builder needs to resolve names and to check certificates. */
function networkArguments(): string[] {
  return NETWORK_FILES.flatMap((file) => ['--ro-bind-try', file, file]);
}

/** A session sees only finished sets: it may have the user of the builder, and locks what it can read. */
function storeArguments({ isBuilder, operatorsPackages, packages }: BubblewrapRequest): string[] {
  if (packages === undefined) {
    return [];
  }
  const shared = operatorsPackages === undefined ? [] : ['--ro-bind-try', operatorsPackages, OPERATORS_PACKAGES_FOLDER];
  return isBuilder === true
    ? ['--bind', packages, PACKAGES_FOLDER, ...shared]
    : ['--ro-bind', `${packages}/sets`, `${PACKAGES_FOLDER}/sets`];
}

function mountArguments({ source, target, isWritable }: Mount): string[] {
  return [isWritable ? '--bind' : '--ro-bind', source, target];
}
