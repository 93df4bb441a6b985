/** Cached tool lists: how long a new bridge takes to load 16,575 tools, and how long a huge list blocks others. */
import { readFileSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { silentLogger } from '../../src/core/base/log.ts';
import type { ServerMetadata } from '../../src/core/catalog/known.ts';
import { createMetadataCache } from '../../src/core/directory/metadata-cache.ts';
import { createServerDirectory } from '../../src/core/directory/server-directory.ts';
import { createMetadataSource } from '../../src/core/directory/server-metadata.ts';
import { preloadClient } from '../../src/edges/upstream/handshake.ts';
import { createUpstreamPool } from '../../src/edges/upstream/pool.ts';
import { descendantsOf } from '../../test/support/processes.ts';
import { definitions, fixtureServer } from '../../test/support/upstream.ts';
import type { BenchContext } from '../context.ts';
import { atMost, type Measure, type Quantity, type Row, rowsOrReason } from '../rows.ts';
import { withBridge } from '../support/bridge.ts';
import { withFolder } from '../support/folder.ts';
import { median } from '../support/statistics.ts';
import { makeTools } from '../support/tool-catalog.mjs';

const SERVERS = 5;
const TOOLS_PER_SERVER = 3_315;
const TOOLS = (SERVERS * TOOLS_PER_SERVER).toLocaleString('en-US');
const ROUNDS = 5;
const MICROSECONDS_PER_MS = 1_000;
const CATALOG = fileURLToPath(new URL('../support/tool-catalog.mjs', import.meta.url));
const names = Array.from({ length: SERVERS }, (_, number) => `server${number}`);

export const keptTools: Measure = {
  name: 'kept-tools',
  title: 'stored tool lists',
  async run(context) {
    const figure = `first search of a new bridge over ${TOOLS} stored tools`;
    return [
      ...(await measureLoading(context)),
      ...(await rowsOrReason(figure, () => measureFirstSearch(context, figure))),
      await measureHugeList(),
    ];
  },
};

async function measureLoading(context: BenchContext): Promise<Row[]> {
  return withFolder(async (stateDir) => {
    const open = () => createMetadataCache({ stateDir, logger: silentLogger });
    for (const name of names) {
      const metadata: ServerMetadata = { tools: makeTools(name, TOOLS_PER_SERVER), notices: [] };
      await open().save(name, metadata, []);
    }
    const times: number[] = [];
    const held = await longestTurnOf(`${TOOLS} stored tools are loaded`, async () => {
      for (let round = 0; round < context.repeats(ROUNDS); round += 1) {
        const cache = open();
        const start = performance.now();
        const loaded = await Promise.all(names.map((name) => cache.load(name)));
        times.push(performance.now() - start);
        if (loaded.some((metadata) => metadata?.tools.length !== TOOLS_PER_SERVER)) {
          throw new Error('some tools were not stored');
        }
      }
    });
    return [
      { figure: `loading ${TOOLS} stored tools`, measured: { value: median(times), unit: 'ms' }, goals: [] },
      held,
    ];
  });
}

/**
 * The longest turn of the event loop while `work` runs, in processor time of the whole process; wall-clock time would depend
 * on other load on the machine.
 */
async function longestTurnOf(what: string, work: () => Promise<unknown>): Promise<Row> {
  let isDone = false;
  const done = work().finally(() => {
    isDone = true;
  });
  let longestMs = 0;
  let before = process.cpuUsage();
  while (!isDone) {
    await nextTurn();
    const { user, system } = process.cpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / MICROSECONDS_PER_MS);
    before = process.cpuUsage();
  }
  await done;
  const measured: Quantity = { value: longestMs, unit: 'ms' };
  return { figure: `longest turn of the event loop while ${what}`, measured, goals: [atMost(measured, 50)] };
}

/** The first bridge asks the servers; the second must not start any. */
async function measureFirstSearch(context: BenchContext, figure: string): Promise<Row[]> {
  const servers = Object.fromEntries(
    names.map((name) => [name, { command: process.execPath, args: [CATALOG, name, String(TOOLS_PER_SERVER)] }]),
  );
  return withFolder(async (stateFolder) => {
    const search = () =>
      withBridge(context, { servers, stateFolder }, async ({ pid, run, engine }) => {
        await run('pass');
        const took = Number(await run(SEARCH_CELL));
        return { took, engine: engine(), started: descendantsOf(pid).filter(isCatalog).length };
      });
    const asked = await search();
    const kept = await search();
    if (kept.started > 0) {
      throw new Error(`${kept.started} servers were started`);
    }
    const measured: Quantity = { value: kept.took, unit: 'ms' };
    const floor = { value: asked.took, unit: 'ms' as const, what: 'the same if they must start first' };
    return [
      {
        figure,
        engine: kept.engine,
        measured,
        floor,
        detail: 'loads, indexes and searches; starts no server',
        goals: [atMost(measured, 2_000)],
      },
    ];
  });
}

const SEARCH_CELL = `
import time
start = time.perf_counter()
found = await runtime.search_tool_docs("create the invoice")
took = time.perf_counter() - start
assert len(found) == 5
while any(server.tool_count is None for server in runtime.discovered_servers(detailed=True)):
    time.sleep(0.1)
print(took * 1000)
`;

function isCatalog(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('tool-catalog');
  } catch {
    return false; // The process ended in the meantime.
  }
}

async function measureHugeList(): Promise<Row> {
  await preloadClient();
  const servers = definitions({ flood: fixtureServer('hostile-tools', 'flood') });
  const pool = createUpstreamPool({ logger: silentLogger });
  pool.update(servers);
  const directory = createServerDirectory(createMetadataSource(pool, undefined), () => servers, silentLogger);
  const server = await directory.find('flood');
  const row = await longestTurnOf('a server lists 50,000 tools in one page', () => {
    return directory.refresh(server, new AbortController().signal);
  });
  await pool.close();
  return row;
}
