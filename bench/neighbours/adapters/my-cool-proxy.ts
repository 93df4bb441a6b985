/** my-cool-proxy: Lua scripts that call servers, in a Node program. Has lists of tools, but no search. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openProgram, plainEnvironment } from '../mcp-program.ts';
import { CALLS_AT_ONCE, type Neighbour } from '../neighbour.ts';

const FIFTY = `
local promises, count = {}, 0
for i = 1, ${CALLS_AT_ONCE} do promises[i] = echo.echo({ text = "x" }) end
for i = 1, ${CALLS_AT_ONCE} do promises[i]:await() count = count + 1 end
result(count)`;

export const myCoolProxy: Neighbour = {
  name: 'my-cool-proxy',
  packages: { '@karashiiro/my-cool-proxy': '1.6.2' },
  // Of better-sqlite3.
  needsInstallScripts: true,
  licence: 'MIT',
  language: 'Lua',
  isolation: 'an interpreter in WebAssembly',
  async prepare({ home }, servers) {
    const entries = Object.entries(servers).map(([name, server]) => [name, { type: 'stdio', ...server }]);
    const config = { transport: 'stdio', mcpClients: Object.fromEntries(entries) as object };
    await writeFile(join(home, 'config.json'), JSON.stringify(config));
  },
  async open({ folder, home, node }) {
    const mcp = await openProgram({
      command: node,
      args: [join(folder, 'node_modules/@karashiiro/my-cool-proxy/bin/my-cool-proxy.mjs')],
      cwd: home,
      env: { ...plainEnvironment(home), CONFIG_PATH: join(home, 'config.json') },
    });
    let isRead = false;
    const run = (script: string) => mcp.call('execute', { script });
    return {
      definitions: mcp.definitions,
      add: () => run('result(1 + 1)'),
      calls: {
        async one() {
          // It refuses to call a tool before an agent has read about it, so this is part of the first call.
          if (!isRead) {
            await mcp.call('tool-details', { luaServerName: 'echo', luaToolName: 'echo' });
            isRead = true;
          }
          return run('result(echo.echo({ text = "x" }):await())');
        },
        fifty: () => run(FIFTY),
      },
      close: mcp.close,
    };
  },
};
