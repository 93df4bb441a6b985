/** What statistics and reports both count, in bounded memory. */
import { Durations, UnendedCalls } from './call-sums.ts';
import type { AuditRecord } from './records.ts';

export interface Totals {
  readonly bridges: number;
  readonly sessions: number;
  /** By status. */
  readonly cells: Readonly<Record<string, number>>;
  readonly cell_p50_ms: number | null;
  readonly cell_p95_ms: number | null;
  /** Calls that were sent, with a required record, and whose end is not in the log. They are in no other number. */
  readonly calls_without_end: number;
  readonly lost_records: number;
}

export class LogTotals {
  /** Time of the first and the last record. */
  first: string | undefined;
  last: string | undefined;
  readonly #bridges = new Set<string>();
  readonly #cells = new Map<string, number>();
  readonly #cellTimes = new Durations();
  readonly #unended = new UnendedCalls<true>();
  #sessions = 0;
  #lost = 0;

  add(record: AuditRecord): void {
    const { at, bridge, type } = record;
    this.#bridges.add(bridge);
    // ISO timestamps sort chronologically.
    this.first = this.first === undefined || at < this.first ? at : this.first;
    this.last = this.last === undefined || at > this.last ? at : this.last;
    if (type === 'session_started') {
      this.#sessions += 1;
    } else if (type === 'cell_ended') {
      this.#countCell(record.status);
      this.#cellTimes.add(record.duration_ms);
    } else if (type === 'cell_refused') {
      this.#countCell('refused');
    } else if (type === 'call' && record.outcome === 'started') {
      this.#unended.begin(record, true);
    } else if (type === 'call') {
      this.#unended.end(record);
    } else if (type === 'lost') {
      this.#lost += record.records;
    }
  }

  result(): Totals {
    return {
      bridges: this.#bridges.size,
      sessions: this.#sessions,
      cells: Object.fromEntries(this.#cells),
      cell_p50_ms: this.#cellTimes.percentile(0.5),
      cell_p95_ms: this.#cellTimes.percentile(0.95),
      calls_without_end: this.#unended.count,
      lost_records: this.#lost,
    };
  }

  #countCell(status: string): void {
    this.#cells.set(status, (this.#cells.get(status) ?? 0) + 1);
  }
}
