/** The share of wanted tools that each neighbour's search finds among the first five, on data that are not part of this project. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type JudgedQuery, measureQuality } from '../../test/support/search-quality.ts';
import { readJudged, readTools } from '../support/judged-queries.ts';
import type { Servers } from './neighbour.ts';

const SERVER = fileURLToPath(new URL('catalog-server.mjs', import.meta.url));
/**
 * All tools are listed by one server: starting hundreds of servers would measure the machine, and some neighbours start all of
 * them. The name of a tool begins with that of its server, so no tool loses a word.
 */
const CATALOG = 'catalog';

export interface SearchSet {
  readonly servers: Servers;
  readonly tools: number;
  readonly queries: readonly JudgedQuery[];
}

/** Rejects if the folder has no such data; see `bench/search-quality.ts`. */
export async function readSearchSet(source: string, scratch: string): Promise<SearchSet> {
  const lines = await readTools(source);
  const tools = lines.map(({ server, tool, description, parameters }) => ({
    name: nameOf(server, tool),
    description: description ?? '',
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries((parameters ?? []).map((name) => [name, { type: 'string' }])),
    },
  }));
  await mkdir(scratch, { recursive: true });
  const file = join(scratch, 'catalog.json');
  await writeFile(file, JSON.stringify(tools));
  // Long tasks for several tools at once are not what a search is asked.
  const queries = (await readJudged(source, nameOf)).filter(({ kind }) => kind !== 'task');
  return { servers: { [CATALOG]: { command: process.execPath, args: [SERVER, file] } }, tools: tools.length, queries };
}

/** Recall among the first five, over all queries. */
export function recallOf(queries: readonly JudgedQuery[], found: readonly (readonly string[])[]): number {
  const hits = new Map(queries.map(({ query }, index) => [query, found[index] ?? []]));
  return measureQuality(queries, (query) => hits.get(query) ?? []).at(-1)?.recallAt5 ?? 0;
}

/** A name that every neighbour takes as it is. */
function nameOf(server: string, tool: string): string {
  return `${server}__${tool}`.replaceAll(/\W/g, '_');
}
