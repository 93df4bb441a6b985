/**
 * The client that the conformance suite runs: the bridge's connection to a server. It lists the tools and calls each with the
 * fewest possible arguments, lists resources and prompts, reads the first of each, and exits. Its last argument is the URL of
 * the server.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BridgeError } from '../../src/core/base/errors.ts';
import { silentLogger } from '../../src/core/base/log.ts';
import type { SurfaceMethod } from '../../src/core/protocol/server-requests.ts';
import { login } from '../../src/edges/upstream/oauth/login.ts';
import { createLoginStore } from '../../src/edges/upstream/oauth/login-store.ts';
import { createUpstreamPool, type UpstreamTool } from '../../src/edges/upstream/pool.ts';
import { minimalArguments } from '../real-servers/minimal-arguments.ts';

interface WantedCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

/** What a scenario passes to its client. */
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as {
  readonly toolCalls?: readonly WantedCall[];
  readonly client_id?: string;
  readonly client_secret?: string;
};
const LOGIN_MS = 20_000;
/** The scenario `json-schema-2020-12-preservation` passes the schema of the first tool to the second. */
const ECHOED = 'json_schema_2020_12_tool';
const ECHOED_BY = 'json_schema_echo';
/** The address of our metadata document for the suite's authorization server. */
const CLIENT_METADATA_URL = 'https://conformance-test.local/client-metadata.json';

/** Most users have none; then the bridge registers itself. */
const clientMetadataUrl =
  process.env['MCP_CONFORMANCE_SCENARIO'] === 'auth/basic-cimd' ? CLIENT_METADATA_URL : undefined;

const url = process.argv.at(-1) ?? '';
const stateDir = mkdtempSync(join(tmpdir(), 'conformance-client-'));
const store = createLoginStore(stateDir, silentLogger);
const server = {
  name: 'suite',
  url,
  transport: 'auto',
  headers: {},
  oauth: { clientId: context.client_id, clientSecret: context.client_secret, clientMetadataUrl },
  timeoutMs: undefined,
  definitionHash: url,
  file: '',
} as const;
const pool = createUpstreamPool({
  logger: silentLogger,
  logins: store,
});
pool.offerElicitation({ form: {} });
pool.update(new Map([[server.name, server]]));
const { signal } = new AbortController();
const { tools, info } = await loggingIn(() => pool.describe(server.name, { signal }));
for (const { name, arguments: given } of context.toolCalls ?? tools.map((tool) => callOf(tool))) {
  // The suite judges what was sent, so a failing tool does not matter.
  await loggingIn(() => pool.callTool({ server: server.name, tool: name, arguments: given, signal, elicit })).catch(
    (error: unknown) => console.error(`${name}: ${String(error)}`),
  );
}
if ('resources' in info.capabilities) {
  await readFirst('resources/list', 'resources/read', 'uri');
}
if ('prompts' in info.capabilities) {
  await readFirst('prompts/list', 'prompts/get', 'name');
}
await pool.close();
rmSync(stateDir, { recursive: true });

/** Acts like a person who reads `LOGIN_REQUIRED`: runs the suggested command, at most twice for one call. */
async function loggingIn<Value>(work: () => Promise<Value>, logins = 2): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BridgeError) || error.code !== 'LOGIN_REQUIRED' || logins === 0) {
      throw error;
    }
    const scope = /--scope '?([^']+?)'?(?:$|\n| *[.;])/.exec(error.hint ?? '')?.[1];
    await login(server, { store, env: process.env, scope, timeoutMs: LOGIN_MS, onAddress: visit });
    return loggingIn(work, logins - 1);
  }
}

/** Plays the browser and the person, who agrees. */
async function visit(address: URL): Promise<void> {
  await (await fetch(address)).text();
}

/** Plays the person and their client, which shows a form with its defaults filled in (MCP 2025-11-25, client/elicitation). */
async function elicit({ requestedSchema }: Record<string, unknown>): Promise<Record<string, unknown>> {
  const schema = Object(requestedSchema) as Record<string, unknown>;
  const fields = Object.entries(Object(schema['properties']) as Record<string, { readonly default?: unknown }>);
  const defaults = fields.filter(([, field]) => 'default' in field).map(([name, field]) => [name, field.default]);
  return { action: 'accept', content: { ...minimalArguments(schema), ...Object.fromEntries(defaults) } };
}

async function readFirst(list: SurfaceMethod, read: SurfaceMethod, key: string): Promise<void> {
  const listed = await pool.surface({ server: server.name, method: list, params: {}, signal });
  const [first] = 'items' in listed ? listed.items : [];
  if (first !== undefined) {
    await pool.surface({ server: server.name, method: read, params: { [key]: first[key] }, signal });
  }
}

function callOf({ inputSchema, name }: UpstreamTool): WantedCall {
  return {
    name,
    arguments:
      name === ECHOED_BY
        ? { schema: tools.find((tool) => tool.name === ECHOED)?.inputSchema }
        : minimalArguments(inputSchema),
  };
}
