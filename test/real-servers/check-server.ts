/**
 * Puts one real server behind the bridge, with a kernel in the local Python, and checks all of its tools: whether the search
 * finds them, how they look in Python, and what reaches the server in a call.
 */
import { join } from 'node:path';
import { silentLogger } from '../../src/core/base/log.ts';
import { createHostCalls } from '../../src/core/calls/host-calls.ts';
import type { CatalogTool } from '../../src/core/catalog/known.ts';
import { assignServerAliases } from '../../src/core/catalog/names.ts';
import { createServerDirectory } from '../../src/core/directory/server-directory.ts';
import { createMetadataSource } from '../../src/core/directory/server-metadata.ts';
import { createUpstreamPool, type UpstreamPool } from '../../src/edges/upstream/pool.ts';
import { createLocalPythonEngine } from '../support/local-python.ts';
import { createHarness, errorText, textOf } from '../support/session-harness.ts';
import { definitions } from '../support/upstream.ts';
import { minimalArguments } from './minimal-arguments.ts';

const CELL_TIMEOUT_MS = 120_000;
const RELAY = join(import.meta.dirname, 'relay.mjs');
/** Maximum hits of one search. */
const MAX_HITS = 20;

export interface ServerReport {
  readonly tools: number;
  readonly protocolVersion: string;
  /** Time from the start of the server to its list. */
  readonly listMs: number;
  /** Number of tools that are the first hit of a search for the words of their name. */
  readonly foundFirst: number;
  /** Everything that is wrong, one sentence each. */
  readonly faults: readonly string[];
}

export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** A pool with one server, and sessions whose code can call it. `wrap` may watch the pool. */
export async function openServer(
  name: string,
  server: ServerCommand,
  wrap: (pool: UpstreamPool) => UpstreamPool = (pool) => pool,
) {
  const servers = definitions({ [name]: server });
  const pool = wrap(createUpstreamPool({ logger: silentLogger }));
  pool.update(servers);
  const directory = createServerDirectory(createMetadataSource(pool, undefined), () => servers, silentLogger);
  const harness = await createHarness({
    engine: createLocalPythonEngine(),
    handleCall: createHostCalls({ pool, directory, logger: silentLogger }),
    servers: [{ name, alias: assignServerAliases([name])[0] ?? name }],
  });
  return {
    pool,
    directory,
    harness,
    async close(): Promise<void> {
      await harness.close();
      await pool.close();
      await directory.close();
    },
  };
}

/** Starts the server and ends it. Rejects if it does not start. */
export async function checkServer(name: string, server: ServerCommand): Promise<ServerReport> {
  const relayed = { ...server, command: process.execPath, args: [RELAY, server.command, ...server.args] };
  const { directory, harness, close } = await openServer(name, relayed);
  try {
    const started = performance.now();
    const found = await directory.find(name);
    const tools = await directory.tools(found, new AbortController().signal);
    const listMs = performance.now() - started;
    const places: number[] = [];
    for (const tool of tools) {
      const hits = await directory.search(tool.name.replaceAll(/[_-]/g, ' '), MAX_HITS);
      places.push(hits.found.findIndex((hit) => hit.tool.name === tool.name));
    }
    const answer = await harness.run(cellFor(name, tools), { servers: [name], timeoutMs: CELL_TIMEOUT_MS });
    const said = errorText(answer) || textOf(answer.stdout);
    return {
      tools: tools.length,
      protocolVersion: directory.metadata(found)?.protocolVersion ?? '',
      listMs,
      foundFirst: places.filter((place) => place === 0).length,
      faults: [
        ...tools.filter((_, index) => places[index] === -1).map((tool) => `search does not find '${tool.name}'`),
        ...said.split('\n').filter((line) => line !== ''),
        ...(tools.length === 0 ? ['it lists no tools'] : []),
      ],
    };
  } finally {
    await close();
  }
}

/** A cell that calls every tool with the fewest arguments, under their original and their Python names, and prints faults. */
function cellFor(server: string, tools: readonly CatalogTool[]): string {
  const cases = tools.map((tool) => ({
    name: tool.wireName ?? tool.name,
    alias: tool.alias,
    arguments: minimalArguments(tool.inputSchema),
  }));
  return `
import inspect, json, keyword
cases = json.loads(${JSON.stringify(JSON.stringify(cases))})
proxy = mcp_servers[${JSON.stringify(server)}]
listed = {tool["name"]: tool for tool in await runtime.list_tools(${JSON.stringify(server)})}
if sorted(dir(proxy)) != sorted({case["alias"] for case in cases}):
    print("dir() of the proxy is not the list of its tools")
if len({case["alias"] for case in cases}) != len(cases):
    print("two tools have the same name in Python")
for case in cases:
    alias = case["alias"]
    if not alias.isidentifier() or keyword.iskeyword(alias):
        print(f"{alias!r} is no name in Python")
    try:
        tool = getattr(proxy, alias)
        signature = inspect.signature(tool)
        renamed = listed[case["name"]].get("parameter_aliases", {})
        given = {renamed.get(key, key): value for key, value in case["arguments"].items()}
        signature.bind(**given)
        for arguments in (case["arguments"], given):
            got = await tool(**arguments)
            if got != {"name": case["name"], "arguments": case["arguments"]}:
                print(f"{alias}: the server got {got!r}, not {case!r}")
    except Exception as error:
        print(f"{alias}: {type(error).__name__}: {error}".splitlines()[0], case["arguments"])
`;
}
