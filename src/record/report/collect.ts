/** Sums up records, in bounded memory: code and servers choose names, so each list of names has a limit. */
import { CappedMap } from '../../core/base/capped-map.ts';
import { CallSums } from '../history/call-sums.ts';
import { statusOf } from '../history/facts.ts';
import { LogTotals, type Totals } from '../history/log-totals.ts';
import type { AuditRecord, RecordOf } from '../history/records.ts';
import { type Savings, SavingsBuilder } from '../history/savings.ts';

/** Names counted apart in a list; the rest is `(others)`. */
const MAX_NAMES = 1_000;
/** What is longer is cut. */
const MAX_NAME_CHARS = 200;
const MAX_SLOWEST = 10;
/** Cells that may be open at once; those of killed bridges stay. */
const MAX_OPEN = 10_000;
const MAX_CODE_CHARS = 160;
const DAY_MS = 24 * 3_600_000;
/** Days without records are shown too, up to this many before the last one. */
const MAX_DAYS = 400;
const OTHERS = '(others)';

export interface Counts {
  readonly calls: number;
  /** Without the refused ones. */
  readonly failed: number;
  readonly refused: number;
}

export interface DayReport extends Counts {
  readonly day: string;
  readonly cells: number;
  readonly cells_failed: number;
  readonly cells_refused: number;
}

export interface UseReport extends Counts {
  readonly server: string;
  /** Null for all tools of the server. */
  readonly tool: string | null;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  readonly result_bytes: number;
}

export interface SlowCell {
  readonly id: string;
  readonly at: string;
  readonly status: string;
  readonly duration_ms: number;
  readonly calls: number;
  /** The first line with code. */
  readonly code: string;
}

export interface ApprovalReport {
  /** What was asked for: a tool, packages, or a function to save. */
  readonly what: string;
  readonly answer: string;
  /** For what a person said: how far it reaches. For packages: who allowed it. */
  readonly scope: string;
  /** The principal whose code asked; null for the user of the machine. */
  readonly principal: string | null;
  readonly times: number;
  readonly last_at: string;
}

export interface ActivityReport extends Totals {
  /** The time that was asked for. */
  readonly since: string;
  readonly until: string;
  /** Time of the first and the last record; null if there are none. */
  readonly first: string | null;
  readonly last: string | null;
  readonly principals: number;
  readonly totals: Counts;
  readonly days: readonly DayReport[];
  /** Most calls first. */
  readonly servers: readonly UseReport[];
  readonly tools: readonly UseReport[];
  /** Most frequent first. */
  readonly failures: readonly { readonly of: 'cell' | 'call'; readonly error: string; readonly times: number }[];
  /** The slowest first. */
  readonly slowest: readonly SlowCell[];
  readonly approvals: readonly ApprovalReport[];
  readonly savings: Savings;
  /** Lines of the log that could not be read. */
  readonly bad_lines: number;
}

type Mutable<Value> = { -readonly [Key in keyof Value]: Value[Key] };

interface Use {
  readonly server: string;
  readonly tool: string | null;
  readonly sums: CallSums;
}

/** Counts by name, up to a limit. */
class Named<Value> {
  readonly #values = new Map<string, Value>();
  readonly #create: (...parts: readonly string[]) => Value;

  constructor(create: (...parts: readonly string[]) => Value) {
    this.#create = create;
  }

  /** The value of a name of several parts. */
  get(...names: readonly string[]): Value {
    const parts = names.map((name) =>
      name.length > MAX_NAME_CHARS ? name.slice(0, MAX_NAME_CHARS).toWellFormed() : name,
    );
    const key = JSON.stringify(parts);
    const isKnown = this.#values.has(key) || this.#values.size < MAX_NAMES;
    const own = isKnown ? parts : parts.map(() => OTHERS);
    const ownKey = isKnown ? key : JSON.stringify(own);
    const value = this.#values.get(ownKey) ?? this.#create(...own);
    this.#values.set(ownKey, value);
    return value;
  }

