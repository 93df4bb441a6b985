/**
 * What the conformance suite runs as the client: the bridge's connection to a server, which lists the tools, calls each with the fewest
 * arguments that it allows, and ends. Gets the address of the server as its last argument.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeyring } from '../../src/config/keyring.ts';
import { createLoginStore } from '../../src/config/login-store.ts';
import { BridgeError } from '../../src/errors.ts';
import { silentLogger } from '../../src/log.ts';
import { login } from '../../src/upstream/oauth/login.ts';
import type { LoginRecord } from '../../src/upstream/oauth/login-record.ts';
import { createUpstreamPool, type UpstreamTool } from '../../src/upstream/pool.ts';
import { minimalArguments } from '../real-servers/minimal-arguments.ts';

interface WantedCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

/** What a scenario tells its client. */
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as {
  readonly toolCalls?: readonly WantedCall[];
  readonly client_id?: string;
  readonly client_secret?: string;
};
const LOGIN_MS = 20_000;
/** What the suite's authorization server takes for the address of our metadata document. */
const CLIENT_METADATA_URL = 'https://conformance-test.local/client-metadata.json';

/** Most users have none: the bridge registers itself then. */
const clientMetadataUrl =
  process.env['MCP_CONFORMANCE_SCENARIO'] === 'auth/basic-cimd' ? CLIENT_METADATA_URL : undefined;

const url = process.argv.at(-1) ?? '';
const stateDir = mkdtempSync(join(tmpdir(), 'conformance-client-'));
const store = createLoginStore<LoginRecord>(stateDir, createKeyring({ mode: 'off', platform: 'linux', env: {} }));
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
pool.update(new Map([[server.name, server]]));
const { signal } = new AbortController();
const { tools } = await loggingIn(() => pool.describe(server.name, { signal }));
for (const { name, arguments: given } of context.toolCalls ?? tools.map(minimalCall)) {
  // A tool that fails is the suite's business; what counts is what was sent.
  await loggingIn(() => pool.callTool({ server: server.name, tool: name, arguments: given, signal, elicit })).catch(
    (error: unknown) => console.error(`${name}: ${String(error)}`),
  );
}
await pool.close();
rmSync(stateDir, { recursive: true });

/** Does what the person does who reads `LOGIN_REQUIRED`: runs the command that it names, twice for one call at most. */
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

/** Stands in for the browser and for the person who agrees. */
async function visit(address: URL): Promise<void> {
  await (await fetch(address)).text();
}

/** Stands in for the person and their client. */
async function elicit({ requestedSchema }: Record<string, unknown>): Promise<Record<string, unknown>> {
  return { action: 'accept', content: minimalArguments(Object(requestedSchema) as Record<string, unknown>) };
}

function minimalCall({ inputSchema, name }: UpstreamTool): WantedCall {
  return { name, arguments: minimalArguments(inputSchema) };
}
