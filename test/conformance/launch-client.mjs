// @ts-check
/**
 * What the suite starts as its client. The suite starts all of them at once, which no machine has the processors for, and counts that time;
 * so this only asks the client runner for its turn and passes the exit code on. Arguments: the runner's socket, the URL of the server.
 */
import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';

const [, , socketPath = '', url = ''] = process.argv;
const { MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION, MCP_CONFORMANCE_CONTEXT } = process.env;
const asking = request({ socketPath, method: 'POST' });
asking.end(
  JSON.stringify({
    url,
    scenario: MCP_CONFORMANCE_SCENARIO,
    revision: MCP_CONFORMANCE_PROTOCOL_VERSION,
    context: MCP_CONFORMANCE_CONTEXT,
  }),
);
const [response] = await once(asking, 'response');
process.exitCode = Number(await text(response));
