/**
 * Folders of the host that a sandbox can see (`MCP_BRIDGE_MOUNTS`): their syntax, and which are refused. A mount is a hole in
 * the sandbox that the user asks for, so any mount that would open more than one folder is refused.
 */
import { realpathSync, statSync } from 'node:fs';
import nodePath, { isAbsolute, join, posix, resolve } from 'node:path';
import { BridgeError, messageOf } from '../base/errors.ts';
import { homeFolder } from '../base/home.ts';
import type { Mount } from '../engines/engine.ts';

/** `source:target`, `source:target:ro` or `source:target:rw`. The source may contain a colon, as on Windows. */
const MOUNT = /^(?<source>.+?):(?<target>\/[^:]*)(?::(?<mode>ro|rw))?$/;
/** Folders of the sandbox's own system. */
const OWN_FOLDERS = [
  'bin',
  'boot',
  'dev',
  'etc',
  'lib',
  'lib32',
  'lib64',
  'proc',
  'root',
  'run',
  'sbin',
  'sys',
  'usr',
  'var',
];
const SCRATCH_FOLDERS = ['/', '/tmp', '/workspace'];
/** Where engines listen. Whoever can write there controls the machine, or all containers of the user. */
const ENGINE_SOCKETS = ['/run/docker.sock', '/run/podman', '/run/containerd', '/run/user', '/run/crio'];
/** Their contents describe the host. */
const KERNEL_FOLDERS = ['/proc', '/sys', '/dev'];

export interface MountPolicy {
  /** The user's home folder. */
  readonly home: string;
  /** It has the definitions of the servers, and so credentials. */
  readonly stateDir: string;
}

/** Parses mounts separated by commas. Throws an Error that says which one is invalid. */
export function parseMounts(text: string): readonly Mount[] {
  const mounts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseMount);
  const targets = mounts.map(({ target }) => target);
  const twice = targets.find((target, index) => targets.indexOf(target) !== index);
  if (twice !== undefined) {
    throw new Error(`${twice} is the target of two mounts`);
  }
  return mounts;
}

function parseMount(text: string): Mount {
  const groups = MOUNT.exec(text)?.groups;
  if (groups === undefined) {
    throw new Error(`'${text}' does not have the form /host/folder:/target[:ro|rw]`);
  }
  const { source = '', target = '', mode } = groups;
  const cleanTarget = posix.normalize(target).replace(/(?<=.)\/$/, '');
  if (SCRATCH_FOLDERS.includes(cleanTarget) || OWN_FOLDERS.includes(cleanTarget.split('/')[1] ?? '')) {
    throw new Error(`the target ${cleanTarget} belongs to the sandbox; choose one such as /data`);
  }
  return { source, target: cleanTarget, isWritable: mode === 'rw' };
}

/**
 * The mounts with the real paths of their sources, which must exist. Throws `CONFIG_INVALID` for a folder that exposes more than
 * the user can intend: the home folder and its parents, the state directory, and sockets of engines.
 */
export function checkMounts(mounts: readonly Mount[], policy: MountPolicy): readonly Mount[] {
  return mounts.map((mount) => ({ ...mount, source: checkSource(mount.source, policy) }));
}

function checkSource(written: string, { home, stateDir }: MountPolicy): string {
  const path = resolve(/^~(?=$|[/\\])/.test(written) ? join(home, written.slice(1)) : written);
  if (!isAbsolute(written) && !written.startsWith('~')) {
    throw refused(written, 'it is not an absolute path');
  }
  const source = realPathOf(path, written);
  if (!statSync(source).isDirectory()) {
    throw refused(written, 'it is not a folder');
  }
  const secrets: [string, string][] = [
    [home, 'your home folder'],
    [homeFolder(process.env), 'your home folder'],
    [stateDir, 'the state directory, which has your servers and their credentials'],
    ...ENGINE_SOCKETS.map((socket): [string, string] => [socket, 'the socket of a container engine']),
  ];
  for (const [secret, name] of secrets) {
    if (contains(source, realOrSame(secret))) {
      throw refused(written, `it is, or contains, ${name}`);
    }
  }
  const outside = [...KERNEL_FOLDERS, ...ENGINE_SOCKETS, stateDir].find((folder) =>
    contains(realOrSame(folder), source),
  );
  if (outside !== undefined) {
    throw refused(written, `it is inside ${outside}`);
  }
  return source;
}

/** Whether `inner` is `outer` or inside it, by the rules of the system that `path` belongs to. Pure. */
export function contains(outer: string, inner: string, path: typeof posix = nodePath): boolean {
  const between = path.relative(outer, inner);
  return between === '' || (!path.isAbsolute(between) && between !== '..' && !between.startsWith(`..${path.sep}`));
}

/** `native` also returns the stored case of a path on file systems that ignore case, as on macOS. */
function realPathOf(path: string, written: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    throw refused(written, `it cannot be read: ${messageOf(error)}`);
  }
}

function realOrSame(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return resolve(path);
  }
}

function refused(source: string, reason: string): BridgeError {
  return new BridgeError('CONFIG_INVALID', `the mount of ${JSON.stringify(source)} is refused: ${reason}`, {
    hint: 'Correct MCP_BRIDGE_MOUNTS: name the one folder that the code needs, as /host/folder:/data[:ro|rw].',
  });
}
