/** Records joined to what a person looks for: a cell with its code, its calls and its end. Holds the cells that are open. */
import type { AuditRecord, RecordOf } from './records.ts';

/** Calls of one cell that are kept; the others are counted. Chosen: far more than anybody reads. */
const MAX_CALLS = 10_000;

export interface CellEntry {
  readonly kind: 'cell';
  readonly id: string;
  /** Undefined when it began before what was read. */
  readonly started: RecordOf<'cell_started'> | undefined;
  /** Undefined when it runs, or its bridge was killed. */
  readonly ended: RecordOf<'cell_ended'> | undefined;
  readonly calls: readonly RecordOf<'call'>[];
  readonly callsLeftOut: number;
}

/** What stands by itself: sessions, cells that were refused, losses, calls of jobs and calls that outlived their cell. */
interface LoneEntry {
  readonly kind: 'record';
  readonly record: Exclude<AuditRecord, { readonly type: 'cell_started' | 'cell_ended' }>;
}

export type AuditEntry = CellEntry | LoneEntry;

interface OpenCell {
  readonly started: RecordOf<'cell_started'>;
  readonly calls: RecordOf<'call'>[];
  callsLeftOut: number;
}

/** A cell comes when it has ended; those that have not come last. */
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
      open.set(record.id, { started: record, calls: [], callsLeftOut: 0 });
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
  if (cell.calls.length < MAX_CALLS) {
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
  /** The whole id of a cell, or its end, such as `default/1/7`. */
  readonly cell?: string | undefined;
  readonly server?: string | undefined;
  readonly isFailed?: boolean | undefined;
}

export function matches(entry: AuditEntry, { session, cell, server, isFailed }: EntryFilter): boolean {
  const id = idOf(entry);
  return (
    (session === undefined || sessionOf(entry) === session) &&
    (cell === undefined || id === cell || id?.endsWith(`/${cell}`) === true) &&
    (server === undefined || callsOf(entry).some((call) => call.server === server)) &&
    (isFailed !== true || hasFailed(entry))
  );
}

function idOf(entry: AuditEntry): string | undefined {
  if (entry.kind === 'cell') {
    return entry.id;
  }
  return entry.record.type === 'call' ? entry.record.cell : undefined;
}

function sessionOf(entry: AuditEntry): string | undefined {
  const id = idOf(entry);
  if (id !== undefined) {
    // The bridge's id and the name of a session hold no slash.
    return id.split('/')[1];
  }
  return entry.kind === 'record' && 'session' in entry.record ? entry.record.session : undefined;
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
      : entry.record.type === 'cell_refused' || entry.record.type === 'lost';
  return isFailure || callsOf(entry).some(({ outcome }) => outcome === 'error');
}
