/**
 * Finds the server and the tool that code in a sandbox names, or says why it may not have them. A server is found by
 * name or alias in any case; a tool only among those its server lists.
 */
import {
  type Catalog,
  type CatalogServer,
  type CatalogTool,
  createCatalog,
  type FoundTool,
  type ListedTool,
} from '../catalog/catalog.ts';
import { howToLoad } from '../catalog/describe.ts';
import { resolveName } from '../catalog/names.ts';
import { BridgeError } from '../errors.ts';
import { escapeControls } from '../log.ts';
import { didYouMean } from '../suggest.ts';

/** A configured server, as far as calls are concerned. */
export interface CallableServer {
  readonly name: string;
  readonly description?: string | undefined;
  readonly cwd?: string | undefined;
  readonly disabled?: boolean | undefined;
  /** Deadline of one call; undefined leaves it to the pool. */
  readonly timeoutMs?: number | undefined;
}

/** Where tool lists come from; starts the server if need be and rejects with a `BridgeError`. */
export interface ToolLister {
  /** The tools a server lists now; the same array as long as they did not change. */
  listTools(server: string, options: { readonly signal: AbortSignal }): Promise<readonly ListedTool[]>;
}

/** A server that may be asked about. */
export interface KnownServer extends CatalogServer {
  readonly definition: CallableServer;
}

export interface ServerDirectory {
  /** Every server that is not disabled, in the order of the configuration. */
  servers(): KnownServer[];
  /** Rejects with `SERVER_UNKNOWN`, and with `SERVER_NOT_AVAILABLE` when the server is disabled. */
  find(wanted: string): Promise<KnownServer>;
  /** As `find`; rejects with `SERVER_NOT_AVAILABLE` too when `loaded` does not hold the server. */
  findLoaded(wanted: string, loaded: ReadonlySet<string>): Promise<KnownServer>;
  /** Its tools as they are now. Starts the server if need be. */
  tools(server: KnownServer, signal: AbortSignal): Promise<readonly CatalogTool[]>;
  /** Rejects with `TOOL_UNKNOWN`. */
  findTool(server: KnownServer, wanted: string, signal: AbortSignal): Promise<CatalogTool>;
  /** Whether its tools were listed before, so that a search covers them. */
  hasTools(server: KnownServer): boolean;
  /** The tools listed so far that fit best. */
  search(query: string, limit: number): FoundTool[];
}

const MAX_SHOWN_NAME_CHARS = 80;

export function createServerDirectory(
  lister: ToolLister,
  definitions: () => readonly CallableServer[],
): ServerDirectory {
  const catalog = createCatalog();
  const servers = (): KnownServer[] => knownServers(catalog, definitions());
  const find = (wanted: string): Promise<KnownServer> => findServer(servers(), definitions(), wanted);

  async function tools(server: KnownServer, signal: AbortSignal): Promise<readonly CatalogTool[]> {
    return catalog.setTools(server, await lister.listTools(server.name, { signal }));
  }

  return {
    servers,
    find,
    async findLoaded(wanted, loaded) {
      const server = await find(wanted);
      if (!loaded.has(server.name)) {
        throw notAvailable(wanted, 'SERVER_NOT_AVAILABLE', `${capitalized(howToLoad(server.name))}.`);
      }
      return server;
    },
    tools,
    async findTool(server, wanted, signal) {
      const listed = await tools(server, signal);
      const tool = resolveName(listed, wanted);
      if (tool === undefined) {
        throw await unknownTool(server, listed, wanted);
      }
      return tool;
    },
    hasTools: (server) => catalog.tools(server) !== undefined,
    search(query, limit) {
      servers();
      return catalog.search(query, limit);
    },
  };
}

/** The servers that are not disabled, under the aliases of the catalog. */
function knownServers(catalog: Catalog, definitions: readonly CallableServer[]): KnownServer[] {
  const enabled = definitions.filter((definition) => definition.disabled !== true);
  catalog.setServers(enabled);
  return catalog.servers().flatMap((server, index) => {
    const definition = enabled[index];
    return definition === undefined ? [] : [{ ...server, definition }];
  });
}

async function findServer(
  known: readonly KnownServer[],
  definitions: readonly CallableServer[],
  wanted: string,
): Promise<KnownServer> {
  const found = resolveName(known, wanted);
  if (found !== undefined) {
    return found;
  }
  if (definitions.some((definition) => definition.name === wanted && definition.disabled === true)) {
    throw notAvailable(wanted, 'SERVER_NOT_AVAILABLE', 'It is disabled in its configuration file.');
  }
  throw notAvailable(wanted, 'SERVER_UNKNOWN', await whatThereIs(wanted, known));
}

function notAvailable(wanted: string, code: 'SERVER_UNKNOWN' | 'SERVER_NOT_AVAILABLE', hint: string): BridgeError {
  return new BridgeError(code, `Server '${shown(wanted)}' is not available`, { hint });
}

async function whatThereIs(wanted: string, known: readonly KnownServer[]): Promise<string> {
  if (known.length === 0) {
    return 'No server is configured.';
  }
  const names = known.map((server) => server.name);
  return `${await didYouMean(shown(wanted), names)} Configured: ${names.join(', ')}.`.trim();
}

async function unknownTool(server: KnownServer, listed: readonly CatalogTool[], wanted: string): Promise<BridgeError> {
  const near = await didYouMean(
    shown(wanted),
    listed.map((tool) => tool.alias),
  );
  const list = `await runtime.query_tool_docs('${server.name}') lists its tools.`;
  return new BridgeError('TOOL_UNKNOWN', `server '${server.name}' has no tool '${shown(wanted)}'`, {
    hint: `${near} ${list}`.trim(),
  });
}

/** A name from a sandbox as it may stand in a message. */
function shown(text: string): string {
  const short = text.length > MAX_SHOWN_NAME_CHARS ? `${text.slice(0, MAX_SHOWN_NAME_CHARS)}…` : text;
  return escapeControls(short);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
