/** What the store holds, and what is removed from it. Only a builder sees the store; these need no network. */
import { type BuilderOptions, limitsOfJob, runBuilder, type StoreLimits } from './build.ts';
import { MAX_SETS, type ReportOf } from './report.ts';

/** A finished set, as the store has it. */
export type StoredSet = ReportOf<'set'>;

export interface StoreContent {
  readonly sets: readonly StoredSet[];
  /** Of all sets together; files that they share count once. */
  readonly bytes: number;
}

/** Rejects with `PACKAGE_UNAVAILABLE`, and with the errors of an engine that cannot start. */
export async function listStore(options: BuilderOptions): Promise<StoreContent> {
  const sets = new Map<string, StoredSet>();
  const onReport = (report: ReportOf<'progress' | 'set'>): void => {
    if (report.type === 'set' && sets.size < MAX_SETS) {
      sets.set(report.id, report);
    }
  };
  const { bytes } = await runBuilder({ do: 'list' }, { ...options, ending: 'listed', isOffline: true, onReport });
  return { sets: [...sets.values()], bytes };
}

export interface Removed {
  /** Ids of the sets that were removed. */
  readonly sets: readonly string[];
  /** How much smaller the store is. */
  readonly bytes: number;
  /** How large it is now. */
  readonly store_bytes?: number | undefined;
}

/** Removes those of the sets that no session uses. Rejects as `listStore`, also while a builder installs packages. */
export async function removeSets(ids: readonly string[], options: BuilderOptions): Promise<Removed> {
  return runBuilder({ do: 'remove', sets: ids }, { ...options, ending: 'removed', isOffline: true });
}

/** Removes what exceeds the limits, unless a session uses it. Rejects as `removeSets`. */
export async function pruneStore(limits: StoreLimits, options: BuilderOptions): Promise<Removed> {
  const job = { do: 'remove', sets: null, ...limitsOfJob(limits) };
  return runBuilder(job, { ...options, ending: 'removed', isOffline: true });
}
