/**
 * Where the time of a start goes, as a table for `docs/internals/performance.md`. Profiles starts of a built command to the answer
 * to `tools/list`, and adds the files that each loads:
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs bench/profile/start-up.ts [DIST/cli.js …]
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CLI } from '../../test/support/bridge-client.ts';
import { loadedFiles } from '../../test/support/loaded-files.ts';
import { timeToTools } from '../measures/start-up.ts';

const STARTS = 7;
const SAMPLE_US = 200;

interface Frame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: Frame; readonly children?: readonly number[] }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** The first of these that a frame of the stack belongs to, from the innermost out, gets the time. */
const PARTS: readonly (readonly [title: string, isOf: (frame: Frame) => boolean])[] = [
  ['waiting for the client and the disk', ({ functionName }) => functionName === '(idle)'],
  ['garbage collection', ({ functionName }) => functionName === '(garbage collector)'],
  ['the MCP SDK and zod', (frame) => isOfProgram(frame) && isOfPackage(frame)],
  ["the program's own code", isOfProgram],
  ['finding, reading and compiling modules', ({ url }) => url.startsWith('node:internal/modules/')],
  ['Node itself', () => true],
];

function isOfProgram({ url }: Frame): boolean {
  return url.startsWith('file:');
}

const linesOf = new Map<string, readonly string[]>();

/** Chunks say above each module which file it is. */
function isOfPackage({ url, lineNumber }: Frame): boolean {
  const lines = linesOf.get(url) ?? readFileSync(fileURLToPath(url), 'utf8').split('\n');
  linesOf.set(url, lines);
  for (let line = lineNumber; line >= 0; line -= 1) {
    if (/^\/\/ (?:src|node_modules)\//.test(lines[line] ?? '')) {
      return lines[line]?.startsWith('// node_modules/') ?? false;
    }
  }
  return false;
}

/** Milliseconds of each part. */
function sumParts({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  const sums = new Map<string, number>();
  samples.forEach((sample, index) => {
    const stack: Frame[] = [];
    for (let id: number | undefined = sample; id !== undefined; id = parents.get(id)) {
      stack.push(...[byId.get(id)?.callFrame].filter((frame) => frame !== undefined));
    }
    const [part] = stack.flatMap((frame) => PARTS.slice(0, -1).find(([, isOf]) => isOf(frame))?.[0] ?? []);
    const title = part ?? PARTS.at(-1)?.[0] ?? '';
    sums.set(title, (sums.get(title) ?? 0) + (timeDeltas[index] ?? 0) / 1000);
  });
  return sums;
}

async function profile(script: string): Promise<{ parts: Map<string, number>; files: number; bytes: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'profile-'));
  const state = mkdtempSync(join(tmpdir(), 'state-'));
  const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, `--cpu-prof-interval=${SAMPLE_US}`];
  try {
    for (let start = 0; start < STARTS; start += 1) {
      await timeToTools(script, state, { flags });
    }
    const parts = new Map<string, number>();
    for (const name of readdirSync(folder)) {
      for (const [title, ms] of sumParts(JSON.parse(readFileSync(join(folder, name), 'utf8')) as Profile)) {
        parts.set(title, (parts.get(title) ?? 0) + ms / STARTS);
      }
    }
    const loaded = await loadedFiles(async (env) => {
      await timeToTools(script, state, { env });
    });
    return { parts, files: loaded.length, bytes: loaded.reduce((sum, { bytes }) => sum + bytes, 0) };
  } finally {
    rmSync(folder, { recursive: true });
    rmSync(state, { recursive: true });
  }
}

const scripts = process.argv.length > 2 ? process.argv.slice(2) : [CLI];
for (const script of scripts) {
  const { parts, files, bytes } = await profile(script);
  const total = [...parts.values()].reduce((sum, ms) => sum + ms, 0);
  const rows = PARTS.map(([title]) => [title, parts.get(title) ?? 0] as const);
  process.stdout.write(
    `${script}: ${files} files, ${Math.round(bytes / 1000)} KB\n\n| Part | ms | share |\n| --- | --- | --- |\n`,
  );
  rows.forEach(([title, ms]) =>
    process.stdout.write(`| ${title} | ${ms.toFixed(1)} | ${Math.round((100 * ms) / total)} % |\n`),
  );
  process.stdout.write('\n');
}
