/**
 * What is known about the configured servers and their tools, in memory. The catalog fetches nothing itself; callers fill it
 * with `setServers` and `setMetadata`. Servers keep the order of the configuration.
 */
import type { CatalogServer, CatalogTool, KnownTool, ServerMetadata } from './known.ts';
import { assignAliases, assignServerAliases, resolveName } from './names.ts';
import { createToolIndex, type FoundTools, type IndexedServer } from './tool-index.ts';

/** What the catalog needs of a configured server. */
export interface CatalogEntry {
  readonly name: string;
  readonly description?: string | undefined;
}

export interface Catalog {
  /** Replaces the list of servers and forgets the tools of removed servers. */
  setServers(servers: readonly CatalogEntry[]): void;
  servers(): readonly CatalogServer[];
  /** The server with that name or alias; case is ignored if only one matches. */
  findServer(name: string): CatalogServer | undefined;
  /** Sets what is known about a server; undefined forgets it. Setting the same object again costs nothing. */
  setMetadata(server: CatalogServer, metadata: ServerMetadata | undefined): void;
  /** Undefined if only the server's name is known. */
  metadata(server: CatalogServer): ServerMetadata | undefined;
  /** Undefined if the server's tools are not known. */
  tools(server: CatalogServer): readonly CatalogTool[] | undefined;
  /**
   * The known tools that match `query` best, and those of `extra`, at most `limit`. Takes longer if tools have changed since the
   * last search.
   */
  search(query: string, limit: number, extra?: readonly IndexedServer[]): Promise<FoundTools>;
}

interface KnownServer {
  readonly metadata: ServerMetadata;
  readonly tools: readonly CatalogTool[];
}

/** The tools of a server that a search may find. Must return the same array until something changes. */
export type FindableTools = (server: CatalogServer, tools: readonly CatalogTool[]) => readonly CatalogTool[];

/** @param findable Default: all tools. */
export function createCatalog(findable: FindableTools = (_, tools) => tools): Catalog {
  let configured: readonly CatalogEntry[] = [];
  let servers: readonly CatalogServer[] = [];
  const known = new Map<string, KnownServer>();
  const index = createToolIndex();

  const knownTools = () =>
    servers.flatMap((server) => {
      const tools = known.get(server.name)?.tools;
      return tools === undefined ? [] : [{ server, tools: findable(server, tools) }];
    });

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
    },
    servers: () => servers,
    findServer: (name) => resolveName(servers, name),
    setMetadata(server, metadata) {
      if (known.get(server.name)?.metadata === metadata) {
        return;
      }
      if (metadata === undefined) {
        known.delete(server.name);
      } else {
        known.set(server.name, { metadata, tools: withAliases(metadata.tools) });
      }
    },
    metadata: (server) => known.get(server.name)?.metadata,
    tools: (server) => known.get(server.name)?.tools,
    search: (query, limit, extra = []) => index.search(() => [...knownTools(), ...extra], query, limit),
  };
}

function isSameList(left: readonly CatalogEntry[], right: readonly CatalogEntry[]): boolean {
  const isSame = (entry: CatalogEntry, index: number): boolean =>
    entry.name === right[index]?.name && entry.description === right[index]?.description;
  return left.length === right.length && left.every(isSame);
}

function toCatalogServers(entries: readonly CatalogEntry[]): CatalogServer[] {
  const aliases = assignServerAliases(entries.map((entry) => entry.name));
  return entries.map(({ name, description = '' }, index) => ({ name, alias: aliases[index] ?? name, description }));
}

function withAliases(tools: readonly KnownTool[]): CatalogTool[] {
  const aliases = assignAliases(tools.map((tool) => tool.name));
  return tools.map((tool, index) => ({ ...tool, alias: aliases[index] ?? tool.name }));
}
