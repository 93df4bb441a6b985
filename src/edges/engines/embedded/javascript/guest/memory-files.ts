/** The files of a program, in memory: a tree by path, with the limits of the workspace. Nothing else exists. */
import { guestPath, WORKSPACE } from './paths.ts';

/** Files and folders. Chosen, as for Python. */
const MAX_ENTRIES = 20_000;

const MESSAGES = {
  ENOENT: 'no such file or directory',
  EEXIST: 'file already exists',
  EISDIR: 'illegal operation on a directory',
  ENOTDIR: 'not a directory',
  ENOTEMPTY: 'directory not empty',
  ENOSPC: 'no space left on device',
  EROFS: 'read-only file system',
} as const;

interface StoredFile {
  content: Uint8Array;
  modifiedMs: number;
  /** The content with which the program started. */
  readonly original?: Uint8Array | undefined;
}

/** An error with the message and the fields that Node's have. */
export function fileError(code: keyof typeof MESSAGES, syscall: string, path: string): Error {
  const error = new Error(`${code}: ${MESSAGES[code]}, ${syscall} '${path}'`);
  return Object.assign(error, { code, syscall, path });
}

export class MemoryFiles {
  /** Undefined for folders. Keys are absolute paths. */
  readonly #entries = new Map<string, StoredFile | undefined>([
    ['/', undefined],
    ['/tmp', undefined],
    [WORKSPACE, undefined],
  ]);
  maxBytes = Number.MAX_SAFE_INTEGER;
  #usedBytes = 0;

  /** Adds a file that was there before the program started. */
  add(name: string, content: Uint8Array): void {
    const path = guestPath.resolve(name);
    this.makeFolder(guestPath.dirname(path), true);
    this.#store(path, { content, modifiedMs: Date.now(), original: content });
  }

  kindOf(path: string): 'file' | 'folder' | undefined {
    const key = guestPath.resolve(path);
    return this.#entries.has(key) ? (this.#entries.get(key) === undefined ? 'folder' : 'file') : undefined;
  }

  file(path: string, syscall = 'open'): Readonly<StoredFile> {
    const key = guestPath.resolve(path);
    const file = this.#entries.get(key);
    if (file === undefined) {
      throw fileError(this.#entries.has(key) ? 'EISDIR' : 'ENOENT', this.#entries.has(key) ? 'read' : syscall, path);
    }
    return file;
  }

  write(path: string, content: Uint8Array): void {
    const key = guestPath.resolve(path);
    this.#checkParent(key, path, 'open');
    if (this.kindOf(key) === 'folder') {
      throw fileError('EISDIR', 'open', path);
    }
    this.#store(key, { content, modifiedMs: Date.now(), original: this.#entries.get(key)?.original });
  }

  makeFolder(path: string, isRecursive: boolean): void {
    const key = guestPath.resolve(path);
    const kind = this.kindOf(key);
    if (kind === 'file' || (kind === 'folder' && !isRecursive)) {
      throw fileError('EEXIST', 'mkdir', path);
    }
    if (kind === 'folder') {
      return;
    }
    if (isRecursive) {
      this.makeFolder(guestPath.dirname(key), true);
    }
    this.#checkParent(key, path, 'mkdir');
    this.#checkRoom(path, 'mkdir', 0);
    this.#entries.set(key, undefined);
  }

  /** Names in a folder, sorted. */
  list(path: string): string[] {
    const key = guestPath.resolve(path);
    const kind = this.kindOf(key);
    if (kind !== 'folder') {
      throw fileError(kind === undefined ? 'ENOENT' : 'ENOTDIR', 'scandir', path);
    }
    return [...this.#entries.keys()]
      .filter((entry) => entry !== '/' && guestPath.dirname(entry) === key)
      .map((entry) => guestPath.basename(entry))
      .toSorted();
  }

  remove(path: string, syscall: 'rm' | 'unlink' | 'rmdir', isRecursive: boolean): void {
    const key = guestPath.resolve(path);
    const kind = this.kindOf(key);
    if (kind === undefined) {
      throw fileError('ENOENT', syscall, path);
    }
    if (kind === 'folder' && syscall !== 'rmdir' && !isRecursive) {
      throw fileError('EISDIR', syscall, path);
    }
    if (kind === 'folder' && !isRecursive && this.list(key).length > 0) {
      throw fileError('ENOTEMPTY', syscall, path);
    }
    if (key === '/' || key === WORKSPACE || key === '/tmp') {
      throw fileError('EROFS', syscall, path);
    }
    for (const entry of this.#entries.keys()) {
      if (entry === key || entry.startsWith(`${key}/`)) {
        this.#usedBytes -= this.#entries.get(entry)?.content.length ?? 0;
        this.#entries.delete(entry);
      }
    }
  }

  /** Files of the workspace that are new or changed. */
  *changed(): Generator<[name: string, content: Uint8Array]> {
    for (const [path, file] of this.#entries) {
      if (file !== undefined && path.startsWith(`${WORKSPACE}/`) && !isSame(file.content, file.original)) {
        yield [path.slice(WORKSPACE.length + 1), file.content];
      }
    }
  }

  #store(key: string, file: StoredFile): void {
    const before = this.#entries.get(key)?.content.length ?? 0;
    this.#checkRoom(key, 'write', file.content.length - before);
    this.#usedBytes += file.content.length - before;
    this.#entries.set(key, file);
  }

  #checkRoom(path: string, syscall: string, moreBytes: number): void {
    const isFull = !this.#entries.has(guestPath.resolve(path)) && this.#entries.size >= MAX_ENTRIES;
    if (isFull || this.#usedBytes + moreBytes > this.maxBytes) {
      throw fileError('ENOSPC', syscall, path);
    }
  }

  #checkParent(key: string, path: string, syscall: string): void {
    const parent = guestPath.dirname(key);
    const kind = this.kindOf(parent);
    if (kind !== 'folder') {
      throw fileError(kind === undefined ? 'ENOENT' : 'ENOTDIR', syscall, path);
    }
    if (parent === '/') {
      throw fileError('EROFS', syscall, path);
    }
  }
}

function isSame(one: Uint8Array, other: Uint8Array | undefined): boolean {
  return other !== undefined && one.length === other.length && one.every((byte, index) => byte === other[index]);
}
