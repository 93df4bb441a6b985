/** Statistics of the audit log in bounded memory: one entry per tool. */
import { CallSums, Durations, UnendedCalls } from './call-sums.ts';
import type { AuditRecord } from './records.ts';

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
  /** Calls that were sent, with a required record, and whose end is not in the log. They are in no other number. */
  readonly calls_without_end: number;
  readonly lost_records: number;
}

interface Tool {
  readonly server: string;
  readonly tool: string;
  readonly sums: CallSums;
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
  readonly #unended = new UnendedCalls();

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
        this.#unended.note(record);
        this.#sumsOf(record.server, record.tool).add(record);
        break;
      case 'calls_refused':
        this.#sumsOf(record.server ?? VARIOUS, record.tool ?? VARIOUS).addRefused(record);
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
      tools: [...this.#tools.values()]
        // Of some there were only dry runs.
        .filter(({ sums }) => sums.calls > 0)
        .toSorted((a, b) => b.sums.calls - a.sums.calls)
        .map(toStatistics),
      calls_without_end: this.#unended.count,
      lost_records: this.#lost,
    };
  }

  #countCell(status: string): void {
    this.#cells.set(status, (this.#cells.get(status) ?? 0) + 1);
  }

  #sumsOf(server: string, tool: string): CallSums {
    const key = JSON.stringify([server, tool]);
    const known = this.#tools.get(key) ?? { server, tool, sums: new CallSums() };
    this.#tools.set(key, known);
    return known.sums;
  }
}

/** Stands for names that were not counted apart. */
const VARIOUS = '(various)';

function toStatistics({ server, sums, tool }: Tool): ToolStatistics {
  const { calls, failed, refused, resultBytes } = sums;
  return { server, tool, calls, failed: failed + refused, refused, ...sums.percentiles(), result_bytes: resultBytes };
}
