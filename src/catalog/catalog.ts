/**
 * What is known about the configured servers and their tools, in memory. It is told everything (`setServers`,
 * `setTools`) and asks nobody; servers keep the order of the configuration.
 */
import { assignAliases, assignServerAliases, type Named, parameterNames, resolveName } from './names.ts';
import { createSearchIndex, type SearchEntry, type SearchIndex } from './search.ts';

/** A configured server, as far as the catalog is concerned. */
export interface ServerEntry {
  readonly name: string;
  readonly description?: string | undefined;
}

/** A tool as its server lists it (MCP `tools/list`); only the name was checked. */
export interface ListedTool {
  readonly name: string;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
}

export interface CatalogServer extends Named {
  /** Empty when the configuration has none. */
  readonly description: string;
}

export interface CatalogTool extends Named {
  /** As the server wrote it; empty when there is none. */
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface FoundTool {
  readonly server: CatalogServer;
  readonly tool: CatalogTool;
}

export interface Catalog {
  /** Replaces the list of servers; tools of servers that are gone are forgotten. */
  setServers(servers: readonly ServerEntry[]): void;
  servers(): readonly CatalogServer[];
  /** The server of that name or alias, in any case when only one fits. */
  findServer(name: string): CatalogServer | undefined;
  /** Takes over the tool list of a server; the same list object again costs nothing. Returns its tools with aliases. */
  setTools(server: CatalogServer, listed: readonly ListedTool[]): readonly CatalogTool[];
  /** Undefined when the tools of that server are not known. */
  tools(server: CatalogServer): readonly CatalogTool[] | undefined;
  /** The known tools that fit `query` best, at most `limit`. */
  search(query: string, limit: number): FoundTool[];
}

interface KnownTools {
  readonly listed: readonly ListedTool[];
  readonly tools: readonly CatalogTool[];
}

type Entry = SearchEntry & { readonly found: FoundTool };

export function createCatalog(): Catalog {
  let configured: readonly ServerEntry[] = [];
  let servers: readonly CatalogServer[] = [];
  const known = new Map<string, KnownTools>();
  let index: SearchIndex<Entry> | undefined;

  return {
    setServers(entries) {
      if (isSameList(entries, configured)) {
        return;
      }
      configured = entries;
      servers = toCatalogServers(entries);
      const names = new Set(entries.map((entry) => entry.name));
      for (const name of [...known.keys()].filter((candidate) => !names.has(candidate))) {
        known.delete(name);
      }
      index = undefined;
    },
    servers: () => servers,
    findServer: (name) => resolveName(servers, name),
    setTools(server, listed) {
      const before = known.get(server.name);
      if (before?.listed === listed) {
        return before.tools;
      }
      const tools = toCatalogTools(listed);
      known.set(server.name, { listed, tools });
      index = undefined;
      return tools;
    },
    tools: (server) => known.get(server.name)?.tools,
    search(query, limit) {
      index ??= createSearchIndex(servers.flatMap((server) => entriesOf(server, known.get(server.name)?.tools ?? [])));
      return index.search(query, limit).map((hit) => hit.entry.found);
    },
  };
}

function isSameList(left: readonly ServerEntry[], right: readonly ServerEntry[]): boolean {
  const isSame = (entry: ServerEntry, index: number): boolean =>
    entry.name === right[index]?.name && entry.description === right[index]?.description;
  return left.length === right.length && left.every(isSame);
}

function toCatalogServers(entries: readonly ServerEntry[]): CatalogServer[] {
  const aliases = assignServerAliases(entries.map((entry) => entry.name));
  return entries.map(({ name, description = '' }, index) => ({ name, alias: aliases[index] ?? name, description }));
}

function toCatalogTools(listed: readonly ListedTool[]): CatalogTool[] {
  const aliases = assignAliases(listed.map((tool) => tool.name));
  return listed.map(({ name, description, inputSchema }, index) => ({
    name,
    alias: aliases[index] ?? name,
    description: typeof description === 'string' ? description : '',
    inputSchema: isObject(inputSchema) ? inputSchema : {},
  }));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function entriesOf(server: CatalogServer, tools: readonly CatalogTool[]): Entry[] {
  return tools.map((tool) => ({
    server: server.name,
    serverDescription: server.description,
    tool: tool.name,
    description: tool.description,
    parameters: parameterNames(tool.inputSchema),
    found: { server, tool },
  }));
}
