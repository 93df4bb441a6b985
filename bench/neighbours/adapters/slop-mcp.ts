/** slop-mcp: tools that search and call servers, and scripts in its own language, from one Go program. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openProgram, plainEnvironment } from '../mcp-program.ts';
import { CALLS_AT_ONCE, type Neighbour, type Place, SEARCH_HITS } from '../neighbour.ts';

const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

export const slopMcp: Neighbour = {
  name: 'slop-mcp',
  packages: { '@standardbeagle/slop-mcp': '0.15.0' },
  licence: 'MIT',
  language: 'SLOP',
  isolation: 'an interpreter in the process',
  async prepare(place, servers) {
    for (const [name, server] of Object.entries(servers)) {
      await promisify(execFile)(program(place), ['mcp', 'add-json', name, JSON.stringify(server)], {
        cwd: place.home,
        env: plainEnvironment(place.home),
      });
    }
  },
  async open(place) {
    const mcp = await openProgram({
      command: program(place),
      args: ['serve'],
      cwd: place.home,
      env: plainEnvironment(place.home),
    });
    const run = (script: string) => mcp.call('run_slop', { script });
    return {
      definitions: mcp.definitions,
      add: () => run('1 + 1'),
      calls: {
        one: () => run('echo.echo(text: "x")'),
        // The language has no way to start calls at once.
        fifty: () =>
          run(
            `answers = []\nfor i in range(${CALLS_AT_ONCE}):\n    answers = answers + [echo.echo(text: "x")]\nlen(answers)`,
          ),
      },
      async search(queries) {
        const found = [];
        for (const query of queries) {
          const text = await mcp.call('search_tools', { query, limit: SEARCH_HITS });
          const { tools } = JSON.parse(text) as { tools: { name: string; mcp_name: string }[] | null };
          found.push((tools ?? []).map(({ name, mcp_name: server }) => ({ server, tool: name })));
        }
        return found;
      },
      close: mcp.close,
    };
  },
};

function program({ folder }: Place): string {
  const architecture = ARCHITECTURES[process.arch] ?? process.arch;
  const file = `slop-mcp-${process.platform}-${architecture}`;
  return join(folder, 'node_modules/@standardbeagle/slop-mcp/binaries', file);
}
