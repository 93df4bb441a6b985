/** The bridge itself, on one engine. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BenchContext } from '../../context.ts';
import { openProgram } from '../mcp-program.ts';
import { CALLS_AT_ONCE, type Hit, type Neighbour, SEARCH_HITS } from '../neighbour.ts';

/** Hundreds of searches in one cell take longer than a cell may by default. */
const TIMEOUT_SECONDS = 120;
const FIFTY = `
import asyncio
len(await asyncio.gather(*[mcp_echo.echo(text="x") for _ in range(${CALLS_AT_ONCE})]))`;

const ISOLATION: Readonly<Record<string, string>> = {
  bubblewrap: 'namespaces and a system-call filter',
  embedded: 'CPython in WebAssembly, in a child process',
};

export function bridgeOn(context: BenchContext): Neighbour {
  const { label, env, isContainer } = context.engine();
  return {
    name: `this bridge, ${label}`,
    packages: {},
    licence: 'Apache-2.0',
    language: 'Python',
    isolation: isContainer ? 'a container without a network' : (ISOLATION[label] ?? label),
    async prepare({ home }, servers) {
      await writeFile(join(home, 'bench.json'), JSON.stringify({ mcpServers: servers }));
    },
    async open({ home, node }) {
      const mcp = await openProgram({
        command: node,
        args: [context.script],
        cwd: home,
        env: { ...env, MCP_BRIDGE_STATE_DIR: home, MCP_BRIDGE_PULL: 'never', MCP_BRIDGE_LOG_LEVEL: 'ERROR' },
      });
      const run = (code: string, servers: readonly string[] = []) =>
        mcp.call('run_python', { code, servers, timeout: TIMEOUT_SECONDS });
      return {
        definitions: mcp.definitions,
        cell: (code) => run(code),
        add: () => run('1 + 1'),
        calls: { one: () => run('await mcp_echo.echo(text="x")', ['echo']), fifty: () => run(FIFTY, ['echo']) },
        async search(queries) {
          const text = await run(`
import json
found = []
for query in json.loads(${JSON.stringify(JSON.stringify(queries))}):
    hits = await runtime.search_tool_docs(query, limit=${SEARCH_HITS})
    found.append([{"server": hit["server"], "tool": hit["tool"]} for hit in hits])
print(json.dumps(found))`);
          return JSON.parse(text) as Hit[][];
        },
        close: mcp.close,
      };
    },
  };
}
