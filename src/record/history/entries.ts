/** Joins records into entries for people: a cell with its code, its calls and its end. Keeps the open cells in memory. */
import { UnendedCalls } from './call-sums.ts';
import type { AuditRecord, RecordOf } from './records.ts';

/** Calls kept per cell; further ones are counted. Chosen: far more than anyone reads. */
export const MAX_CALLS = 10_000;

export interface CellEntry {
  readonly kind: 'cell';
  readonly id: string;
  /** Undefined if the cell began before the first record read. */
  readonly started: RecordOf<'cell_started'> | undefined;
  /** Undefined if the cell is running, or its bridge was killed. */
  readonly ended: RecordOf<'cell_ended'> | undefined;
  readonly calls: readonly RecordOf<'call'>[];
  readonly callsLeftOut: number;
}

/** A record on its own: sessions, refused cells, lost records, and calls from jobs or that outlived their cell. */
interface LoneEntry {
  readonly kind: 'record';
  readonly record: Exclude<AuditRecord, { readonly type: 'cell_started' | 'cell_ended' }>;
}

export type AuditEntry = CellEntry | LoneEntry;

interface OpenCell {
  readonly started: RecordOf<'cell_started'>;
  readonly calls: RecordOf<'call'>[];
  /** Places of calls that have no end yet. */
  readonly begun: UnendedCalls<number>;
  callsLeftOut: number;
}

/** Yields a cell when it ends; cells without an end come last. */
export async function* joinRecords(
  records: AsyncIterable<{ readonly record: AuditRecord }>,
): AsyncGenerator<AuditEntry> {
  const open = new Map<string, OpenCell>();
  for await (const { record } of records) {
    const entry = take(open, record);
    if (entry !== undefined) {
      yield entry;
    }
  }
  for (const cell of open.values()) {
    yield entryOf(cell.started.id, cell, undefined);
  }
}

function take(open: Map<string, OpenCell>, record: AuditRecord): AuditEntry | undefined {
  switch (record.type) {
    case 'cell_started':
      open.set(record.id, { started: record, calls: [], begun: new UnendedCalls(), callsLeftOut: 0 });
      return undefined;
    case 'cell_ended': {
      const cell = open.get(record.id);
      open.delete(record.id);
      return entryOf(record.id, cell, record);
    }
    case 'call':
      return addCall(open.get(record.cell), record);
    default:
      return { kind: 'record', record };
  }
}

function addCall(cell: OpenCell | undefined, call: RecordOf<'call'>): AuditEntry | undefined {
  if (cell === undefined) {
    return { kind: 'record', record: call };
  }
  const place = call.outcome === 'started' ? undefined : cell.begun.end(call);
  if (place !== undefined) {
    cell.calls[place] = call;
  } else if (cell.calls.length < MAX_CALLS) {
    if (call.outcome === 'started') {
      cell.begun.begin(call, cell.calls.length);
    }
    cell.calls.push(call);
  } else {
    cell.callsLeftOut += 1;
  }
  return undefined;
}

function entryOf(id: string, cell: OpenCell | undefined, ended: CellEntry['ended']): CellEntry {
  return {
    kind: 'cell',
    id,
    started: cell?.started,
    ended,
    calls: cell?.calls ?? [],
    callsLeftOut: cell?.callsLeftOut ?? 0,
  };
}

export interface EntryFilter {
  readonly session?: string | undefined;
  /** The id of a cell, or the end of one, such as `default/1/7`. */
  readonly cell?: string | undefined;
  readonly server?: string | undefined;
  readonly isFailed?: boolean | undefined;
}

export function matches(entry: AuditEntry, { session, cell, server, isFailed }: EntryFilter): boolean {
  const id = idOf(entry);
  return (
    (session === undefined || sessionOf(entry) === session) &&
    (cell === undefined || id === cell || id?.endsWith(`/${cell}`) === true) &&
    (server === undefined || serversOf(entry).includes(server)) &&
    (isFailed !== true || hasFailed(entry))
  );
}

function idOf(entry: AuditEntry): string | undefined {
  if (entry.kind === 'cell') {
    return entry.id;
  }
  return 'cell' in entry.record ? entry.record.cell : undefined;
}

function sessionOf(entry: AuditEntry): string | undefined {
  const id = idOf(entry);
  if (id !== undefined) {
    // Neither the bridge's id nor the session's name contains a slash.
    return id.split('/')[1];
  }
  return entry.kind === 'record' && 'session' in entry.record ? entry.record.session : undefined;
}

function serversOf(entry: AuditEntry): (string | undefined)[] {
  const isCount = entry.kind === 'record' && entry.record.type === 'calls_refused';
  return isCount ? [entry.record.server] : callsOf(entry).map(({ server }) => server);
}

function callsOf(entry: AuditEntry): readonly RecordOf<'call'>[] {
  if (entry.kind === 'cell') {
    return entry.calls;
  }
  return entry.record.type === 'call' ? [entry.record] : [];
}

function hasFailed(entry: AuditEntry): boolean {
  const isFailure =
    entry.kind === 'cell'
      ? entry.ended !== undefined && entry.ended.status !== 'success'
      : ['cell_refused', 'calls_refused', 'lost'].includes(entry.record.type);
  return isFailure || callsOf(entry).some(({ outcome }) => outcome === 'error');
}
