/** `catalog-server.mjs TOOLS.json`: an MCP server that lists the tools in a file, to be found by search and never called. */
import { readFileSync } from 'node:fs';
import { serve } from '../../test/fixtures/servers/json-rpc-server.mjs';

const tools = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'));
serve({}, { list: () => tools });
