/**
 * Searches the tools of every configured server. Servers whose tools are unknown are started, a few at a time; the search
 * waits for them for a limited time, longer while it has found nothing good, and names those it could not cover. The next
 * search covers servers that start late.
 */
import { type CancelSignal, CancelSource } from '../base/cancel.ts';
import { createDeferred } from '../base/deferred.ts';
import { limitConcurrency } from '../base/limit-concurrency.ts';
import type { CatalogServer } from '../catalog/known.ts';
import type { FoundTools, IndexedServer } from '../catalog/tool-index.ts';
import type { ServerDirectory } from './server-directory.ts';

interface NotSearched {
  readonly server: string;
  readonly reason: string;
  /** It is still starting: a later search may cover it. */
  readonly late?: true;
}

export interface SearchResult extends FoundTools {
  readonly notSearched: readonly NotSearched[];
  /** Problems in the tool lists of the searched servers. */
  readonly notices: { readonly server: string; readonly notice: string }[];
}

/** `extra` is searched beside the configured servers. */
export type SearchTools = (
  query: string,
  limit: number,
  signal: CancelSignal,
  extra?: readonly IndexedServer[],
) => Promise<SearchResult>;

/** Each start is a process that compiles its code. Chosen. */
export const MAX_STARTS_AT_ONCE = 6;
/** A model waits for the search; a server started through npx answers in 1 to 3 s. Chosen. */
const WAIT_MS = 5_000;
/**
 * How many times as long searches wait, from the start of a server on, while no tool matches well: a further turn of the model costs
 * more. Chosen. Counted from the start, so that several searches of one cell do not reach its deadline.
 */
const PATIENCE = 4;

export function createToolSearch(directory: ServerDirectory, waitMs = WAIT_MS): SearchTools {
  const starting = new Map<string, { readonly ends: Promise<void>; readonly startedAt: number }>();
  const startInTurn = limitConcurrency(MAX_STARTS_AT_ONCE);
  // A cancelled search does not cancel the start: the next search uses it.
  const never = new CancelSource().signal;

  function learn(server: CatalogServer): Promise<void> {
    const running = starting.get(server.name);
    if (running !== undefined) {
      return running.ends;
    }
    const ends = startInTurn(() => directory.refresh(server, never))
      .then(
        () => undefined,
        () => undefined, // The directory keeps the reason.
      )
      .finally(() => starting.delete(server.name));
    starting.set(server.name, { ends, startedAt: performance.now() });
    return ends;
  }

  return async (query, limit, signal, extra = []) => {
    await directory.ready();
    const isUnknown = (server: CatalogServer): boolean => directory.metadata(server) === undefined;
    const unknown = directory.servers().filter(isUnknown);
    const learned = Promise.all(unknown.map(learn));
    if (unknown.length > 0) {
      await waitAtMost(learned, waitMs, signal);
    }
    let answer = await directory.search(query, limit, extra);
    let waitedMs = waitMs;
    const isWeak = answer.found.length === 0 || answer.unmatched.length > 0;
    const late = unknown.flatMap(({ name }) => starting.get(name) ?? []);
    const patientUntil = Math.max(...late.map(({ startedAt }) => startedAt)) + waitMs * PATIENCE;
    if (isWeak && patientUntil > performance.now()) {
      await waitAtMost(learned, patientUntil - performance.now(), signal);
      waitedMs = waitMs * PATIENCE;
      answer = await directory.search(query, limit, extra);
    }
    const reasonOfLate = `it did not answer within ${waitedMs / 1000} s; search again for its tools`;
    return {
      ...answer,
      notSearched: unknown.filter(isUnknown).map((server): NotSearched => {
        const reason = starting.has(server.name) ? undefined : directory.lastError(server);
        return { server: server.name, ...(reason === undefined ? { reason: reasonOfLate, late: true } : { reason }) };
      }),
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
  const { promise, resolve } = createDeferred<void>();
  const stop = (): void => resolve();
  const timer = setTimeout(stop, waitMs);
  signal.addEventListener('abort', stop, { once: true });
  await Promise.race([work, promise]);
  clearTimeout(timer);
  signal.removeEventListener('abort', stop);
}
