/** Counts the calls that are sent to each server, and how long the last of them took. */

import { CappedMap } from '../../core/base/capped-map.ts';
import type { SentCall } from '../../core/calls/events.ts';

/** Of each server. Chosen: enough for a 95th percentile. */
const KEPT_DURATIONS = 256;
/** Names come from the configuration, which can change while the bridge runs. */
const MAX_SERVERS = 1_000;

interface Counts {
  calls: number;
  failed: number;
  /** A ring: the next duration goes to `calls % KEPT_DURATIONS`. */
  readonly durations: number[];
}

export interface ServerCounts {
  readonly calls: number;
  readonly failed: number;
  readonly p50Ms: number | undefined;
  readonly p95Ms: number | undefined;
}

export class ServerStatistics {
  readonly #servers = new CappedMap<string, Counts>(MAX_SERVERS);

  /** `sent` has no wait for a person. */
  note(server: string, { durationMs, hasFailed }: SentCall): void {
    const counts = this.#countsOf(server);
    counts.durations[counts.calls % KEPT_DURATIONS] = durationMs;
    counts.calls += 1;
    counts.failed += hasFailed ? 1 : 0;
  }

  of(server: string): ServerCounts {
    const { calls, failed, durations } = this.#servers.get(server) ?? NONE;
    const sorted = durations.toSorted((a, b) => a - b);
    const share = (part: number): number | undefined => sorted[Math.ceil(sorted.length * part) - 1];
    return { calls, failed, p50Ms: share(0.5), p95Ms: share(0.95) };
  }

  #countsOf(server: string): Counts {
    const known = this.#servers.get(server);
    if (known !== undefined) {
      return known;
    }
    const counts: Counts = { calls: 0, failed: 0, durations: [] };
    this.#servers.set(server, counts);
    return counts;
  }
}

const NONE: Counts = { calls: 0, failed: 0, durations: [] };
