/** The last lines of `uninstall`: what the bridge leaves on this machine, how large it is, and how to remove it. Changes nothing. */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { quoteShellWord } from '../../core/base/shell-words.ts';
import { sizeText } from '../../core/base/units.ts';
import { CONTAINER_ENGINE_NAMES } from '../../core/session/engine.ts';
import type { ClientSystem } from '../../edges/clients/table.ts';
import { ROOT_STORES } from '../../edges/engines/bubblewrap/bubblewrap.ts';
import { runEngineCommand } from '../../edges/engines/client.ts';
import { clientEnvironment } from '../../edges/engines/client-env.ts';
import { findExecutable, withInstallFolders } from '../../edges/engines/executable.ts';
import { listBackups } from '../../edges/servers/client-file.ts';

export interface StayingOptions {
  readonly stateDir: string;
  /** Name of the volume with packages. Without it, no engine is asked. */
  readonly packagesStore?: string | undefined;
  readonly system: ClientSystem;
  /** The files of clients, which may have backups. Links are resolved. */
  readonly files: readonly string[];
}

/** The largest parts of a folder are named; the others are counted. Chosen. */
const MAX_NAMED = 8;
/** Files that are measured; it takes about a second. Beyond them, a size is "more than". Chosen. */
const MAX_MEASURED_FILES = 20_000;
/** An engine that hangs must not hold up the command. Chosen. */
const ENGINE_TIMEOUT_MS = 5_000;

/** Lines for a terminal, whose control characters the caller escapes; empty if nothing stays. */
export async function describeStaying({ files, packagesStore, stateDir, system }: StayingOptions): Promise<string> {
  const backups = (await Promise.all([...new Set(files)].map(listBackups))).flat();
  const found = await Promise.all([
    describeFolder(stateDir, 'with your servers and settings'),
    packagesStore === undefined ? [] : describeVolumes(packagesStore, system),
    packagesStore === undefined ? [] : describeFolder(ROOT_STORES, 'with installed packages'),
  ]);
  const lines = [
    ...found.flat(),
    ...backups.map((path) => `${path}: a copy of the client's file, maybe with secrets. To remove it, delete it.`),
  ];
  const head = 'What stays on this machine; remove it once no client uses the bridge:';
  return lines.length === 0 ? '' : `${[head, ...lines.map((line) => `  ${line}`)].join('\n')}\n`;
}

async function describeFolder(folder: string, content: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const budget = { files: MAX_MEASURED_FILES };
  const parts: { name: string; bytes: number }[] = [];
  for (const name of names) {
    // biome-ignore lint/performance/noAwaitInLoops: they share one budget.
    parts.push({ name, bytes: await measure(join(folder, name), budget) });
  }
  const more = budget.files <= 0 ? 'more than ' : '';
  const named = parts.toSorted((a, b) => b.bytes - a.bytes).slice(0, MAX_NAMED);
  const shown = named.map(({ name, bytes }) => `${name} (${sizeText(bytes)})`).join(', ');
  const rest = parts.length > named.length ? ` and ${parts.length - named.length} more` : '';
  const size = sizeText(parts.reduce((sum, { bytes }) => sum + bytes, 0));
  return parts.length === 0
    ? []
    : [`${folder}, ${content}, ${more}${size}: ${shown}${rest}. To remove it, delete the folder, or parts of it.`];
}

/** The volumes of all container engines, also those of principals. */
async function describeVolumes(store: string, { env, platform }: ClientSystem): Promise<string[]> {
  const all = withInstallFolders(env, platform);
  const found = CONTAINER_ENGINE_NAMES.map(async (engine): Promise<string[]> => {
    const executable = findExecutable(engine, all);
    if (executable === undefined) {
      return [];
    }
    const ask = async (...words: string[]): Promise<string[]> => {
      const command = { executable, env: clientEnvironment(all) };
      const { exitCode, stdout } = await runEngineCommand(command, words, { timeoutMs: ENGINE_TIMEOUT_MS });
      return exitCode === 0 ? stdout.split('\n').filter((line) => line !== '') : [];
    };
    const names = (await ask('volume', 'ls', '--quiet', `--filter=name=${store}`)).filter(
      (name) => name === store || (name.startsWith(`${store}-`) && /-[0-9a-f]{16}$/.test(name)),
    );
    if (names.length === 0) {
      return [];
    }
    const places = await ask('volume', 'inspect', '--format={{.Mountpoint}}', ...names);
    const budget = { files: MAX_MEASURED_FILES };
    let bytes = 0;
    for (const place of places) {
      // biome-ignore lint/performance/noAwaitInLoops: they share one budget.
      bytes += await measure(place, budget);
    }
    // Where the engine is in a machine of its own, or belongs to root, they cannot be measured.
    const size = bytes === 0 ? '' : `, ${budget.files <= 0 ? 'more than ' : ''}${sizeText(bytes)}`;
    return [
      `Installed packages in ${engine}${size}. To remove them, run: ${engine} volume rm ${names.map((name) => quoteShellWord(name)).join(' ')}`,
    ];
  });
  return (await Promise.all(found)).flat();
}

/** Bytes of a file, or of all files in a folder; what cannot be read counts as nothing. Follows no link, and counts hard links once. */
async function measure(path: string, budget: { files: number }, seen = new Set<string>()): Promise<number> {
  const stats = await lstat(path).catch(() => undefined);
  budget.files -= 1;
  if (stats === undefined || budget.files <= 0) {
    return 0;
  }
  if (stats.isDirectory()) {
    let sum = 0;
    for (const name of await readdir(path).catch(() => [])) {
      // biome-ignore lint/performance/noAwaitInLoops: of a large tree, only as much as the budget.
      sum += await measure(join(path, name), budget, seen);
    }
    return sum;
  }
  const file = `${stats.dev}:${stats.ino}`;
  if (!stats.isFile() || (stats.nlink > 1 && seen.has(file))) {
    return 0;
  }
  seen.add(file);
  return stats.size;
}
