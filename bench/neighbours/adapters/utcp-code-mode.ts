/**
 * @utcp/code-mode: a library that runs TypeScript in a V8 isolate and calls MCP servers and other sources. A host would embed it;
 * `utcp-host.mjs` does. Its prompt stands for the definitions of tools.
 */
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openHost } from '../line-host.ts';
import { plainEnvironment } from '../mcp-program.ts';
import { CALLS_AT_ONCE, type Hit, type Neighbour, SEARCH_HITS } from '../neighbour.ts';

const HOST = 'utcp-host.mjs';
const ECHO = 'bench.echo_echo({ text: "x" })';

export const utcpCodeMode: Neighbour = {
  name: '@utcp/code-mode',
  packages: { '@utcp/code-mode': '1.2.12', '@utcp/mcp': '1.1.3', '@utcp/sdk': '1.1.2' },
  licence: 'MPL-2.0',
  language: 'TypeScript',
  isolation: 'a V8 isolate in the process',
  needsNewerNode: true,
  async prepare({ folder, home }, servers) {
    const entries = Object.entries(servers).map(([name, server]) => [name, { transport: 'stdio', ...server }]);
    await writeFile(join(home, 'servers.json'), JSON.stringify(Object.fromEntries(entries)));
    // It finds its packages only from beside them.
    await copyFile(fileURLToPath(new URL(HOST, import.meta.url)), join(folder, HOST));
  },
  async open({ folder, home, node }) {
    const args = [join(folder, HOST), join(home, 'servers.json')];
    const { ask, close } = openHost({ command: node, args, cwd: home, env: plainEnvironment(home) });
    const run = async (code: string) => JSON.stringify(await ask({ code }));
    return {
      definitions: String(await ask({ prompt: true })),
      add: () => run('return 1 + 1'),
      calls: {
        one: () => run(`return await ${ECHO}`),
        fifty: () => run(`return (await Promise.all(Array.from({ length: ${CALLS_AT_ONCE} }, () => ${ECHO}))).length`),
      },
      async search(queries) {
        return (await ask({ queries, limit: SEARCH_HITS })) as Hit[][];
      },
      close,
    };
  },
};
