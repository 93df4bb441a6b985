/**
 * Starts one real server as a person would for the first time, with what its runner has to download, and runs the cell that calls its
 * tools. Records how long the start took, what a person saw of it, and what is unusual in tools and results.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { UpstreamPool } from '../../src/edges/upstream/pool.ts';
import { errorText } from '../support/session-harness.ts';
import { openServer, type ServerCommand } from './check-server.ts';
import { describeResults, describeTools } from './oddities.ts';

const CELL_TIMEOUT_MS = 300_000;
const CALLS = join(import.meta.dirname, 'calls');
const SAMPLE_MS = 50;
export const MIN_CALLS = 20;

export interface CallReport {
  /** Time from the start of the server to its tools, downloads included. */
  readonly firstStartMs: number;
  /** Different lines of progress that a person saw during the start. */
  readonly progress: number;
  readonly calls: number;
  readonly oddities: readonly string[];
  readonly faults: readonly string[];
}

/** Ends the server. Rejects if it does not start. */
export async function callServer(name: string, server: ServerCommand): Promise<CallReport> {
  const results: { readonly tool: string; readonly result: unknown }[] = [];
  const { harness, pool, directory, close } = await openServer(name, server, (inner) => recorded(inner, results));
  const seen = new Set<string>();
  const sampling = setInterval(() => {
    const said = pool.states()[0]?.preparing;
    if (said !== undefined) {
      seen.add(said);
    }
  }, SAMPLE_MS);
  try {
    const started = performance.now();
    const found = await directory.find(name);
    await directory.tools(found, new AbortController().signal);
    const firstStartMs = performance.now() - started;
    const { tools } = await pool.describe(name);
    const file = join(CALLS, `${name}.py`);
    const faults: string[] = [];
    if (existsSync(file)) {
      const code = readFileSync(file, 'utf8').replaceAll('FOLDER', server.cwd);
      const answer = await harness.run(code, { servers: [name], timeoutMs: CELL_TIMEOUT_MS });
      faults.push(...errorText(answer).split('\n').slice(-12).filter(Boolean));
      if (results.length < MIN_CALLS) {
        faults.push(`only ${results.length} calls instead of at least ${MIN_CALLS}`);
      }
    }
    const oddities = [...describeTools(tools), ...describeResults(results)];
    return { firstStartMs, progress: seen.size, calls: results.length, oddities, faults };
  } finally {
    clearInterval(sampling);
    await close();
  }
}

/** The pool, with the results of its calls recorded as the server sent them. */
function recorded(pool: UpstreamPool, results: { readonly tool: string; readonly result: unknown }[]): UpstreamPool {
  const callTool: UpstreamPool['callTool'] = async (call: Parameters<UpstreamPool['callTool']>[0]) => {
    const result = await pool.callTool({ ...call, takesBytes: undefined });
    results.push({ tool: call.tool, result });
    return result as never;
  };
  return { ...bound(pool), callTool };
}

function bound(pool: UpstreamPool): UpstreamPool {
  return {
    update: (definitions) => pool.update(definitions),
    offerElicitation: (offer) => pool.offerElicitation(offer),
    describe: (server, options) => pool.describe(server, options),
    callTool: pool.callTool.bind(pool),
    surface: (call) => pool.surface(call),
    egress: () => pool.egress(),
    sendEgress: (server, request) => pool.sendEgress(server, request),
    startAhead: (server) => pool.startAhead(server),
    serverInfo: (server) => pool.serverInfo(server),
    states: () => pool.states(),
    stop: (server) => pool.stop(server),
    forgetListing: (server) => pool.forgetListing(server),
    close: () => pool.close(),
  };
}
