/** Search in catalogs of two sizes: in the index alone, and from a cell through the bridge. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { createPause } from '../../src/core/base/slices.ts';
import { createSearchIndex, type SearchIndex, type SearchServer } from '../../src/core/catalog/search.ts';
import type { BenchContext } from '../context.ts';
import { atMost, type Measure, type Quantity, type Row, rowsOrReason } from '../rows.ts';
import { withBridge } from '../support/bridge.ts';
import { median, percentile } from '../support/statistics.ts';
import { makeQueries, makeTools } from '../support/tool-catalog.mjs';

/** Chosen: far more than anyone configures. */
const SERVERS = 5;
const TOOLS_PER_SERVER = 3_315;
const LARGE = SERVERS * TOOLS_PER_SERVER;
const SMALL_SERVERS = 10;
const SMALL = 1_000;
const QUERIES = 200;
const INDEX_ROUNDS = 5;
const SHOWN = 5;
const MEGABYTE = 1_000_000;
const NANOSECONDS_PER_MS = 1_000_000;

const CATALOG = fileURLToPath(new URL('../support/tool-catalog.mjs', import.meta.url));
const names = Array.from({ length: SERVERS }, (_, number) => `server${number}`);

export const toolSearch: Measure = {
  name: 'tool-search',
  title: 'search of tools',
  async run(context) {
    const memory = await memoryRow();
    const small = await searchesOf(await indexOf(serversOf(SMALL_SERVERS, SMALL / SMALL_SERVERS)));
    const { rows, large } = await measureLarge(context);
    const figure = `search over ${shown(LARGE)} tools from a cell, p95`;
    return [
      searchRow(SMALL, small),
      searchRow(LARGE, large),
      ...rows,
      memory,
      ...(await rowsOrReason(figure, () => measureFromCell(context, figure, quantity(percentile(large, 0.95))))),
    ];
  },
};

const shown = (count: number): string => count.toLocaleString('en-US');
const quantity = (value: number): Quantity => ({ value, unit: 'ms' });

function serversOf(count: number, toolsEach: number): SearchServer[] {
  return Array.from({ length: count }, (_, number) => ({
    name: `server${number}`,
    description: '',
    tools: makeTools(`server${number}`, toolsEach).map(({ name, description, inputSchema }) => ({
      name,
      description,
      parameters: Object.keys(inputSchema.properties),
    })),
  }));
}

async function indexOf(servers: readonly SearchServer[]): Promise<SearchIndex> {
  const index = createSearchIndex();
  const pause = createPause();
  for (const server of servers) {
    // biome-ignore lint/performance/noAwaitInLoops: sequentially, like the bridge.
    await index.put(server, pause);
  }
  return index;
}

/** Milliseconds of each search, after a few to warm up the compiler. */
async function searchesOf(index: SearchIndex): Promise<number[]> {
  const queries = makeQueries(QUERIES);
  queries.slice(0, QUERIES / 4).forEach((query) => index.search(query, SHOWN));
  return queries.map((query) => timeOf(() => index.search(query, SHOWN)));
}

function searchRow(tools: number, searches: readonly number[]): Row {
  const measured = quantity(percentile(searches, 0.95));
  return {
    figure: `search over ${shown(tools)} tools, index alone, p95`,
    measured,
    detail: `p50 ${median(searches).toFixed(1)} ms`,
    goals: [atMost(measured, tools === SMALL ? 5 : 10)],
  };
}

/** The time to index all tools and to add one server, and how long that blocks others. */
async function measureLarge(context: BenchContext): Promise<{ rows: Row[]; large: number[] }> {
  const servers = serversOf(SERVERS, TOOLS_PER_SERVER);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const times: number[] = [];
  let index = createSearchIndex();
  delay.enable();
  for (let round = 0; round < context.repeats(INDEX_ROUNDS); round += 1) {
    const start = performance.now();
    index = await indexOf(servers);
    times.push(performance.now() - start);
  }
  delay.disable();
  const [replacement] = serversOf(1, 100);
  const start = performance.now();
  await index.put({ ...(replacement ?? { description: '', tools: [] }), name: 'one more' }, createPause());
  const replaced = performance.now() - start;
  index.remove('one more');
  const measured = quantity(median(times));
  const longest = quantity(delay.max / NANOSECONDS_PER_MS);
  return {
    large: await searchesOf(index),
    rows: [
      {
        figure: `index of ${shown(LARGE)} tools`,
        measured,
        detail: `one more server of 100 tools ${replaced.toFixed(1)} ms`,
        goals: [atMost(measured, 400)],
      },
      { figure: 'longest pause of the event loop while indexing', measured: longest, goals: [atMost(longest, 50)] },
    ],
  };
}

/** The memory of an index. Garbage is collected before and after, so only lasting memory counts. */
async function memoryRow(): Promise<Row> {
  const servers = serversOf(SERVERS, TOOLS_PER_SERVER);
  const { gc } = globalThis;
  if (gc === undefined) {
    throw new Error('needs node --expose-gc');
  }
  gc();
  const before = process.memoryUsage();
  const index = await indexOf(servers);
  gc();
  const after = process.memoryUsage();
  index.remove('');
  const held = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers;
  const measured: Quantity = { value: held / MEGABYTE, unit: 'MB' };
  return { figure: `memory of an index of ${shown(LARGE)} tools`, measured, goals: [atMost(measured, 100)] };
}

async function measureFromCell(context: BenchContext, figure: string, index: Quantity): Promise<Row[]> {
  const servers = Object.fromEntries(
    names.map((name) => [name, { command: process.execPath, args: [CATALOG, name, String(TOOLS_PER_SERVER)] }]),
  );
  return withBridge(context, { servers }, async ({ run, engine }) => {
    const [first = 0, ...samples] = JSON.parse(await run(searchCell())) as number[];
    const measured: Quantity = { value: percentile(samples, 0.95), unit: 'ms' };
    return [
      {
        figure,
        engine: engine(),
        measured,
        detail: `p50 ${median(samples).toFixed(1)} ms, first (starts ${SERVERS} servers) ${first.toFixed(0)} ms`,
        floor: { ...index, what: 'index alone' },
        goals: [atMost(measured, 5)],
      },
    ];
  });
}

function searchCell(): string {
  return `
import contextlib, io, json, time
samples = []
for query in ["first", *${JSON.stringify(makeQueries(QUERIES))}]:
    start = time.perf_counter()
    with contextlib.redirect_stderr(io.StringIO()):
        found = await runtime.search_tool_docs(query, limit=${SHOWN})
    samples.append((time.perf_counter() - start) * 1000)
assert len(found) == ${SHOWN}
print(json.dumps(samples))
`;
}

function timeOf(action: () => unknown): number {
  const start = performance.now();
  action();
  return performance.now() - start;
}
