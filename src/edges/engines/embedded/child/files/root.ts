/** The file tree at the start of a sandbox: the read-only standard library, `/dev/null`, and three writable directories. */
import type { IndexedFile } from '../indexed-file.ts';
import { DirectoryNode, FileNode, NoContent, ReadOnlyContent } from './node.ts';
import { Volume } from './volume.ts';

/** For unpacked packages: this process holds them in memory. Chosen: several times the largest common set of pure Python. */
const PACKAGES_BYTES = 256 * 1024 * 1024;

/** Tells the interpreter, whose memory is the same at each start, to run one program. The kernel looks for it in /dev. */
const PROGRAM_MARK = 'program';

export interface WritableBytes {
  readonly tmpBytes: number;
  readonly workspaceBytes: number;
}

/**
 * `openPack` opens the files under /usr, with an index like `{ "usr/lib/a.py": [offset, length] }`. It is called on the first
 * access to /usr; each file is loaded when it is read.
 */
export function createRoot(
  openPack: () => IndexedFile,
  limits: WritableBytes,
  now: bigint,
  isForProgram = false,
): DirectoryNode {
  const system = new Volume(1, 0);
  const root = new DirectoryNode(system, now);
  root.entries.set('usr', new DirectoryNode(system, now, root, (usr) => fillFromPack(usr, openPack())));
  const dev = new DirectoryNode(system, now, root);
  dev.entries.set('null', new FileNode(new Volume(5, Number.MAX_SAFE_INTEGER), now, new NoContent()));
  if (isForProgram) {
    dev.entries.set(PROGRAM_MARK, new FileNode(system, now, new NoContent()));
  }
  root.entries.set('dev', dev);
  root.entries.set('tmp', new DirectoryNode(new Volume(2, limits.tmpBytes), now, root));
  root.entries.set('workspace', new DirectoryNode(new Volume(3, limits.workspaceBytes), now, root));
  root.entries.set('packages', new DirectoryNode(new Volume(4, PACKAGES_BYTES), now, root));
  return root;
}

function fillFromPack(usr: DirectoryNode, pack: IndexedFile): void {
  const epoch = 0n; // The time of every file, the same on all machines.
  for (const [path, [offset, length]] of Object.entries(pack.index as Record<string, [number, number]>)) {
    const [top, ...names] = path.split('/');
    const name = names.pop();
    if (top !== 'usr' || name === undefined) {
      throw new Error(`the standard library has a file outside /usr: ${path}`);
    }
    const content = new ReadOnlyContent(length, (target, position) => {
      pack.readData(target, offset + position);
      return target.length;
    });
    directoryAt(usr, names, epoch).entries.set(name, new FileNode(usr.volume, epoch, content));
  }
}

function directoryAt(start: DirectoryNode, names: readonly string[], now: bigint): DirectoryNode {
  let directory = start;
  for (const name of names) {
    let next = directory.entries.get(name);
    if (next === undefined) {
      next = new DirectoryNode(directory.volume, now, directory);
      directory.entries.set(name, next);
    }
    if (next.kind !== 'directory') {
      throw new Error(`the standard library has a file and a directory with the same name: ${name}`);
    }
    directory = next;
  }
  return directory;
}
