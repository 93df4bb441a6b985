/** What the audit log says: searched, summed up for each server, and the tokens saved. Each reads on where it ended. */
import { BridgeError } from '../../core/base/errors.ts';
import { parseDurationMs } from '../../core/base/units.ts';
import { CallSums } from '../history/call-sums.ts';
import { statusOf } from '../history/facts.ts';
import { auditDirectory } from '../history/files.ts';
import { History, type HistoryItem, type HistoryWatcher } from '../history/history.ts';
import { type HistoryKind, KINDS } from '../history/kinds.ts';
import type { HistoryQuery } from '../history/query.ts';
import { AuditReader } from '../history/reader.ts';
import type { AuditRecord, RecordOf } from '../history/records.ts';
import { SavingsBuilder } from '../history/savings.ts';
import type { UiHistory, UiHistoryItem, UiSavings } from './schema.ts';
import { eventSummary } from './summaries.ts';

/** Of the code of a cell in a list, as `schema.ts` says. */
const SHOWN_CODE_CHARS = 4_096;
const HOUR_MS = 3_600_000;
/** Times for which savings are kept; more are read again. */
const MAX_SAVINGS = 4;

interface KeptSavings {
  readonly sinceMs: number;
  readonly reader: AuditReader;
  readonly builder: SavingsBuilder;
  reading: Promise<void>;
}

/** Calls by server. */
class ServerSums implements HistoryWatcher {
  readonly all = new Map<string, CallSums>();

  add(record: AuditRecord): void {
    // Numbers are checked only when a record is shown.
    if (record.type === 'call' && typeof record.duration_ms === 'number') {
      this.#of(record.server).add(record);
    } else if (record.type === 'calls_refused' && record.server !== undefined && typeof record.calls === 'number') {
      this.#of(record.server).addRefused(record);
    }
  }

  reset(): void {
    this.all.clear();
  }

  #of(server: string): CallSums {
    const known = this.all.get(server) ?? new CallSums();
    this.all.set(server, known);
    return known;
  }
}

export class AuditViews {
  readonly history: History;
  readonly #directory: string;
  readonly #servers = new ServerSums();
  readonly #savings: KeptSavings[] = [];