  all(): Value[] {
    return [...this.#values.values()];
  }
}

const useOf = (server = '', tool?: string): Use => ({ server, tool: tool ?? null, sums: new CallSums() });

export class ReportBuilder {
  readonly #days = new Map<string, Mutable<DayReport>>();
  readonly #servers = new Named<Use>(useOf);
  readonly #tools = new Named<Use>(useOf);
  readonly #failures = new Named((of, error) => ({
    of: of === 'cell' ? ('cell' as const) : ('call' as const),
    error: error ?? '',
    times: 0,
  }));
  readonly #approvals = new Named(approvalOf);
  readonly #open = new CappedMap<
    string,
    { readonly started: RecordOf<'cell_started'>['at']; readonly code: string; calls: number }
  >(MAX_OPEN);
  readonly #principals = new Set<string>();
  readonly #savings = new SavingsBuilder();
  readonly #log = new LogTotals();
  readonly #totals: Mutable<Counts> = { calls: 0, failed: 0, refused: 0 };
  #slowest: SlowCell[] = [];

  add(record: AuditRecord): void {
    this.#log.add(record);
    this.#principals.add(record.principal ?? '');
    this.#savings.add(record);
    switch (record.type) {
      case 'cell_started':
        this.#begin(record);
        break;
      case 'cell_ended':
        this.#end(record);
        break;
      case 'cell_refused':
        this.#countCell(record.at, 'refused');
        this.#failures.get('cell', record.error_code).times += 1;
        break;
      case 'call':
        this.#addCall(record);
        break;
      case 'calls_refused':
        this.#addRefused(record);
        break;
      default:
        this.#addPermission(record);
    }
  }

  result({
    badLines,
    sinceMs,
    untilMs,
  }: {
    readonly badLines: number;
    readonly sinceMs: number;
    readonly untilMs: number;
  }): ActivityReport {
    const uses = (named: Named<Use>) =>
      named
        .all()
        .toSorted((a, b) => b.sums.calls - a.sums.calls)
        .map(toUse);
    return {
      since: new Date(sinceMs).toISOString(),
      until: new Date(untilMs).toISOString(),
      first: this.#log.first ?? null,
      last: this.#log.last ?? null,
      ...this.#log.result(),
      principals: this.#principals.size,
      totals: this.#totals,
      days: this.#allDays(untilMs),
      servers: uses(this.#servers),
      tools: uses(this.#tools),
      failures: this.#failures.all().toSorted((a, b) => b.times - a.times),
      slowest: this.#slowest,
      approvals: this.#approvals.all().toSorted((a, b) => b.times - a.times),
      savings: this.#savings.result(),
      bad_lines: badLines,
    };
  }

  /** From the first day with records to the last. */
  #allDays(untilMs: number): DayReport[] {
    const last = (this.#log.last ?? new Date(untilMs).toISOString()).slice(0, 10);
    const first = [...this.#days.keys()].toSorted()[0] ?? last;
    const lastMs = Date.parse(last);
    const firstMs = Math.max(Date.parse(first), lastMs - (MAX_DAYS - 1) * DAY_MS);
    const days: DayReport[] = [];
    for (let timeMs = firstMs; timeMs <= lastMs && this.#days.size > 0; timeMs += DAY_MS) {
      days.push(this.#dayOf(new Date(timeMs).toISOString()));
    }
    return days;
  }

  #begin({ at, code, id }: RecordOf<'cell_started'>): void {
    const first = code.split('\n', 100).find((line) => line.trim() !== '') ?? '';
    this.#open.set(id, { started: at, code: first.slice(0, MAX_CODE_CHARS).toWellFormed(), calls: 0 });
  }

  #end({ at, duration_ms: durationMs, error_code: code, exception, id, status }: RecordOf<'cell_ended'>): void {
    const open = this.#open.get(id);
    this.#open.delete(id);
    this.#countCell(at, status);
    if (status !== 'success') {
      this.#failures.get('cell', code ?? exception ?? status).times += 1;
    }
    const slowest = this.#slowest.at(-1);
    if (this.#slowest.length < MAX_SLOWEST || (slowest !== undefined && durationMs > slowest.duration_ms)) {
      const { calls = 0, started = at, code: line = '' } = open ?? {};
      const cell = { id, at: started, status, duration_ms: durationMs, calls, code: line };
      this.#slowest = [...this.#slowest, cell].toSorted((a, b) => b.duration_ms - a.duration_ms).slice(0, MAX_SLOWEST);
    }
  }

  #countCell(at: string, status: string): void {
    const day = this.#dayOf(at);
    day.cells += 1;
    day.cells_refused += status === 'refused' ? 1 : 0;
    day.cells_failed += status === 'success' || status === 'refused' ? 0 : 1;
  }

  #addCall(call: RecordOf<'call'>): void {
    if (call.outcome === 'started') {
      return;
    }
    const open = this.#open.get(call.cell);
    if (open !== undefined) {
      open.calls += 1;
    }
    const status = statusOf(call);
    if (status === 'dry_run') {
      return;
    }
    this.#usesOf(call).forEach(({ sums }) => sums.add(call));
    this.#count(call.at, { calls: 1, failed: status === 'error' ? 1 : 0, refused: status === 'refused' ? 1 : 0 });
    if (status !== 'ok') {
      this.#failures.get('call', call.error_code ?? 'error').times += 1;
    }
    if (call.decision === 'asked') {
      const approval = [call.answer ?? '', call.approval ?? '', call.principal ?? ''];
      noteTime(this.#approvals.get(`${call.server}.${call.tool}`, ...approval), call.at);
    }
  }

  #addRefused(record: RecordOf<'calls_refused'>): void {
    const { at, calls, error_code: error } = record;
    this.#usesOf(record).forEach(({ sums }) => sums.addRefused(record));
    this.#count(at, { calls, failed: 0, refused: calls });
    this.#failures.get('call', error).times += calls;
  }

  /** Of its server, and of its tool. */
  #usesOf({ server = OTHERS, tool = OTHERS }: Pick<RecordOf<'calls_refused'>, 'server' | 'tool'>): readonly Use[] {
    return [this.#servers.get(server), this.#tools.get(server, tool)];
  }

  #count(at: string, counts: Counts): void {
    for (const sums of [this.#dayOf(at), this.#totals]) {
      sums.calls += counts.calls;
      sums.failed += counts.failed;
      sums.refused += counts.refused;
    }
  }

  /** Packages and saved functions, which a person, a rule or a setting allowed. */
  #addPermission(record: AuditRecord): void {
    const { at, principal = '' } = record;
    if (record.type === 'packages_installed') {
      noteTime(this.#approvals.get('packages', 'allowed', record.allowed_by, principal), at);
    } else if (record.type === 'packages_refused') {
      noteTime(this.#approvals.get('packages', 'refused', record.error_code, principal), at);
    } else if (record.type === 'tool_saved' && record.asked) {
      noteTime(this.#approvals.get('saved functions', 'allowed', 'user', principal), at);
    }
  }

  #dayOf(at: string): Mutable<DayReport> {
    const day = at.slice(0, 'YYYY-MM-DD'.length);
    const known = this.#days.get(day) ?? {
      day,
      cells: 0,
      cells_failed: 0,
      cells_refused: 0,
      calls: 0,
      failed: 0,
      refused: 0,
    };
    this.#days.set(day, known);
    return known;
  }
}

function approvalOf(what = '', answer = '', scope = '', principal = ''): Mutable<ApprovalReport> {
  return { what, answer, scope, principal: principal === '' ? null : principal, times: 0, last_at: '' };
}

function noteTime(approval: Mutable<ApprovalReport>, at: string): void {
  approval.times += 1;
  approval.last_at = at > approval.last_at ? at : approval.last_at;
}

function toUse({ server, sums, tool }: Use): UseReport {
  const { calls, failed, refused, resultBytes } = sums;
  return { server, tool, calls, failed, refused, ...sums.percentiles(), result_bytes: resultBytes };
}
