/**
 * `node --import ./scripts/typescript-loader.mjs bench/search-quality.ts FOLDER`: measures search quality on tools and queries
 * that are not part of this project. The folder has `tools.jsonl` (`{server, tool, description, parameters}`) and
 * `queries*.jsonl` (`{query, kind, relevant: [{server, tool, group}]}`; one tool of each group must be found).
 */
import { messageOf } from '../src/core/base/errors.ts';
import { createPause } from '../src/core/base/slices.ts';
import { createSearchIndex, type SearchIndex, type SearchTool } from '../src/core/catalog/search.ts';
import { type JudgedQuery, measureQuality } from '../test/support/search-quality.ts';
import { queryFiles, readJudged, readTools, type ToolLine } from './support/judged-queries.ts';
import { median, percentile } from './support/statistics.ts';

async function main([folder]: readonly string[]): Promise<void> {
  if (folder === undefined) {
    throw new Error('Name a folder with tools.jsonl and queries*.jsonl.');
  }
  const tools = await readTools(folder);
  const index = await indexOf(tools);
  const times: number[] = [];
  const search = (query: string, limit: number): string[] => {
    const start = performance.now();
    const { hits } = index.search(query, limit);
    times.push(performance.now() - start);
    return hits.map(({ server, name }) => nameOf(server, name));
  };
  for (const file of await queryFiles(folder)) {
    // biome-ignore lint/performance/noAwaitInLoops: one table after the other.
    const queries = await readJudged(folder, nameOf, [file]);
    // Once to warm up the compiler, so the times match those of a running bridge.
    queries.forEach(({ query }) => search(query, 1));
    times.length = 0;
    console.log(`${file}, ${tools.length.toLocaleString('en-US')} tools\n\n${renderQuality(queries, search)}`);
    console.log(`\nTime of a search: p50 ${median(times).toFixed(2)} ms, p95 ${percentile(times, 0.95).toFixed(2)} ms`);
  }
}

const nameOf = (server: string, tool: string): string => `${server}/${tool}`;

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
