/**
 * executor: TypeScript in QuickJS that calls MCP servers, OpenAPI and GraphQL services of one catalog. Adding a source asks for
 * approval, which is given here through its command line. Uses port 4788.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openProgram, plainEnvironment } from '../mcp-program.ts';
import { CALLS_AT_ONCE, type Hit, type Neighbour, type Place, SEARCH_HITS } from '../neighbour.ts';

/** Servers of the catalog get a connection with this owner and name, which are parts of the path of a tool. */
const CONNECTION = { owner: 'user', name: 'default' } as const;
const ECHO = `tools.echo.${CONNECTION.owner}.${CONNECTION.name}.echo({ text: "x" })`;

export const executor: Neighbour = {
  name: 'executor',
  packages: { executor: '1.5.9' },
  licence: 'MIT',
  language: 'TypeScript',
  isolation: 'QuickJS in WebAssembly',
  async prepare(place, servers) {
    const command = (...args: string[]) =>
      promisify(execFile)(program(place), args, { cwd: place.home, env: plainEnvironment(place.home) });
    const call = async (path: string, given: object): Promise<string> =>
      (await command('call', 'executor', ...path.split('.'), JSON.stringify(given))).stdout;
    try {
      for (const [name, server] of Object.entries(servers)) {
        const question = await call('mcp.addServer', { transport: 'stdio', name, ...server });
        const id = /executionId: (\S+)/.exec(question)?.[1];
        if (id !== undefined) {
          await command('resume', '--execution-id', id, '--action', 'accept', '--content', '{}');
        }
        // A server over stdio has no login, but the command line wants to know where its login is stored.
        const from = { provider: 'file', id: 'none' };
        await call('coreTools.connections.create', { ...CONNECTION, integration: name, template: 'none', from });
      }
    } finally {
      await command('daemon', 'stop');
    }
  },
  async open(place) {
    const mcp = await openProgram({
      command: program(place),
      args: ['mcp'],
      cwd: place.home,
      env: plainEnvironment(place.home),
    });
    const run = (code: string) => mcp.call('execute', { code });
    return {
      definitions: mcp.definitions,
      add: () => run('return 1 + 1'),
      calls: {
        one: () => run(`return await ${ECHO}`),
        fifty: () => run(`return (await Promise.all(Array.from({ length: ${CALLS_AT_ONCE} }, () => ${ECHO}))).length`),
      },
      async search(queries) {
        const text = await run(`
          const found = [];
          for (const query of ${JSON.stringify(queries)}) {
            const { items } = await tools.search({ query, limit: ${SEARCH_HITS} });
            found.push(items.map(({ integration, name }) => ({ server: integration, tool: name })));
          }
          return JSON.stringify(found);`);
        return JSON.parse(text) as Hit[][];
      },
      close: mcp.close,
    };
  },
};

function program({ folder }: Place): string {
  return join(folder, `node_modules/executor-${process.platform}-${process.arch}/bin/executor`);
}
