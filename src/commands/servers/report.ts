/** What is known of a server, as `servers list` and `servers show` tell it. Starts nothing. */
import type { ServerDefinition } from '../../config/discover.ts';
import { createMask } from '../../upstream/mask.ts';
import type { ConfiguredServers } from '../configured-servers.ts';

/** One server as `list` and `show` tell of it; also the JSON. */
export interface ServerReport {
  readonly name: string;
  readonly alias: string;
  readonly description: string;
  readonly disabled: boolean;
  /** Null when the server was never asked. */
  readonly tools: number | null;
}

/** The same with everything that is known. */
export interface ServerDetails extends ServerReport {
  readonly file: string;
  /** How it is reached; what is tried first, as long as it was not asked. */
  readonly transport: 'stdio' | 'http' | 'sse';
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

export function reportOf({ definitions, known }: ConfiguredServers, name: string): ServerReport {
  const definition = definitions().get(name);
  const server = known.servers().find((candidate) => candidate.name === name);
  return {
    name,
    alias: server?.alias ?? name,
    description: definition?.description ?? '',
    disabled: server === undefined,
    tools: (server && known.metadata(server)?.tools.length) ?? null,
  };
}

/** Where a server runs and what it is given. */
function placeOf(
  definition: ServerDefinition | undefined,
  mask: (text: string) => string,
): Pick<ServerDetails, 'transport' | 'command' | 'url' | 'env' | 'headers' | 'cwd'> {
  const nothing = { transport: 'stdio' as const, command: [], url: null, env: [], headers: [], cwd: null };
  if (definition === undefined) {
    return nothing;
  }
  if (definition.url !== undefined) {
    const { transport, url, headers } = definition;
    return {
      ...nothing,
      transport: transport === 'sse' ? 'sse' : 'http',
      url: mask(url),
      headers: Object.keys(headers),
    };
  }
  const { command, args, env, cwd } = definition;
  return { ...nothing, command: [command, ...args].map(mask), env: Object.keys(env), cwd: cwd ?? null };
}

export function detailsOf(configured: ConfiguredServers, name: string): ServerDetails {
  const definition = configured.definitions().get(name);
  const server = configured.known.servers().find((candidate) => candidate.name === name);
  const metadata = server && configured.known.metadata(server);
  const mask = definition === undefined ? String : createMask(definition);
  return {
    ...reportOf(configured, name),
    file: definition?.file ?? '',
    ...placeOf(definition, mask),
    protocolVersion: metadata?.protocolVersion ?? null,
    serverVersion: metadata?.serverVersion ?? null,
    instructions: metadata?.instructions ?? null,
    capabilities: metadata?.capabilities ?? {},
    notices: metadata?.notices ?? [],
  };
}
