/** Statistics of the audit log in bounded memory: one entry per tool, and durations in buckets. */
import type { AuditRecord, RecordOf } from './records.ts';

/** Each bucket of durations is this much longer than the one before, so percentiles are accurate to 5 %. */
const BUCKET_FACTOR = 1.1;
/** Shorter durations share the first bucket. */
const LEAST_MS = 0.01;

/** Durations by bucket. */
class Durations {
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

/** The calls to one tool. */
export interface ToolStatistics {
  readonly server: string;
  readonly tool: string;
  readonly calls: number;
  readonly failed: number;
  /** The part of `failed` that a rule or a person refused. */
  readonly refused: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  readonly result_bytes: number;
}

export interface AuditStatistics {
  /** Time of the first and the last record; null if there are none. */
  readonly from: string | null;
  readonly to: string | null;
  readonly bridges: number;
  readonly sessions: number;
  readonly cells: Readonly<Record<string, number>>;
  readonly cell_p50_ms: number | null;
  readonly cell_p95_ms: number | null;
  readonly output_bytes: number;
  /** Most calls first. */
  readonly tools: readonly ToolStatistics[];
  readonly lost_records: number;
}

interface Tool {
  readonly server: string;
  readonly tool: string;
  readonly times: Durations;
  calls: number;
  failed: number;
  refused: number;
  bytes: number;
}

export class StatisticsBuilder {
  readonly #bridges = new Set<string>();
  readonly #cells = new Map<string, number>();
  readonly #cellTimes = new Durations();
  readonly #tools = new Map<string, Tool>();
  #from: string | undefined;
  #to: string | undefined;
  #sessions = 0;
  #outputBytes = 0;
  #lost = 0;

  add(record: AuditRecord): void {
    this.#bridges.add(record.bridge);
    // ISO timestamps sort chronologically.
    this.#from = this.#from === undefined || record.at < this.#from ? record.at : this.#from;
    this.#to = this.#to === undefined || record.at > this.#to ? record.at : this.#to;
    switch (record.type) {
      case 'session_started':
        this.#sessions += 1;
        break;
      case 'cell_ended':
        this.#countCell(record.status);
        this.#cellTimes.add(record.duration_ms);
        this.#outputBytes += record.stdout_bytes + record.stderr_bytes + record.value_bytes + record.error_bytes;
        break;
      case 'cell_refused':
        this.#countCell('refused');
        break;
      case 'call':
        this.#addCall(record);
        break;
      case 'calls_refused':
        this.#addRefused(record);
        break;
      case 'lost':
        this.#lost += record.records;
        break;
      default:
    }
  }

  result(): AuditStatistics {
    return {
      from: this.#from ?? null,
      to: this.#to ?? null,
      bridges: this.#bridges.size,
      sessions: this.#sessions,
      cells: Object.fromEntries(this.#cells),
      cell_p50_ms: this.#cellTimes.percentile(0.5),
      cell_p95_ms: this.#cellTimes.percentile(0.95),
      output_bytes: this.#outputBytes,
      tools: [...this.#tools.values()].toSorted((a, b) => b.calls - a.calls).map(toStatistics),
      lost_records: this.#lost,
    };
  }

  #countCell(status: string): void {
    this.#cells.set(status, (this.#cells.get(status) ?? 0) + 1);
  }

  #addCall(call: RecordOf<'call'>): void {
    // It was neither made nor refused.
    if (call.dry_run === true) {
      return;
    }
    const tool = this.#toolOf(call.server, call.tool);
    tool.calls += 1;
    tool.failed += call.outcome === 'error' ? 1 : 0;
    tool.refused += isRefused(call) ? 1 : 0;
    tool.bytes += call.result_bytes ?? 0;
    tool.times.add(call.duration_ms);
  }

  #addRefused({ server = VARIOUS, tool: name = VARIOUS, calls }: RecordOf<'calls_refused'>): void {
    const tool = this.#toolOf(server, name);
    tool.calls += calls;
    tool.failed += calls;
    tool.refused += calls;
  }

  #toolOf(server: string, name: string): Tool {
    const key = JSON.stringify([server, name]);
    const tool = this.#tools.get(key) ?? {
      server,
      tool: name,
      times: new Durations(),
      calls: 0,
      failed: 0,
      refused: 0,
      bytes: 0,
    };
    this.#tools.set(key, tool);
    return tool;
  }
}

/** Stands for names that were not counted apart. */
const VARIOUS = '(various)';

function isRefused({ decision, answer }: RecordOf<'call'>): boolean {
  return decision === 'denied' || (decision === 'asked' && answer !== 'allowed');
}

function toStatistics({ server, tool, calls, failed, refused, bytes, times }: Tool): ToolStatistics {
  return {
    server,
    tool,
    calls,
    failed,
    refused,
    p50_ms: times.percentile(0.5),
    p95_ms: times.percentile(0.95),
    result_bytes: bytes,
  };
}
