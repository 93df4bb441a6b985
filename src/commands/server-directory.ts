/**
 * Finds the server and the tool that code in a sandbox names, or says why it may not have them. A server is found by
 * name or alias in any case; a tool only among those its server lists.
 */
import type { CancelSignal } from '../cancel.ts';
import {
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
  /** Working directory of the server; code is told it. */
  readonly cwd?: string | undefined;
  /** A disabled server is known by name only: nothing starts it and no document names it. */
  readonly disabled?: boolean | undefined;
  /** The file that defines it. */
  readonly file?: string | undefined;
}

/** Where tool lists come from. */
export interface ToolLister {
  /**
   * The tools a server lists now, the same array as long as they did not change. Starts the server if need be and
   * rejects with a `BridgeError`.
   */
  listTools(server: string, options: { readonly signal: CancelSignal }): Promise<readonly ListedTool[]>;
}

/** The configured servers of now by name; the same map as long as they did not change. Asked at every call. */
export type ConfiguredServers = () => ReadonlyMap<string, CallableServer>;

export interface ServerDirectory {
  /** Every configured server that is not disabled, in the order of the configuration. */
  servers(): readonly CatalogServer[];
  /** Rejects with `SERVER_UNKNOWN`, or `SERVER_NOT_AVAILABLE` when it is disabled. */
  find(wanted: string): Promise<CatalogServer>;
  /** As `find`; rejects with `SERVER_NOT_AVAILABLE` when `loaded` does not hold the server. */
  findLoaded(wanted: string, loaded: ReadonlySet<string>): Promise<CatalogServer>;
  /** Its tools as they are now. Starts the server if need be. */
  tools(server: CatalogServer, signal: CancelSignal): Promise<readonly CatalogTool[]>;
  /** Rejects with `TOOL_UNKNOWN`. */
  findTool(server: CatalogServer, wanted: string, signal: CancelSignal): Promise<CatalogTool>;
  /** Its working directory, when the configuration names one. */
  workingDirectory(server: CatalogServer): string | undefined;
  /** Whether its tools were listed before, so that a search covers them. */
  hasTools(server: CatalogServer): boolean;
  /** The tools listed so far that fit best. */
  search(query: string, limit: number): FoundTool[];
}

const MAX_SHOWN_NAME_CHARS = 80;

export function createServerDirectory(lister: ToolLister, configured: ConfiguredServers): ServerDirectory {
  const catalog = createCatalog();
  let current: ReadonlyMap<string, CallableServer> | undefined;

  function servers(): readonly CatalogServer[] {
    const definitions = configured();
    if (definitions !== current) {
      current = definitions;
      catalog.setServers([...definitions.values()].filter((definition) => definition.disabled !== true));
    }
    return catalog.servers();
  }

  async function find(wanted: string): Promise<CatalogServer> {
    const server = resolveName(servers(), wanted);
    if (server !== undefined) {
      return server;
    }
    throw await notFound(wanted, configured().get(wanted), servers());
  }

  async function tools(server: CatalogServer, signal: CancelSignal): Promise<readonly CatalogTool[]> {
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
    workingDirectory: (server) => configured().get(server.name)?.cwd,
    hasTools: (server) => catalog.tools(server) !== undefined,
    search(query, limit) {
      servers();
      return catalog.search(query, limit);
    },
  };
}

function notAvailable(wanted: string, code: 'SERVER_UNKNOWN' | 'SERVER_NOT_AVAILABLE', hint: string): BridgeError {
  return new BridgeError(code, `Server '${shown(wanted)}' is not available`, { hint });
}

/** Why there is no such server: its definition, if there is one, is disabled. */
async function notFound(
  wanted: string,
  disabled: CallableServer | undefined,
  known: readonly CatalogServer[],
): Promise<BridgeError> {
  return disabled === undefined
    ? notAvailable(wanted, 'SERVER_UNKNOWN', await whatThereIs(wanted, known))
    : notAvailable(wanted, 'SERVER_NOT_AVAILABLE', `It is disabled in ${disabled.file ?? 'the configuration'}.`);
}

async function whatThereIs(wanted: string, known: readonly CatalogServer[]): Promise<string> {
  if (known.length === 0) {
    return 'No server is configured.';
  }
  const names = known.map((server) => server.name);
  return `${await didYouMean(shown(wanted), names)} Configured: ${names.join(', ')}.`.trim();
}

async function unknownTool(
  server: CatalogServer,
  listed: readonly CatalogTool[],
  wanted: string,
): Promise<BridgeError> {
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
