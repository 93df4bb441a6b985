/** context-mode: runs code in child processes and indexes large output. It calls no MCP servers. */
import { join } from 'node:path';
import { openProgram, plainEnvironment } from '../mcp-program.ts';
import type { Neighbour } from '../neighbour.ts';

export const contextMode: Neighbour = {
  name: 'context-mode',
  packages: { 'context-mode': '1.0.169' },
  licence: 'Elastic-2.0',
  language: '12, here JavaScript',
  isolation: 'a child process',
  needsNewerNode: true,
  prepare: async () => undefined,
  async open({ folder, home, node }) {
    const mcp = await openProgram({
      command: node,
      // Not its `start.mjs`, which first looks for updates and installs what is missing.
      args: [join(folder, 'node_modules/context-mode/server.bundle.mjs')],
      cwd: home,
      env: plainEnvironment(home),
    });
    return {
      definitions: mcp.definitions,
      add: () => mcp.call('ctx_execute', { language: 'javascript', code: 'console.log(1 + 1)' }),
      close: mcp.close,
    };
  },
};
