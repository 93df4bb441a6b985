/**
 * What the conformance suite runs as the client: the bridge's connection to a server, which lists the tools, calls each with the fewest
 * arguments that it allows, and ends. Gets the address of the server as its last argument.
 */
import { silentLogger } from '../../src/log.ts';
import { createUpstreamPool, type UpstreamTool } from '../../src/upstream/pool.ts';
import { minimalArguments } from '../real-servers/minimal-arguments.ts';

const url = process.argv.at(-1) ?? '';
const pool = createUpstreamPool({ logger: silentLogger });
const server = {
  name: 'suite',
  url,
  transport: 'auto',
  headers: {},
  timeoutMs: undefined,
  definitionHash: url,
  file: '',
} as const;
pool.update(new Map([[server.name, server]]));
const { signal } = new AbortController();
const { tools } = await pool.describe(server.name, { signal });
for (const { name, arguments: given } of wantedCalls() ?? tools.map(minimalCall)) {
  // A tool that fails is the suite's business; what counts is what was sent.
  await pool.callTool({ server: server.name, tool: name, arguments: given, signal, elicit }).catch((error: unknown) => {
    console.error(`${name}: ${String(error)}`);
  });
}
await pool.close();

/** Stands in for the person and their client. */
async function elicit({ requestedSchema }: Record<string, unknown>): Promise<Record<string, unknown>> {
  return { action: 'accept', content: minimalArguments(Object(requestedSchema) as Record<string, unknown>) };
}

interface WantedCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

/** Some scenarios say what to call. */
function wantedCalls(): readonly WantedCall[] | undefined {
  const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as { toolCalls?: readonly WantedCall[] };
  return context.toolCalls;
}

function minimalCall({ inputSchema, name }: UpstreamTool): WantedCall {
  return { name, arguments: minimalArguments(inputSchema) };
}
