/**
 * Path lookup and all changes of the tree. Paths are resolved as in POSIX (path_resolution(7)): `..` of the root is the root, and
 * symbolic links are followed inside this tree. Nothing exists outside it.
 */
import { ERRNO, WasiError } from '../wasi/errno.ts';
import { DirectoryNode, FileNode, type FileTreeNode, LinkNode, MemoryContent } from './node.ts';

/** NAME_MAX of Linux, in bytes. */
const MAX_NAME_BYTES = 255;
/** The limit of Linux; a path with more links fails with LOOP. */
const MAX_LINKS = 40;

/** Where a path leads. `name` is empty if the path ends in the root, `.` or `..`; such a node cannot be renamed or removed. */
export interface ResolvedPath {
  readonly parent: DirectoryNode;
  readonly name: string;
  readonly node: FileTreeNode | undefined;
  /** Whether the path ended in a slash, so only a directory may be there. */
  readonly wantsDirectory: boolean;
}

/** Resolves `path`, relative to `start`. Fails with NOENT or NOTDIR if a directory on the way is missing. */
export function resolve(start: DirectoryNode, path: string, followLast: boolean): ResolvedPath {
  if (path === '') {
    throw new WasiError(ERRNO.NOENT);
  }
  const wantsDirectory = path.endsWith('/');
  const pending = components(path);
  let place = atDirectory(path.startsWith('/') ? rootOf(start) : start);
  let links = 0;
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    const directory = asDirectory(place.node);
    place = walk(directory, part);
    if (place.node?.kind === 'link' && (pending.length > 0 || followLast || wantsDirectory)) {
      links += 1;
      if (links > MAX_LINKS) {
        throw new WasiError(ERRNO.LOOP);
      }
      pending.push(...components(place.node.target));
      place = atDirectory(place.node.target.startsWith('/') ? rootOf(start) : directory);
    }
  }
  if (wantsDirectory && place.node !== undefined) {
    asDirectory(place.node);
  }
  return { ...place, wantsDirectory };
}

/** The parts of a path, last first. */
function components(path: string): string[] {
  return path
    .split('/')
    .filter((part) => part !== '')
    .toReversed();
}

function walk(directory: DirectoryNode, part: string): ResolvedPath {
  if (part === '.') {
    return atDirectory(directory);
  }
  return part === '..' ? atDirectory(directory.parent) : inDirectory(directory, part);
}

function atDirectory(node: DirectoryNode): ResolvedPath {
  return { parent: node.parent, name: '', node, wantsDirectory: false };
}

function inDirectory(parent: DirectoryNode, name: string): ResolvedPath {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
    throw new WasiError(ERRNO.NAMETOOLONG);
  }
  return { parent, name, node: parent.entries.get(name), wantsDirectory: false };
}

function rootOf(directory: DirectoryNode): DirectoryNode {
  let root = directory;
  while (root.parent !== root) {
    root = root.parent;
  }
  return root;
}

function asDirectory(node: FileTreeNode | undefined): DirectoryNode {
  if (node?.kind !== 'directory') {
    throw new WasiError(node === undefined ? ERRNO.NOENT : ERRNO.NOTDIR);
  }
  return node;
}

/** The node at `place`. Fails with NOENT if there is none. */
export function existing(place: ResolvedPath): FileTreeNode {
  if (place.node === undefined) {
    throw new WasiError(ERRNO.NOENT);
  }
  return place.node;
}

export function makeDirectory(place: ResolvedPath, now: bigint): void {
  add(place, () => new DirectoryNode(place.parent.volume, now, place.parent), now);
}

export function makeLink(place: ResolvedPath, target: string, now: bigint): void {
  if (target === '') {
    throw new WasiError(ERRNO.NOENT);
  }
  add(place, () => new LinkNode(place.parent.volume, now, target), now);
}

export function makeFile(place: ResolvedPath, now: bigint): FileNode {
  if (place.wantsDirectory) {
    throw new WasiError(ERRNO.ISDIR);
  }
  const { volume } = place.parent;
  return add(place, () => new FileNode(volume, now, new MemoryContent(volume)), now);
}

function add<Added extends FileTreeNode>(place: ResolvedPath, create: () => Added, now: bigint): Added {
  if (place.node !== undefined) {
    throw new WasiError(ERRNO.EXIST);
  }
  if (!place.parent.isLinked) {
    throw new WasiError(ERRNO.NOENT); // The directory was removed while open.
  }
  place.parent.volume.chargeNode();
  const node = create();
  put(place, node, now);
  return node;
}

function put(place: ResolvedPath, node: FileTreeNode, now: bigint): void {
  place.parent.entries.set(place.name, node);
  touch(place.parent, now);
}

function touch(directory: DirectoryNode, now: bigint): void {
  directory.times.modified = now;
  directory.times.changed = now;
}

export function removeDirectory(place: ResolvedPath, now: bigint): void {
  const directory = asDirectory(existing(place));
  checkChangeable(place);
  if (directory.entries.size > 0) {
    throw new WasiError(ERRNO.NOTEMPTY);
  }
  remove(place, directory, now);
}

export function removeFile(place: ResolvedPath, now: bigint): void {
  const node = existing(place);
  if (node.kind === 'directory') {
    throw new WasiError(ERRNO.ISDIR);
  }
  checkChangeable(place);
  remove(place, node, now);
}

/** The top directory of a volume has a read-only parent, so it cannot be removed or renamed. */
function checkChangeable(place: ResolvedPath): void {
  if (place.name === '') {
    throw new WasiError(ERRNO.INVAL);
  }
  place.parent.volume.checkWritable();
}

function remove(place: ResolvedPath, node: FileTreeNode, now: bigint): void {
  place.parent.entries.delete(place.name);
  touch(place.parent, now);
  node.isLinked = false;
  if (node.kind === 'file') {
    node.releaseIfUnused();
  }
  node.volume.releaseNode();
}

/** rename(2): replaces what is at `to`. Fails with XDEV between volumes. */
export function rename(from: ResolvedPath, to: ResolvedPath, now: bigint): void {
  const node = existing(from);
  checkChangeable(from);
  checkChangeable(to);
  if (from.parent.volume !== to.parent.volume) {
    throw new WasiError(ERRNO.XDEV);
  }
  if (to.node === node) {
    return;
  }
  checkTarget(node, to);
  if (to.node !== undefined) {
    remove(to, to.node, now);
  }
  from.parent.entries.delete(from.name);
  touch(from.parent, now);
  if (node.kind === 'directory') {
    node.parent = to.parent;
  }
  put(to, node, now);
}

function checkTarget(node: FileTreeNode, to: ResolvedPath): void {
  if (!to.parent.isLinked) {
    throw new WasiError(ERRNO.NOENT);
  }
  if (node.kind !== 'directory') {
    if (to.node?.kind === 'directory' || to.wantsDirectory) {
      throw new WasiError(ERRNO.ISDIR);
    }
    return;
  }
  for (let above = to.parent; above !== above.parent; above = above.parent) {
    if (above === node) {
      throw new WasiError(ERRNO.INVAL); // A directory cannot move into itself.
    }
  }
  if (to.node !== undefined && asDirectory(to.node).entries.size > 0) {
    throw new WasiError(ERRNO.NOTEMPTY);
  }
}
