/** Statistics of the audit log in bounded memory: one entry per tool. */
import { CallSums } from './call-sums.ts';
import { LogTotals, type Totals } from './log-totals.ts';
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

export interface AuditStatistics extends Totals {
  /** Time of the first and the last record; null if there are none. */
  readonly from: string | null;
  readonly to: string | null;
  readonly output_bytes: number;
  /** Most calls first. */
  readonly tools: readonly ToolStatistics[];
}

interface Tool {
  readonly server: string;
  readonly tool: string;
  readonly sums: CallSums;
}

export class StatisticsBuilder {
  readonly #totals = new LogTotals();
  readonly #tools = new Map<string, Tool>();
  #outputBytes = 0;

  add(record: AuditRecord): void {
    this.#totals.add(record);
    if (record.type === 'cell_ended') {
      this.#outputBytes += record.stdout_bytes + record.stderr_bytes + record.value_bytes + record.error_bytes;
    } else if (record.type === 'call') {
      this.#sumsOf(record.server, record.tool).add(record);
    } else if (record.type === 'calls_refused') {
      this.#sumsOf(record.server ?? VARIOUS, record.tool ?? VARIOUS).addRefused(record);
    }
  }

  result(): AuditStatistics {
    const { first, last } = this.#totals;
    return {
      from: first ?? null,
      to: last ?? null,
      ...this.#totals.result(),
      output_bytes: this.#outputBytes,
      tools: [...this.#tools.values()]
        // Of some there were only dry runs.
        .filter(({ sums }) => sums.calls > 0)
        .toSorted((a, b) => b.sums.calls - a.sums.calls)
        .map(toStatistics),
    };
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
