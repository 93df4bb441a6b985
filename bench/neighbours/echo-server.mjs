/** An MCP server with one tool, `echo`, whose schema says all that a client may need. */
import { serve } from '../../test/fixtures/servers/json-rpc-server.mjs';

const inputSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
serve(
  { echo: ({ text }) => String(text) },
  { list: () => [{ name: 'echo', description: 'Returns the text.', inputSchema }] },
);
