/** What is known about a server, for `servers list` and `servers show`. Starts nothing. */
import { definitionTokens } from '../../core/base/token-estimate.ts';
import { definitionBytes } from '../../core/directory/definition-size.ts';
import type { ServerFailure } from '../../core/directory/server-failures.ts';
import type { ServerDefinition } from '../servers/discover.ts';
import { referenceKinds } from '../servers/expand.ts';
import { loginKeyOf } from '../upstream/oauth/login-store.ts';
import type { LoginStore } from '../upstream/pool.ts';
import { createMask } from '../upstream/secrets.ts';
import type { ConfiguredServers } from './configured-servers.ts';

/** Whether a server works, as this run or an earlier one found. */
export type KnownState = 'never-started' | 'ready' | 'failed' | 'login-needed' | 'disabled';

/** One server in `servers list`, also as JSON. */
export interface ServerReport {
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  /** The file that defines it. */
  readonly file: string;
  /** The entry in the same file that its own extends; null if it extends none. */
  readonly extends: string | null;
  /** Whether each user over HTTP has a connection, a login and secrets of their own. */
  readonly isPerUser: boolean;
  /** The transport; before the first connection, the one that is tried first. */
  readonly transport: 'stdio' | 'http' | 'sse';
  readonly state: KnownState;
  /** Why the last attempt failed; null if it succeeded. */
  readonly failure: ServerFailure | null;
  /** Whether a login is stored; null for a local server, and if the address comes from a file or a command. */
  readonly hasLogin: boolean | null;
  /** Number of tools; null if the server never answered. */
  readonly tools: number | null;
  /** Estimated tokens that the definitions of its tools would cost an agent; null if the server never answered. */
  readonly tokens: number | null;
}

/** Everything that is known about a server. */
export interface ServerDetails extends ServerReport {
  /** Secrets are masked. Empty for a remote server. */
  readonly command: readonly string[];
  /** Secrets are masked. Null for a local server. */
  readonly url: string | null;
  /** Names of its environment variables. */
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

/** Reports a configured server, even a disabled one. */
export async function reportServer(configured: ConfiguredServers, definition: ServerDefinition): Promise<ServerReport> {
  const { known, failures, logins } = configured;
  const { name, description = '', file } = definition;
  const server = known.servers().find((candidate) => candidate.name === name);
  const tools = (server && known.metadata(server)?.tools) ?? null;
  const failure = (await failures.load(definition)) ?? null;
  return {
    name,
    alias: server?.alias ?? name,
    description,
    file,
    extends: definition.extends ?? null,
    isPerUser: definition.isPerUser,
    transport: transportOf(definition),
    state: definition.disabled ? 'disabled' : stateOf(failure, tools !== null),
    failure,
    hasLogin: await hasLogin(definition, logins),
    tools: tools && tools.length,
    tokens: tools && definitionTokens(definitionBytes(tools)),
  };
}

/** Logins are stored by the real address. No file is read and no command is run to find it. */
async function hasLogin({ name, file, url, owner }: ServerDefinition, logins: LoginStore): Promise<boolean | null> {
  const isKnown = url !== undefined && referenceKinds({ name, file, url }).size === 0;
  return isKnown ? (await logins.load(loginKeyOf({ name, url, owner }))) !== undefined : null;
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

/** Where a server runs, with which arguments and variables. */
function launchOf(
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

/** Reports everything that is known about a configured server. */
export async function detailsOf(configured: ConfiguredServers, definition: ServerDefinition): Promise<ServerDetails> {
  const server = configured.known.servers().find(({ name }) => name === definition.name);
  const metadata = server && configured.known.metadata(server);
  return {
    ...(await reportServer(configured, definition)),
    ...launchOf(definition, createMask(definition)),
    protocolVersion: metadata?.protocolVersion ?? null,
    serverVersion: metadata?.serverVersion ?? null,
    instructions: metadata?.instructions ?? null,
    capabilities: metadata?.capabilities ?? {},
    notices: metadata?.notices ?? [],
  };
}
