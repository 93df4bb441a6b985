/**
 * Keeps the search index up to date with the catalog. Each search first reads the servers that have changed since the last
 * one, in slices. So nothing is read before the first search.
 */
import { createPause } from '../base/slices.ts';
import type { CatalogServer, CatalogTool } from './known.ts';
import type { SearchIndex, SearchServer, UnmatchedWord } from './search.ts';

/** A server with its known tools. */
export interface IndexedServer {
  readonly server: CatalogServer;
  /** The same array until something changes. */
  readonly tools: readonly CatalogTool[];
  /** Whether it is no configured server. It may have the name of one, and its own name says nothing about its tools. */
  readonly isExtra?: boolean | undefined;
}

export interface FoundTool extends IndexedServer {
  readonly tool: CatalogTool;
  /** Higher is better. Comparable only within one answer. */
  readonly score: number;
}

export interface FoundTools {
  /** Best first. */
  readonly found: readonly FoundTool[];
  /** If there is no close match: the words of the query that no tool has, with words to try instead. */
  readonly unmatched: readonly UnmatchedWord[];
}

export interface ToolIndex {
  /** Searches the servers that `current` returns when the search begins. */
  search(current: () => readonly IndexedServer[], query: string, limit: number): Promise<FoundTools>;
}

export function createToolIndex(): ToolIndex {
  let index: SearchIndex | undefined;
  const indexed = new Map<string, IndexedServer>();
  // Searches run one at a time, because each first updates the index.
  let last: Promise<unknown> = Promise.resolve();

  async function update(wanted: ReadonlyMap<string, IndexedServer>, target: SearchIndex): Promise<void> {
    for (const name of [...indexed.keys()].filter((known) => !wanted.has(known))) {
      target.remove(name);
      indexed.delete(name);
    }
    const pause = createPause();
    for (const [name, entry] of wanted) {
      if (!isSame(entry, indexed.get(name))) {
        // biome-ignore lint/performance/noAwaitInLoops: servers are read one at a time on purpose.
        await target.put(searchServer(entry), pause);
      }
      indexed.set(name, entry);
    }
  }

  async function run(current: () => readonly IndexedServer[], query: string, limit: number): Promise<FoundTools> {
    if (index === undefined) {
      const { createSearchIndex } = await import('./search.ts');
      index = createSearchIndex();
    }
    const wanted = new Map(current().map((entry) => [keyOf(entry), entry]));
    await update(wanted, index);
    const { hits, unmatched } = index.search(query, limit);
    const found = hits.flatMap(({ server, place, score }) => {
      const entry = wanted.get(server);
      const tool = entry?.tools[place];
      return entry === undefined || tool === undefined ? [] : [{ ...entry, tool, score }];
    });
    return { found, unmatched };
  }

  return {
    search(current, query, limit) {
      const search = last.then(() => run(current, query, limit));
      last = search.catch(() => undefined);
      return search;
    },
  };
}

/** No configured server has an empty name, or one with this character. */
function keyOf({ isExtra, server }: IndexedServer): string {
  return isExtra === true ? `\0${server.name}` : server.name;
}

function isSame({ server, tools }: IndexedServer, before: IndexedServer | undefined): boolean {
  return before?.tools === tools && before.server.description === server.description;
}

function searchServer(entry: IndexedServer): SearchServer {
  const { isExtra, server, tools } = entry;
  return {
    name: keyOf(entry),
    isNameless: isExtra,
    description: server.description,
    tools: tools.map(({ name, title, description, inputSchema }) => ({
      name,
      title,
      description,
      parameters: propertyNames(inputSchema),
    })),
  };
}

function propertyNames({ properties }: CatalogTool['inputSchema']): string[] {
  return typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
}
