/**
 * Builds the first bytes that a sandbox gets: the kernel's sources, the code pack, the options of the supervisor. The format is
 * defined by `sandbox-runtime/bridge_kernel/loader.py`.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface KernelSources {
  /** The program for `python3 -c`. */
  readonly loader: string;
  /** Module name and source, sorted by name. */
  readonly modules: ReadonlyMap<string, Buffer>;
  /** SHA-256 of all sources, hexadecimal. */
  readonly hash: string;
}

/** A set of packages that a session can import from its start. */
export interface PackageSet {
  /** Its folder in the sandbox. */
  readonly path: string;
  /** The interpreter and the platform that it is for. Any other leaves it alone. */
  readonly python: string;
}

const LOADER_MODULE = 'loader';
const HEADER_LENGTH_DIGITS = 8;

export async function readKernelSources(folder: string): Promise<KernelSources> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.py')).toSorted();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file))));
  const hash = createHash('sha256');
  const modules = new Map<string, Buffer>();
  for (const [index, file] of files.entries()) {
    const text = texts[index] ?? Buffer.alloc(0);
    hash.update(`${file}\0${text.length}\0`).update(text);
    modules.set(file.slice(0, -'.py'.length), text);
  }
  const loader = modules.get(LOADER_MODULE);
  if (loader === undefined) {
    throw new Error(`${join(folder, LOADER_MODULE)}.py is missing: the installation is damaged`);
  }
  modules.delete(LOADER_MODULE);
  return { loader: loader.toString('utf8'), modules, hash: hash.digest('hex') };
}

/**
 * The command of PID 1 in a sandbox. With `-I`, neither the environment nor the working directory affects imports; with
 * `-u` and UTF-8 mode, the bytes are the same on every image and locale.
 */
export function kernelCommand(sources: KernelSources): readonly string[] {
  return ['python3', '-I', '-u', '-X', 'utf8', '-c', sources.loader];
}

/**
 * The blob for one sandbox, in pieces. The supervisor compares `memoryBytes` and `pids` with the cgroup. The pack is a piece of its
 * own because copying its megabytes for every start was the longest turn of a bridge whose sessions come and go.
 */
export function bootBlob(
  sources: KernelSources,
  options: {
    readonly memoryBytes: number;
    readonly pids: number;
    readonly pack?: Buffer | undefined;
    /** Modules that it imports before a session greets it. */
    readonly modules?: readonly string[] | undefined;
    readonly packages?: PackageSet | undefined;
  },
): readonly Buffer[] {
  const small = new Map(sources.modules);
  const { memoryBytes, modules = [], packages, pids } = options;
  const lines = [[memoryBytes, pids, ...modules].join(' '), ...(packages ? [packages.path, packages.python] : [])];
  small.set('options', Buffer.from(lines.join('\n')));
  const pack = options.pack === undefined ? [] : [['pack', options.pack] as const];
  const header = [...small, ...pack].map(([name, data]) => `${name}:${data.length}`).join(' ');
  const length = String(header.length).padStart(HEADER_LENGTH_DIGITS, '0');
  return [Buffer.concat([Buffer.from(length + header), ...small.values()]), ...pack.map(([, data]) => data)];
}
