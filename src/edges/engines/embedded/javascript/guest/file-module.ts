/** `node:fs` and `node:fs/promises` on the files in memory. Reading descriptor 0 reads stdin. */
import { Buffer, bytesOf, textOf, viewOf } from './bytes.ts';
import { fileError, type MemoryFiles } from './memory-files.ts';
import { guestPath } from './paths.ts';

type EncodingOption = string | { readonly encoding?: string | null } | null | undefined;
type Content = string | Uint8Array;

const FILE_MODE = 0o100_644;
const FOLDER_MODE = 0o040_755;
const SCHEME = 'file://';

function encodingOf(option: EncodingOption): string | undefined {
  return (typeof option === 'object' ? option?.encoding : option) ?? undefined;
}

function toBytes(content: Content, option: EncodingOption): Uint8Array {
  return typeof content === 'string' ? bytesOf(content, encodingOf(option)) : Uint8Array.from(content);
}

function toPath(path: unknown): string {
  const text = String(path);
  return text.startsWith(SCHEME) ? text.slice(SCHEME.length) : text;
}

/** Both modules; `takeStdin` returns all of stdin once. */
export function createFileModules(files: MemoryFiles, takeStdin: () => Uint8Array) {
  const read = { ...readers(files, takeStdin) };
  const synchronous = { ...read, ...writers(files) };
  const promises = Object.fromEntries(
    Object.entries(synchronous).map(([name, run]) => [
      name.replace(/Sync$/, ''),
      async (...args: unknown[]) => (run as (...values: unknown[]) => unknown)(...args),
    ]),
  );
  return { fs: { ...synchronous, promises }, promises };
}

function readers(files: MemoryFiles, takeStdin: () => Uint8Array) {
  const statSync = (path: unknown, { throwIfNoEntry = true }: { throwIfNoEntry?: boolean } = {}) => {
    const kind = files.kindOf(toPath(path));
    if (kind === undefined && throwIfNoEntry) {
      throw fileError('ENOENT', 'stat', toPath(path));
    }
    return kind === undefined ? undefined : statsOf(files, toPath(path), kind);
  };
  return {
    readFileSync(path: unknown, option?: EncodingOption): string | Buffer {
      const isStdin = path === 0 || path === '/dev/stdin';
      const content = isStdin ? takeStdin() : files.file(toPath(path)).content;
      const encoding = encodingOf(option);
      return encoding === undefined ? viewOf(content.slice()) : textOf(content, encoding);
    },
    existsSync: (path: unknown) => files.kindOf(toPath(path)) !== undefined,
    accessSync(path: unknown): void {
      statSync(path);
    },
    readdirSync: (path: unknown, options: { withFileTypes?: boolean; recursive?: boolean } = {}) =>
      listFolder(files, toPath(path), options),
    statSync,
    lstatSync: statSync,
    realpathSync(path: unknown): string {
      statSync(path);
      return guestPath.resolve(toPath(path));
    },
  };
}

function listFolder(files: MemoryFiles, folder: string, options: { withFileTypes?: boolean; recursive?: boolean }) {
  const collect = (path: string): string[] =>
    files.list(path).flatMap((name) => {
      const whole = guestPath.join(path, name);
      return [whole, ...(options.recursive === true && files.kindOf(whole) === 'folder' ? collect(whole) : [])];
    });
  return collect(folder).map((path) => {
    const name = guestPath.relative(folder, path);
    const isFolder = files.kindOf(path) === 'folder';
    return options.withFileTypes === true
      ? {
          name: guestPath.basename(path),
          parentPath: guestPath.dirname(path),
          isFile: () => !isFolder,
          isDirectory: () => isFolder,
          isSymbolicLink: () => false,
        }
      : name;
  });
}

function statsOf(files: MemoryFiles, path: string, kind: 'file' | 'folder') {
  const isFile = kind === 'file';
  const { content, modifiedMs } = isFile ? files.file(path) : { content: new Uint8Array(0), modifiedMs: 0 };
  return {
    size: content.length,
    mode: isFile ? FILE_MODE : FOLDER_MODE,
    mtimeMs: modifiedMs,
    mtime: new Date(modifiedMs),
    isFile: () => isFile,
    isDirectory: () => !isFile,
    isSymbolicLink: () => false,
  };
}

function writers(files: MemoryFiles) {
  const writeFileSync = (path: unknown, content: Content, option?: EncodingOption & { flag?: string }): void => {
    const bytes = toBytes(content, option);
    const isAppending = typeof option === 'object' && option?.flag === 'a';
    files.write(toPath(path), isAppending ? joined(files, toPath(path), bytes) : bytes);
  };
  const copyFileSync = (from: unknown, to: unknown): void =>
    files.write(toPath(to), files.file(toPath(from), 'copyfile').content.slice());
  return {
    writeFileSync,
    appendFileSync: (path: unknown, content: Content, option?: EncodingOption): void =>
      files.write(toPath(path), joined(files, toPath(path), toBytes(content, option))),
    copyFileSync,
    renameSync(from: unknown, to: unknown): void {
      copyFileSync(from, to);
      files.remove(toPath(from), 'unlink', false);
    },
    mkdirSync: (path: unknown, options?: { recursive?: boolean }): void =>
      files.makeFolder(toPath(path), options?.recursive === true),
    unlinkSync: (path: unknown): void => files.remove(toPath(path), 'unlink', false),
    rmdirSync: (path: unknown): void => files.remove(toPath(path), 'rmdir', false),
    rmSync(path: unknown, options: { recursive?: boolean; force?: boolean } = {}): void {
      if (options.force !== true || files.kindOf(toPath(path)) !== undefined) {
        files.remove(toPath(path), 'rm', options.recursive === true);
      }
    },
  };
}

function joined(files: MemoryFiles, path: string, more: Uint8Array): Uint8Array {
  return files.kindOf(path) === 'file' ? Buffer.concat([files.file(path).content, more]) : more;
}
