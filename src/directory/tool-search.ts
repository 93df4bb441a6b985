/**
 * Search over the tools of every configured server. Servers whose tools are not known yet are started beside it, a few
 * at a time; the search waits for them for a bounded time and names those it could not cover. What starts late is
 * there for the next search.
 */
import { type CancelSignal, CancelSource } from '../base/cancel.ts';
import type { CatalogServer } from '../catalog/known.ts';
import type { FoundTools } from '../catalog/tool-index.ts';
import { createPlaces } from './places.ts';
import type { ServerDirectory } from './server-directory.ts';

export interface SearchResult extends FoundTools {
  readonly notSearched: { readonly server: string; readonly reason: string }[];
  /** What is missing of the servers that were searched. */
  readonly notices: { readonly server: string; readonly notice: string }[];
}

export type SearchTools = (query: string, limit: number, signal: CancelSignal) => Promise<SearchResult>;

/** Chosen: a server started through npx answers in 1 to 3 s, and a model waits for the search. */
const WAIT_MS = 5_000;
/** Each start is a process that compiles its code. Chosen. */
export const MAX_STARTS_AT_ONCE = 6;

export function createToolSearch(directory: ServerDirectory, waitMs = WAIT_MS): SearchTools {
  const starting = new Map<string, Promise<void>>();
  const withPlace = createPlaces(MAX_STARTS_AT_ONCE);
  // A start belongs to no search: one that is cancelled leaves it to the next.
  const untilTheEnd = new CancelSource().signal;

  function learn(server: CatalogServer): Promise<void> {
    const running = starting.get(server.name);
    if (running !== undefined) {
      return running;
    }
    const start = withPlace(() => directory.refresh(server, untilTheEnd))
      .then(
        () => undefined,
        () => undefined, // The directory keeps the reason.
      )
      .finally(() => starting.delete(server.name));
    starting.set(server.name, start);
    return start;
  }

  return async (query, limit, signal) => {
    await directory.ready();
    const isUnknown = (server: CatalogServer): boolean => directory.metadata(server) === undefined;
    const unknown = directory.servers().filter(isUnknown);
    if (unknown.length > 0) {
      await waitAtMost(Promise.all(unknown.map(learn)), waitMs, signal);
    }
    const late = `it did not answer within ${waitMs / 1000} s; search again for its tools`;
    return {
      ...(await directory.search(query, limit)),
      notSearched: unknown.filter(isUnknown).map((server) => ({
        server: server.name,
        reason: (starting.has(server.name) ? undefined : directory.lastError(server)) ?? late,
      })),
      notices: directory.servers().flatMap((server) => {
        return (directory.metadata(server)?.notices ?? []).map((notice) => ({ server: server.name, notice }));
      }),
    };
  };
}

/** Resolves with `work`, after `waitMs`, or when `signal` aborts, whichever comes first. */
async function waitAtMost(work: Promise<unknown>, waitMs: number, signal: CancelSignal): Promise<void> {
  if (signal.aborted) {
    return;
  }
  const { promise, resolve } = withResolver();
  const timer = setTimeout(resolve, waitMs);
  signal.addEventListener('abort', resolve, { once: true });
  await Promise.race([work, promise]);
  clearTimeout(timer);
  signal.removeEventListener('abort', resolve);
}

function withResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
