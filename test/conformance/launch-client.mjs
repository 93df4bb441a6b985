// @ts-check
/**
 * The program that the suite starts as its client. The suite starts all clients at once, more than any machine has cores for,
 * and counts the time they wait. So this only asks the client runner for its turn and returns the exit code. Arguments: the
 * runner's socket, the URL of the server.
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
