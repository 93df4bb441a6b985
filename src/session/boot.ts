/**
 * The first bytes a sandbox gets: the kernel's sources, the code pack, the options of the supervisor.
 * The format is that of `sandbox-runtime/bridge_kernel/loader.py`: a header `name:length …`, then the parts.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface KernelSources {
  /** The program given to `python3 -c`. */
  readonly loader: string;
  /** Module name and source, sorted by name. */
  readonly modules: ReadonlyMap<string, Buffer>;
  /** SHA-256 of all sources, hexadecimal. */
  readonly hash: string;
}

const LOADER_MODULE = 'loader';

/** Reads the kernel's sources from their folder. */
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
 * What PID 1 of a sandbox runs. `-I`: neither the environment nor the working directory decides what is imported;
 * `-u` and UTF-8 mode: the same bytes on every image, whatever its locale.
 */
export function kernelCommand(sources: KernelSources): readonly string[] {
  return ['python3', '-I', '-u', '-X', 'utf8', '-c', sources.loader];
}

/** The blob for one sandbox. `memoryBytes` and `pids` are the bounds the supervisor checks against the cgroup. */
export function bootBlob(
  sources: KernelSources,
  options: { readonly memoryBytes: number; readonly pids: number; readonly pack?: Buffer | undefined },
): Buffer {
  const parts = new Map(sources.modules);
  parts.set('options', Buffer.from(`${options.memoryBytes} ${options.pids}`));
  if (options.pack !== undefined) {
    parts.set('pack', options.pack);
  }
  const header = [...parts].map(([name, data]) => `${name}:${data.length}`).join(' ');
  return Buffer.concat([Buffer.from(`${header}\n`), ...parts.values()]);
}
