/**
 * Folders of the host that a sandbox can see (`MCP_BRIDGE_MOUNTS`): their syntax, and which are refused. A mount is a hole in
 * the sandbox that the user asks for, so any mount that would open more than one folder is refused.
 */
import { readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import nodePath, { dirname, isAbsolute, join, posix, resolve } from 'node:path';
import { BridgeError, messageOf } from '../../core/base/errors.ts';
import { homeFolder } from '../../core/base/home.ts';
import type { Mount } from '../../core/session/engine.ts';

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
  /** Files outside the state directory that define servers, and folders of such files. */
  readonly serverFiles?: readonly string[];
  /** The folder of this program. */
  readonly program?: string;
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
 * the user can intend: the home folder and its parents, the state directory, files that define servers, and sockets of engines.
 * Of a folder that code can write to, also what leads there counts, because code could put a link in its place.
 */
export function checkMounts(mounts: readonly Mount[], policy: MountPolicy): readonly Mount[] {
  const checked = mounts.map((mount) => ({ ...mount, written: mount.source, ...placeOf(mount.source, policy) }));
  for (const mount of checked) {
    refuseSecrets(mount, policy);
    refuseReplaceable(mount, checked);
  }
  return checked.map(({ source, target, isWritable }) => ({ source, target, isWritable }));
}

interface PlacedMount extends Mount {
  readonly written: string;
  /** The real folders in which a name of the path is looked up. */
  readonly way: readonly string[];
}

function placeOf(written: string, { home }: MountPolicy): Pick<PlacedMount, 'source' | 'way'> {
  const path = resolve(/^~(?=$|[/\\])/.test(written) ? join(home, written.slice(1)) : written);
  if (!isAbsolute(written) && !written.startsWith('~')) {
    throw refused(written, 'it is not an absolute path');
  }
  const source = realPathOf(path, written);
  if (!statSync(source).isDirectory()) {
    throw refused(written, 'it is not a folder');
  }
  return { source, way: wayTo(path) };
}

function refuseSecrets({ source, written, isWritable }: PlacedMount, policy: MountPolicy): void {
  const { home, stateDir, program, serverFiles = [] } = policy;
  const ofServers = 'which has your servers and their credentials';
  const secrets: [string, string][] = [
    [home, 'your home folder'],
    [homeFolder(process.env), 'your home folder'],
    [stateDir, `the state directory, ${ofServers}`],
    ...[...serverFiles, ...[stateDir, ...serverFiles].flatMap(filesIn)].map((file): [string, string] => [
      file,
      `${file}, ${ofServers}`,
    ]),
    ...ENGINE_SOCKETS.map((socket): [string, string] => [socket, 'the socket of a container engine']),
    ...(isWritable && program !== undefined ? [[program, 'this program'] satisfies [string, string]] : []),
  ];
  for (const [secret, name] of secrets) {
    if (contains(source, realOrSame(secret))) {
      throw refused(written, `it is, or contains, ${name}`);
    }
    if (isWritable && wayTo(secret).some((folder) => contains(source, folder))) {
      throw refused(written, `it contains a link that leads to ${name}`);
    }
  }
  const outside = [...KERNEL_FOLDERS, ...ENGINE_SOCKETS, stateDir].find((folder) =>
    contains(realOrSame(folder), source),
  );
  if (outside !== undefined) {
    throw refused(written, `it is inside ${outside}`);
  }
}

/** The next start would follow the link that code has put in the place of the folder. */
function refuseReplaceable({ way, written }: PlacedMount, mounts: readonly PlacedMount[]): void {
  const outer = mounts.find(({ isWritable, source }) => isWritable && way.some((folder) => contains(source, folder)));
  if (outer !== undefined) {
    throw refused(written, `code could replace it, because it can write to ${outer.written}`);
  }
}

/** The server files and the policy in a folder, which may be links. */
function filesIn(stateDir: string): string[] {
  try {
    return readdirSync(stateDir)
      .filter((name) => name.toLowerCase().endsWith('.json'))
      .map((name) => join(stateDir, name));
  } catch {
    return [];
  }
}

/** The real folders in which a name of the path is looked up, and those on the way of each link in it. */
function wayTo(path: string): string[] {
  const folders = new Set<string>();
  const paths = new Set([resolve(path)]);
  // The set grows while links are found.
  for (const next of paths) {
    for (let at = next; dirname(at) !== at; at = dirname(at)) {
      const folder = realOrSame(dirname(at));
      folders.add(folder);
      const target = targetOf(at);
      if (target !== undefined) {
        paths.add(resolve(folder, target));
      }
    }
  }
  return [...folders];
}

/** Undefined if it is no link. */
function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
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

/** Of a path that does not exist, the real path of the nearest folder that does, with the rest. */
function realOrSame(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const above = dirname(resolve(path));
    return above === resolve(path) ? above : join(realOrSame(above), nodePath.basename(path));
  }
}

function refused(source: string, reason: string): BridgeError {
  return new BridgeError('CONFIG_INVALID', `the mount of ${JSON.stringify(source)} is refused: ${reason}`, {
    hint: 'Correct MCP_BRIDGE_MOUNTS: name the one folder that the code needs, as /host/folder:/data[:ro|rw].',
  });
}
