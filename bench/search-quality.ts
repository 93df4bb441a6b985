/**
 * `node --import ./scripts/typescript-loader.mjs bench/search-quality.ts FOLDER`: measures search quality on tools and queries
 * that are not part of this project. The folder has `tools.jsonl` (`{server, tool, description, parameters}`) and
 * `queries*.jsonl` (`{query, kind, relevant: [{server, tool, group}]}`; one tool of each group must be found).
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../src/base/errors.ts';
import { createPause } from '../src/base/slices.ts';
import { createSearchIndex, type SearchIndex, type SearchTool } from '../src/catalog/search.ts';
import { type JudgedQuery, measureQuality } from '../test/support/search-quality.ts';
import { median, percentile } from './support/statistics.ts';

interface ToolLine {
  readonly server: string;
  readonly tool: string;
  readonly description?: string | null;
  readonly parameters?: readonly string[] | null;
}

interface QueryLine {
  readonly query: string;
  readonly kind: string;
  readonly relevant: readonly { readonly server: string; readonly tool: string; readonly group: number }[];
}

async function main([folder]: readonly string[]): Promise<void> {
  if (folder === undefined) {
    throw new Error('Name a folder with tools.jsonl and queries*.jsonl.');
  }
  const tools = await readLines<ToolLine>(join(folder, 'tools.jsonl'));
  const index = await indexOf(tools);
  const times: number[] = [];
  const search = (query: string, limit: number): string[] => {
    const start = performance.now();
    const { hits } = index.search(query, limit);
    times.push(performance.now() - start);
    return hits.map(({ server, name }) => `${server}/${name}`);
  };
  for (const file of (await readdir(folder)).filter((name) => /^queries.*\.jsonl$/.test(name)).toSorted()) {
    // biome-ignore lint/performance/noAwaitInLoops: one table after the other.
    const queries = (await readLines<QueryLine>(join(folder, file))).map(toJudged);
    // Once to warm up the compiler, so the times match those of a running bridge.
    queries.forEach(({ query }) => search(query, 1));
    times.length = 0;
    console.log(`${file}, ${tools.length.toLocaleString('en-US')} tools\n\n${renderQuality(queries, search)}`);
    console.log(`\nTime of a search: p50 ${median(times).toFixed(2)} ms, p95 ${percentile(times, 0.95).toFixed(2)} ms`);
  }
}

async function readLines<Line>(path: string): Promise<Line[]> {
  const text = await readFile(path, 'utf8');
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.map((line) => JSON.parse(line) as Line);
}

async function indexOf(lines: readonly ToolLine[]): Promise<SearchIndex> {
  const servers = new Map<string, SearchTool[]>();
  for (const { server, tool, description, parameters } of lines) {
    const tools = servers.get(server) ?? [];
    tools.push({ name: tool, description: description ?? '', parameters: parameters ?? [] });
    servers.set(server, tools);
  }
  const index = createSearchIndex();
  const pause = createPause();
  for (const [name, tools] of servers) {
    // biome-ignore lint/performance/noAwaitInLoops: sequentially, like the bridge.
    await index.put({ name, description: '', tools }, pause);
  }
  return index;
}

function toJudged({ query, kind, relevant }: QueryLine): JudgedQuery {
  const groups = new Map<number, string[]>();
  for (const { server, tool, group } of relevant) {
    groups.set(group, [...(groups.get(group) ?? []), `${server}/${tool}`]);
  }
  return { query, kind, groups: [...groups.values()] };
}

function renderQuality(queries: readonly JudgedQuery[], search: (query: string, limit: number) => string[]): string {
  const lines = measureQuality(queries, search).map(({ kind, queries: count, ...shares }) =>
    [kind, String(count), ...[shares.recallAt1, shares.recallAt5, shares.reciprocalRank].map(formatShare)].join(' | '),
  );
  return ['| kind | queries | R@1 | R@5 | MRR |', '|---|---|---|---|---|', ...lines.map((line) => `| ${line} |`)].join(
    '\n',
  );
}

const formatShare = (share: number): string => share.toFixed(3).replace(/^0/, '');

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
