/**
 * What is known about the configured servers and their tools, in memory. It is told everything (`setServers`,
 * `setMetadata`) and asks nobody; servers keep the order of the configuration.
 */
import type { CatalogServer, CatalogTool, KnownTool, ServerMetadata } from './known.ts';
import { assignAliases, assignServerAliases, resolveName } from './names.ts';
import { createToolIndex, type FoundTools } from './tool-index.ts';

/** A configured server, as far as the catalog is concerned. */
export interface CatalogEntry {
  readonly name: string;
  readonly description?: string | undefined;
}

export interface Catalog {
  /** Replaces the list of servers; tools of servers that are gone are forgotten. */
  setServers(servers: readonly CatalogEntry[]): void;
  servers(): readonly CatalogServer[];
  /** The server of that name or alias, in any case when only one fits. */
  findServer(name: string): CatalogServer | undefined;
  /** Takes over what is known of a server; the same object again costs nothing. Undefined forgets it. */
  setMetadata(server: CatalogServer, metadata: ServerMetadata | undefined): void;
  /** Undefined when nothing is known of that server but its name. */
  metadata(server: CatalogServer): ServerMetadata | undefined;
  /** Undefined when the tools of that server are not known. */
  tools(server: CatalogServer): readonly CatalogTool[] | undefined;
  /** The known tools that fit `query` best, at most `limit`. Takes longer when tools changed since the last search. */
  search(query: string, limit: number): Promise<FoundTools>;
}

interface KnownServer {
  readonly metadata: ServerMetadata;
  readonly tools: readonly CatalogTool[];
}

/** Which tools of a server a search finds; the same array as long as nothing changed. */
export type FindableTools = (server: CatalogServer, tools: readonly CatalogTool[]) => readonly CatalogTool[];

/** @param findable all of them when left out. */
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
    search: (query, limit) => index.search(knownTools, query, limit),
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
