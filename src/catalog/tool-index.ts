/**
 * Keeps the search index in step with the catalog: before a search, servers that changed since the last one are read
 * again, in slices, and the others stay as they are. So nothing is read before the first search.
 */
import { createPause } from '../base/slices.ts';
import type { CatalogServer, CatalogTool } from './known.ts';
import { parameterNames } from './names.ts';
import type { SearchIndex, SearchServer, UnmatchedWord } from './search.ts';

/** A server with the tools it is known to have. */
export interface IndexedServer {
  readonly server: CatalogServer;
  /** The same array as long as nothing changed. */
  readonly tools: readonly CatalogTool[];
}

export interface FoundTool extends IndexedServer {
  readonly tool: CatalogTool;
  /** Higher is better; comparable within one answer. */
  readonly score: number;
}

export interface FoundTools {
  /** Best first. */
  readonly found: readonly FoundTool[];
  /** When there is no close match: the words of the query that no tool has, with words to try instead. */
  readonly unmatched: readonly UnmatchedWord[];
}

export interface ToolIndex {
  /** Searches the servers that `current` gives when the search begins. */
  search(current: () => readonly IndexedServer[], query: string, limit: number): Promise<FoundTools>;
}

export function createToolIndex(): ToolIndex {
  let index: SearchIndex | undefined;
  const indexed = new Map<string, IndexedServer>();
  // One search after the other, because each begins by changing the index.
  let last: Promise<unknown> = Promise.resolve();

  async function update(wanted: ReadonlyMap<string, IndexedServer>, target: SearchIndex): Promise<void> {
    for (const name of [...indexed.keys()].filter((known) => !wanted.has(known))) {
      target.remove(name);
      indexed.delete(name);
    }
    const pause = createPause();
    for (const [name, entry] of wanted) {
      if (!isSame(entry, indexed.get(name))) {
        // biome-ignore lint/performance/noAwaitInLoops: one after the other is the purpose.
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
    const wanted = new Map(current().map((entry) => [entry.server.name, entry]));
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

function isSame({ server, tools }: IndexedServer, before: IndexedServer | undefined): boolean {
  return before?.tools === tools && before.server.description === server.description;
}

function searchServer({ server, tools }: IndexedServer): SearchServer {
  return {
    name: server.name,
    description: server.description,
    tools: tools.map(({ name, title, description, inputSchema }) => ({
      name,
      title,
      description,
      parameters: parameterNames(inputSchema),
    })),
  };
}
