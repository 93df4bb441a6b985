/** CPU profiles of the built bridge, summed up by the source files they come from. */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** Own time by part, in ms, the largest first. */
export type Times = readonly (readonly [part: string, ms: number])[];

export interface ProfileSummary {
  readonly bySource: Times;
  readonly byFunction: Times;
}

/** Sums up the profiles that `node --cpu-prof --cpu-prof-dir=folder` left of processes that ran the bridge. */
export async function readProfiles(folder: string): Promise<ProfileSummary> {
  const sources = new SourceFinder();
  const bySource = new Map<string, number>();
  const byFunction = new Map<string, number>();
  for (const file of await readdir(folder)) {
    const { nodes, samples, timeDeltas } = JSON.parse(await readFile(join(folder, file), 'utf8')) as Profile;
    const ownMs = new Map<number, number>();
    for (const [index, id] of samples.entries()) {
      ownMs.set(id, (ownMs.get(id) ?? 0) + (timeDeltas[index] ?? 0) / 1000);
    }
    for (const { id, callFrame } of nodes) {
      const ms = ownMs.get(id) ?? 0;
      const source = await sources.find(callFrame.url, callFrame.lineNumber, callFrame.functionName);
      add(bySource, source, ms);
      add(byFunction, `${source} ${callFrame.functionName}`, ms);
    }
  }
  return { bySource: sorted(bySource), byFunction: sorted(byFunction) };
}

function add(times: Map<string, number>, part: string, ms: number): void {
  if (ms > 0) {
    times.set(part, (times.get(part) ?? 0) + ms);
  }
}

function sorted(times: ReadonlyMap<string, number>): Times {
  return [...times].toSorted(([, a], [, b]) => b - a);
}

/** Finds the source file of a line in a chunk of the build: esbuild writes a comment with its name before each module. */
class SourceFinder {
  readonly #lines = new Map<string, string[]>();

  async find(url: string, line: number, functionName: string): Promise<string> {
    if (!url.startsWith('file:')) {
      return url === '' ? functionName : url;
    }
    const lines = this.#lines.get(url) ?? (await readFile(fileURLToPath(url), 'utf8')).split('\n');
    this.#lines.set(url, lines);
    const comment = lines.slice(0, line + 1).findLast((text) => /^\/\/ [\w@./-]+\.[cm]?[jt]s$/.test(text));
    return comment?.slice('// '.length) ?? join(dirname(url), 'unknown');
  }
}
