/** Sums of calls, in bounded memory: to a tool, to a server, or of a day. `audit stats`, reports and the page of `ui` count alike. */
import { statusOf } from './facts.ts';
import type { RecordOf } from './records.ts';

/** Each bucket of durations is this much longer than the one before, so percentiles are accurate to 5 %. */
const BUCKET_FACTOR = 1.1;
/** Shorter durations share the first bucket. */
const LEAST_MS = 0.01;

/** Durations by bucket, in bounded memory. */
export class Durations {
  readonly #counts = new Map<number, number>();
  #total = 0;

  add(ms: number): void {
    const index = ms <= LEAST_MS ? 0 : Math.ceil(Math.log(ms / LEAST_MS) / Math.log(BUCKET_FACTOR));
    this.#counts.set(index, (this.#counts.get(index) ?? 0) + 1);
    this.#total += 1;
  }

  /** The duration below which `share` of all lie, accurate to 5 %; null if there are none. */
  percentile(share: number): number | null {
    let left = Math.ceil(this.#total * share);
    for (const [index, count] of [...this.#counts].toSorted(([a], [b]) => a - b)) {
      left -= count;
      if (left <= 0) {
        // The middle of the bucket.
        return Number((LEAST_MS * BUCKET_FACTOR ** (index - 0.5)).toPrecision(3));
      }
    }
    return null;
  }
}

/** Calls that have begun, as their records say, but have no end: they run, or their bridge was killed. Each with what is known of it. */
export class UnendedCalls<Known> {
  readonly #open = new Map<string, Known[]>();

  get count(): number {
    return [...this.#open.values()].reduce((sum, open) => sum + open.length, 0);
  }

  begin(call: CallKey, known: Known): void {
    const key = keyOf(call);
    this.#open.set(key, [...(this.#open.get(key) ?? []), known]);
  }

  /** What is known of the call that has ended, of the earliest if several are the same; undefined if its begin has no record. */
  end(call: CallKey): Known | undefined {
    const key = keyOf(call);
    const open = this.#open.get(key);
    const known = open?.shift();
    if (open?.length === 0) {
      this.#open.delete(key);
    }
    return known;
  }
}

type CallKey = Pick<RecordOf<'call'>, 'id' | 'server' | 'tool'>;

/** What the records of a call have in common. In earlier versions, the calls of one program shared an id. */
function keyOf({ id, server, tool }: CallKey): string {
  return `${id}\n${server}\n${tool}`;
}

/** Calls that were made or refused and have ended; dry runs were neither. */
export class CallSums {
  calls = 0;
  /** Those that failed, without the refused ones. */
  failed = 0;
  /** Those that a rule, a person or a limit refused. */
  refused = 0;
  resultBytes = 0;
  /** Without calls that were only counted. */
  readonly times = new Durations();

  add(call: RecordOf<'call'>): void {
    const status = statusOf(call);
    if (status === 'dry_run' || status === 'started') {
      return;
    }
    this.calls += 1;
    this.failed += status === 'error' ? 1 : 0;
    this.refused += status === 'refused' ? 1 : 0;
    this.resultBytes += call.result_bytes ?? 0;
    this.times.add(call.duration_ms);
  }

  /** Refused calls without a record each. */
  addRefused({ calls }: RecordOf<'calls_refused'>): void {
    this.calls += calls;
    this.refused += calls;
  }

  /** Half of the calls took less, and 95 % did; null if there are none. */
  percentiles(): { readonly p50_ms: number | null; readonly p95_ms: number | null } {
    return { p50_ms: this.times.percentile(0.5), p95_ms: this.times.percentile(0.95) };
  }
}
