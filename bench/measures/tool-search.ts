/** Search over a large catalog: the index by itself, and a search from a cell through the bridge. */
import { fileURLToPath } from 'node:url';
import { createSearchIndex } from '../../src/catalog/search.ts';
import type { BenchContext } from '../context.ts';
import { atMost, type Measure, type Quantity, type Row, rowsOrReason } from '../rows.ts';
import { withBridge } from '../support/bridge.ts';
import { median, percentile } from '../support/statistics.ts';
import { makeQueries, makeTools } from '../support/tool-catalog.mjs';

/** Chosen: far more than anybody configures. */
const SERVERS = 5;
const TOOLS_PER_SERVER = 3_315;
const TOOLS = (SERVERS * TOOLS_PER_SERVER).toLocaleString('en-US');
const QUERIES = 200;
const INDEX_ROUNDS = 5;
const SHOWN = 5;

const CATALOG = fileURLToPath(new URL('../support/tool-catalog.mjs', import.meta.url));
const names = Array.from({ length: SERVERS }, (_, number) => `server${number}`);

export const toolSearch: Measure = {
  name: 'tool-search',
  title: 'search of tools',
  async run(context) {
    const { search, ...index } = measureIndex(context);
    const figure = `search over ${TOOLS} tools from a cell, p95`;
    return [index, ...(await rowsOrReason(figure, () => measureFromCell(context, figure, search)))];
  },
};

/** The time an index takes to make, and the 95th percentile of searches in it. */
function measureIndex(context: BenchContext): Row & { readonly search: Quantity } {
  const entries = names.flatMap((server) =>
    makeTools(server, TOOLS_PER_SERVER).map((tool) => ({
      server,
      serverDescription: '',
      tool: tool.name,
      description: tool.description,
      parameters: Object.keys(tool.inputSchema.properties),
    })),
  );
  const times: number[] = [];
  let index = createSearchIndex(entries);
  for (let round = 0; round < context.repeats(INDEX_ROUNDS); round += 1) {
    times.push(timeOf(() => (index = createSearchIndex(entries))));
  }
  const searches = makeQueries(QUERIES).map((query) => timeOf(() => index.search(query, SHOWN)));
  const measured: Quantity = { value: median(times), unit: 'ms' };
  return {
    figure: `index of ${TOOLS} tools`,
    measured,
    goals: [atMost(measured, 1_000)],
    search: { value: percentile(searches, 0.95), unit: 'ms' },
  };
}

async function measureFromCell(context: BenchContext, figure: string, index: Quantity): Promise<Row[]> {
  const servers = Object.fromEntries(
    names.map((name) => [name, { command: process.execPath, args: [CATALOG, name, String(TOOLS_PER_SERVER)] }]),
  );
  return withBridge(context, { servers }, async ({ run }) => {
    const [first = 0, ...samples] = JSON.parse(await run(searchCell())) as number[];
    const measured: Quantity = { value: percentile(samples, 0.95), unit: 'ms' };
    return [
      {
        figure,
        measured,
        detail: `p50 ${median(samples).toFixed(1)} ms, first (starts ${SERVERS} servers) ${first.toFixed(0)} ms`,
        floor: { ...index, what: 'the index by itself' },
        goals: [atMost(measured, 10)],
      },
    ];
  });
}

function searchCell(): string {
  return `
import json, time
samples = []
for query in ["first", *${JSON.stringify(makeQueries(QUERIES))}]:
    start = time.perf_counter()
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
