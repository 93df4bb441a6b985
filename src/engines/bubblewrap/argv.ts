/**
 * The command line of a bubblewrap sandbox: a pure function, pinned by a literal test. What is not named here is not in
 * the sandbox: its root is an empty file system. Measured on bubblewrap 0.8.0, as root and as a normal user.
 */
import { BridgeError } from '../../base/errors.ts';
import { MAX_OPEN_FILES, maxUserProcesses, OOM_SCORE_ADJUSTMENT, SHM_BYTES, userAndGroup } from '../container/argv.ts';
import type { Mount, SandboxLimits } from '../engine.ts';
import type { HardLimits } from '../hard-limits.ts';
import type { Interpreter } from './interpreter.ts';

/** Absolute paths of the commands that start a sandbox, each of which becomes the next. */
export interface BubblewrapTools {
  readonly bwrap: string;
  readonly choom: string;
  readonly prlimit: string;
  /** Given when the bridge runs as root, which a sandbox must not be, not even outside of its user namespace. */
  readonly setpriv?: string | undefined;
}

/** A folder such as /lib: of its own, or a link, as into /usr on a merged system. */
export interface SystemFolder {
  readonly path: string;
  readonly linkTarget?: string | undefined;
}

export interface BubblewrapRequest {
  readonly tools: BubblewrapTools;
  /** Name of the sandbox, for `ps` on the host. */
  readonly name: string;
  readonly limits: SandboxLimits;
  /** `uid:gid` in the sandbox, as numbers. */
  readonly user: string;
  readonly interpreter: Interpreter;
  readonly folders: readonly SystemFolder[];
  /** Folders of the host; none when left out. */
  readonly mounts?: readonly Mount[] | undefined;
  /** Program and arguments of PID 1; `python3` stands for the interpreter. */
  readonly command: readonly string[];
  readonly hardLimits?: HardLimits | undefined;
}

/** Of /etc: what the loader, links in /usr and local time need. No accounts, hosts, names or certificates. */
const ETC_FILES = ['ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'alternatives', 'localtime'];

/** Program and arguments, in one list. Throws `CONFIG_INVALID` for a user that is refused. */
export function buildBubblewrapCommand(request: BubblewrapRequest): string[] {
  const { tools, limits, interpreter, command } = request;
  const [program = '', ...programArguments] = command;
  return [
    ...launcher(request),
    ...limitArguments(request),
    tools.bwrap,
    ...namespaceArguments(request),
    ...environmentArguments(interpreter),
    ...systemArguments(request.folders),
    ...scratchArguments(limits),
    ...(request.mounts ?? []).flatMap(mountArguments),
    ...(interpreter.prefix === undefined ? [] : ['--ro-bind', interpreter.prefix, interpreter.prefix]),
    '--chdir',
    '/workspace',
    // Last: nothing can be mounted after it.
    '--remount-ro',
    '/dev',
    '--remount-ro',
    '/',
    '--',
    program === 'python3' ? interpreter.path : program,
    ...programArguments,
  ];
}

/** What the command line begins with when the bridge runs as root: the sandbox's user, without groups. */
export function launcher({ tools, user }: Pick<BubblewrapRequest, 'tools' | 'user'>): string[] {
  if (!/^\d{1,10}(:\d{1,10})?$/.test(user)) {
    throw new BridgeError('CONFIG_INVALID', `the sandbox user ${JSON.stringify(user)} is refused`, {
      hint: 'Set MCP_BRIDGE_CONTAINER_USER to UID or UID:GID.',
    });
  }
  const [uid, gid] = userAndGroup(user);
  return tools.setpriv === undefined ? [] : [tools.setpriv, `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--'];
}

function limitArguments({ tools, limits, hardLimits }: BubblewrapRequest): string[] {
  const processes = maxUserProcesses(limits.pids, hardLimits);
  const openFiles = Math.min(MAX_OPEN_FILES, hardLimits?.openFiles ?? MAX_OPEN_FILES);
  return [
    tools.choom,
    `--adjust=${OOM_SCORE_ADJUSTMENT}`,
    '--',
    tools.prlimit,
    `--nofile=${openFiles}:${openFiles}`,
    `--nproc=${processes}:${processes}`,
    '--core=0:0',
    '--',
  ];
}

function namespaceArguments({ name, user }: BubblewrapRequest): string[] {
  const [uid, gid] = userAndGroup(user);
  return [
    ...['user', 'pid', 'net', 'ipc', 'uts', 'cgroup'].map((namespace) => `--unshare-${namespace}`),
    '--disable-userns',
    // The supervisor is PID 1 itself, and what it does relies on that.
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
    '--clearenv',
    // Does nothing: bubblewrap knows no names, and this one is seen by `ps` on the host and by nobody inside.
    '--unsetenv',
    name,
  ];
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
    ...ETC_FILES.flatMap((file) => ['--ro-bind-try', `/etc/${file}`, `/etc/${file}`]),
    '--proc',
    '/proc',
    // Else switches of the sandbox's own namespaces can be written; some are the whole machine's on older kernels.
    '--ro-bind',
    '/proc/sys',
    '/proc/sys',
    '--dev',
    '/dev',
  ];
}

/** bubblewrap has no `noexec`: programs may be executed here, which Python code could have done from memory anyway. */
function scratchArguments({ tmpBytes, workspaceBytes }: SandboxLimits): string[] {
  const scratch: [string, number][] = [
    ['/tmp', tmpBytes],
    ['/workspace', workspaceBytes],
    ['/dev/shm', SHM_BYTES],
  ];
  return scratch.flatMap(([folder, bytes]) => ['--perms', '1777', '--size', String(bytes), '--tmpfs', folder]);
}

function mountArguments({ source, target, isWritable }: Mount): string[] {
  return [isWritable ? '--bind' : '--ro-bind', source, target];
}
