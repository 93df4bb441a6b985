/** What is known of a server, as `servers list` and `servers show` tell it. Starts nothing. */

import type { ServerDefinition } from '../servers/discover.ts';
import { referenceKinds } from '../servers/expand.ts';
import { createMask } from '../upstream/mask.ts';
import type { LoginStore } from '../upstream/pool.ts';
import type { ConfiguredServers } from './configured-servers.ts';
import { estimateTokens } from './definition-tokens.ts';
import type { ServerFailure } from './server-failures.ts';

/** What is known of whether a server works: from this run, and from those before. */
export type KnownState = 'never-started' | 'ready' | 'failed' | 'login-needed' | 'disabled';

/** One server as `list` tells of it; also the JSON. */
export interface ServerReport {
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  /** The file that defines it. */
  readonly file: string;
  /** How it is reached; what is tried first, as long as it was not asked. */
  readonly transport: 'stdio' | 'http' | 'sse';
  readonly state: KnownState;
  /** Why it could not be asked when it was asked last; null when it could. */
  readonly failure: ServerFailure | null;
  /** Whether a login is kept; null for a server that is started here, and where only a file or a command tells the address. */
  readonly hasLogin: boolean | null;
  /** Null when the server never answered. */
  readonly tools: number | null;
  /** What their definitions would cost an agent that got them directly, estimated; null when the server never answered. */
  readonly tokens: number | null;
}

/** The same with everything that is known. */
export interface ServerDetails extends ServerReport {
  /** Secrets are masked. Empty for a remote server. */
  readonly command: readonly string[];
  /** Secrets are masked. Null for a server that is started here. */
  readonly url: string | null;
  /** Names of its variables. */
  readonly env: readonly string[];
  /** Names of its headers. */
  readonly headers: readonly string[];
  readonly cwd: string | null;
  readonly protocolVersion: string | null;
  readonly serverVersion: string | null;
  readonly instructions: string | null;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly notices: readonly string[];
}

/** Of a configured server, also of one that is disabled. */
export async function reportServer(configured: ConfiguredServers, definition: ServerDefinition): Promise<ServerReport> {
  const { known, failures, logins } = configured;
  const { name, description = '', file } = definition;
  const server = known.servers().find((candidate) => candidate.name === name);
  const tools = (server && known.metadata(server)?.tools) ?? null;
  const failure = (await failures.load(definition.definitionHash)) ?? null;
  return {
    name,
    alias: server?.alias ?? name,
    description,
    file,
    transport: transportOf(definition),
    state: definition.disabled ? 'disabled' : stateOf(failure, tools !== null),
    failure,
    hasLogin: await hasLogin(definition, logins),
    tools: tools && tools.length,
    tokens: tools && estimateTokens(tools),
  };
}

/** Logins are kept by the real address. Nothing is read or run to find it out. */
async function hasLogin({ name, file, url }: ServerDefinition, logins: LoginStore): Promise<boolean | null> {
  const isKnown = url !== undefined && referenceKinds({ name, file, url }).size === 0;
  return isKnown ? (await logins.load({ name, url })) !== undefined : null;
}

function stateOf(failure: ServerFailure | null, isKnown: boolean): KnownState {
  if (failure !== null) {
    return failure.code === 'LOGIN_REQUIRED' ? 'login-needed' : 'failed';
  }
  return isKnown ? 'ready' : 'never-started';
}

function transportOf(definition: ServerDefinition): ServerReport['transport'] {
  if (definition.url === undefined) {
    return 'stdio';
  }
  return definition.transport === 'sse' ? 'sse' : 'http';
}

/** Where a server runs and what it is given. */
function placeOf(
  definition: ServerDefinition,
  mask: (text: string) => string,
): Pick<ServerDetails, 'command' | 'url' | 'env' | 'headers' | 'cwd'> {
  const nothing = { command: [], url: null, env: [], headers: [], cwd: null };
  if (definition.url !== undefined) {
    return { ...nothing, url: mask(definition.url), headers: Object.keys(definition.headers) };
  }
  const { command, args, env, cwd } = definition;
  return { ...nothing, command: [command, ...args].map(mask), env: Object.keys(env), cwd: cwd ?? null };
}

/** All that is known of a configured server. */
export async function detailsOf(configured: ConfiguredServers, definition: ServerDefinition): Promise<ServerDetails> {
  const server = configured.known.servers().find(({ name }) => name === definition.name);
  const metadata = server && configured.known.metadata(server);
  return {
    ...(await reportServer(configured, definition)),
    ...placeOf(definition, createMask(definition)),
    protocolVersion: metadata?.protocolVersion ?? null,
    serverVersion: metadata?.serverVersion ?? null,
    instructions: metadata?.instructions ?? null,
    capabilities: metadata?.capabilities ?? {},
    notices: metadata?.notices ?? [],
  };
}
