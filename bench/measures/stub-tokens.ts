/** The tokens of `runtime.stubs(server)`, compared with the schemas that an agent would read instead. */

import { join } from 'node:path';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { createCatalog } from '../../src/core/catalog/catalog.ts';
import { createIntake } from '../../src/core/catalog/intake.ts';
import { serverStub } from '../../src/core/catalog/stubs.ts';
import { atMost, type Measure, type Quantity } from '../rows.ts';
import { withDirectClient } from '../support/servers.ts';

const PACKAGES = join(import.meta.dirname, '../../node_modules/@modelcontextprotocol');
const SERVERS = ['server-everything', 'server-filesystem', 'server-memory'];
const GOAL_PERCENT = 40;

export const stubTokens: Measure = {
  name: 'stub-tokens',
  title: 'size of stubs',
  async run() {
    const tokens = await Promise.all(SERVERS.map(count));
    const stubs = tokens.reduce((sum, { stub }) => sum + stub, 0);
    const schemas = tokens.reduce((sum, { schema }) => sum + schema, 0);
    const measured: Quantity = { value: stubs, unit: 'tokens' };
    const share = Math.round((100 * stubs) / schemas);
    return [
      {
        figure: `stubs of ${SERVERS.length} servers from npm (o200k_base)`,
        measured,
        detail: `${share} % of the schemas`,
        floor: { value: schemas, unit: 'tokens', what: 'their tools as JSON: descriptions, input and output schemas' },
        goals: [atMost(measured, (schemas * GOAL_PERCENT) / 100)],
      },
    ];
  },
};

async function count(name: string): Promise<{ stub: number; schema: number }> {
  const args = [join(PACKAGES, name, 'dist/index.js'), ...(name === 'server-filesystem' ? ['/tmp'] : [])];
  return withDirectClient({ command: process.execPath, args }, async (client) => {
    const { tools } = await client.listTools();
    const intake = createIntake();
    for (const tool of tools) {
      intake.add(tool);
    }
    const catalog = createCatalog();
    catalog.setServers([{ name }]);
    const [server] = catalog.servers();
    if (server === undefined) {
      throw new Error('the catalog lost its server');
    }
    catalog.setMetadata(server, intake.finish({}, []));
    const known = (catalog.tools(server) ?? []).map((tool) => ({ tool }));
    const schemas = tools.map(({ description, inputSchema, outputSchema }) => ({
      description,
      inputSchema,
      outputSchema,
    }));
    return { stub: encode(serverStub(server, known)).length, schema: encode(JSON.stringify(schemas)).length };
  });
}