  constructor(stateDir: string) {
    this.#directory = auditDirectory(stateDir);
    this.history = new History(this.#directory, this.#servers);
  }

  /** Reads the log before anyone asks: 100,000 calls take about a second of processor time (measured). Never rejects. */
  async warm(): Promise<void> {
    try {
      await this.history.refresh();
    } catch {
      // Whoever asks gets the reason.
    }
  }

  /** Rejects with `USAGE_INVALID` for parameters that mean nothing. */
  async search(parameters: URLSearchParams): Promise<UiHistory> {
    const start = performance.now();
    const query = queryOf(parameters);
    const { history } = this;
    await history.refresh();
    const { items, next } = await history.search(query);
    return {
      items: items.map(toUiItem),
      ...(next !== undefined && { next }),
      total: history.size,
      bad_lines: history.badLines,
      unreadable: history.unreadable,
      took_ms: Math.round(performance.now() - start),
    };
  }

  /** Calls by server. */
  async servers(): Promise<ReadonlyMap<string, CallSums>> {
    await this.history.refresh();
    return this.#servers.all;
  }

  async savings(parameters: URLSearchParams): Promise<UiSavings> {
    // The same for an hour, so that it can be read on.
    const sinceMs = Math.floor(timeIn('since', parameters.get('since') ?? '7d') / HOUR_MS) * HOUR_MS;
    const kept = this.#keptSavings(sinceMs);
    const { builder, reader } = kept;
    kept.reading = kept.reading
      .catch(() => undefined)
      .then(async () => {
        for await (const { record } of reader.read(sinceMs)) {
          builder.add(record);
        }
      });
    await kept.reading;
    const { days, method, servers, ...sums } = builder.result();
    return {
      asked_since: new Date(sinceMs).toISOString(),
      ...sums,
      days: [...days],
      servers: [...servers],
      method: [...method],
      bad_lines: reader.badLines,
    };
  }

  #keptSavings(sinceMs: number): KeptSavings {
    const known = this.#savings.find((one) => one.sinceMs === sinceMs);
    if (known !== undefined) {
      return known;
    }
    const added = {
      sinceMs,
      reader: new AuditReader(this.#directory),
      builder: new SavingsBuilder(),
      reading: Promise.resolve(),
    };
    this.#savings.push(added);
    this.#savings.splice(0, Math.max(0, this.#savings.length - MAX_SAVINGS));
    return added;
  }
}

function queryOf(parameters: URLSearchParams): HistoryQuery {
  const text = (name: string) => parameters.get(name) ?? undefined;
  const named = (name: string) => (text(name) === '' ? undefined : text(name));
  const time = (name: string) => (named(name) === undefined ? undefined : timeIn(name, named(name) ?? ''));
  return {
    text: named('text'),
    kinds: kindsIn(named('kind')),
    server: named('server'),
    tool: named('tool'),
    session: named('session'),
    bridge: named('bridge'),
    // Empty for the user of the machine.
    principal: text('principal'),
    status: named('status'),
    sinceMs: time('since'),
    untilMs: time('until'),
    limit: limitIn(named('limit')),
    cursor: named('cursor'),
  };
}

function kindsIn(text: string | undefined): readonly HistoryKind[] | undefined {
  const wanted = text?.split(',');
  const unknown = wanted?.find((kind) => !KINDS.some((one) => one === kind));
  if (unknown !== undefined) {
    throw invalid('kind', `one or more of ${KINDS.join(', ')}`);
  }
  return wanted as readonly HistoryKind[] | undefined;
}

function limitIn(text: string | undefined): number | undefined {
  if (text !== undefined && !/^\d{1,4}$/.test(text)) {
    throw invalid('limit', 'a whole number');
  }
  return text === undefined ? undefined : Number(text);
}

function timeIn(name: string, text: string): number {
  const agoMs = parseDurationMs(text);
  const timeMs = Number.isNaN(agoMs) ? Date.parse(text) : Date.now() - agoMs;
  if (!(timeMs >= 0 && timeMs < 8.64e15)) {
    throw invalid(name, 'a time such as 2026-11-21 or 2026-11-21T17:00Z, or 30m, 2h, 7d');
  }
  return timeMs;
}

function invalid(name: string, what: string): BridgeError {
  return new BridgeError('USAGE_INVALID', `"${name}" must be ${what}`);
}

function toUiItem(item: HistoryItem): UiHistoryItem {
  switch (item.kind) {
    case 'cell':
      return { kind: 'cell', ...cellHead(item), calls: item.calls, code: cut(item.started?.code ?? '') };
    case 'call':
      return { kind: 'call', ...callHead(item.record), ...fieldsOf(item.record, ['cell', 'principal']) };
    case 'event': {
      const { record, status } = item;
      const { at, type } = record;
      return {
        kind: 'event',
        type,
        at,
        ...fieldsOf(record, ['principal']),
        status,
        summary: eventSummary(record),
        record: { ...record },
      };
    }
  }
}

/** What a cell in a list and one that is open have in common. */
export function cellHead({
  ended,
  id,
  started,
}: {
  readonly id: string;
  readonly started: RecordOf<'cell_started'> | undefined;
  readonly ended: RecordOf<'cell_ended'> | undefined;
}) {
  const known = started ?? ended;
  return {
    id,
    at: known?.at ?? '',
    session: started?.session ?? id.split('/')[1] ?? '',
    ...(known !== undefined && fieldsOf(known, ['principal'])),
    ...(started !== undefined && fieldsOf(started, ['client', 'run_by'])),
    status: ended?.status ?? ('running' as const),
    ...(ended !== undefined && fieldsOf(ended, ['duration_ms', 'error_code', 'exception'])),
  };
}

/** What a call in a list and one of a cell have in common. */
export function callHead(call: RecordOf<'call'>) {
  return {
    ...fieldsOf(call, ['id', 'server', 'tool', 'at', 'duration_ms', 'error_code', 'rule']),
    // `facts.ts` knows no others.
    status: statusOf(call) as CallStatus,
  };
}

type CallStatus = Extract<UiHistoryItem, { kind: 'call' }>['status'];

/** The fields that have the same name in the log and in answers, without those that the record leaves out. */
export function fieldsOf<Fields extends object, Name extends keyof Fields>(
  record: Fields,
  names: readonly Name[],
): Pick<Fields, Name> {
  const found = names.filter((name) => record[name] !== undefined).map((name) => [name, record[name]]);
  return Object.fromEntries(found) as Pick<Fields, Name>;
}

function cut(code: string): string {
  return code.length > SHOWN_CODE_CHARS ? code.slice(0, SHOWN_CODE_CHARS).toWellFormed() : code;
}
