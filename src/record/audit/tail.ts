/**
 * Records as a person follows them: aligned columns for the time, how it went, how long it took, the cell, and what it was. Colors
 * only mark how it went.
 */
import { styleText } from 'node:util';
import { escapeControls } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';
import { FAILURES, statusOf } from '../history/facts.ts';
import type { HistoryItem } from '../history/history.ts';
import type { AuditRecord, RecordOf } from '../history/records.ts';
import { cutText, describeRecord, firstLine, judgedBy, milliseconds, nameOfCall, timeOf } from './text.ts';

const STATUS_CHARS = 8;
const DURATION_CHARS = 9;
const CELL_CHARS = 12;
const MAX_CELL_CHARS = 60;
const WORDS: Readonly<Record<string, string>> = { running: 'started', validation_error: 'invalid', dry_run: 'dry run' };

/** One line, with its line feed. */
export function renderTailLine(record: AuditRecord, hasColors: boolean): string {
  const status = statusOf(record);
  const durationMs = 'duration_ms' in record && status !== 'started' ? record.duration_ms : undefined;
  const { at } = record;
  return renderRow({ at, status, durationMs, cell: cellOf(record), text: textOf(record) }, hasColors);
}

/** What a search found, in the same columns: a cell is one line. */
export function renderFound(item: HistoryItem, hasColors: boolean): string {
  if (item.kind !== 'cell') {
    return renderTailLine(item.record, hasColors);
  }
  const { calls, ended, id, started, status } = item;
  const text = [
    ...(calls === 0 ? [] : [counted(calls, 'call')]),
    ...(started === undefined ? [] : [cutText(firstLine(started.code))]),
    ...whyEnded(ended),
  ].join('  ');
  const at = (started ?? ended)?.at ?? '';
  return renderRow({ at, status, durationMs: ended?.duration_ms, cell: withoutBridge(id), text }, hasColors);
}

interface TailRow {
  readonly at: string;
  readonly status: string;
  readonly durationMs: number | undefined;
  readonly cell: string;
  readonly text: string;
}

function renderRow({ at, cell, durationMs, status, text }: TailRow, hasColors: boolean): string {
  const word = (WORDS[status] ?? status).padEnd(STATUS_CHARS);
  const color = hasColors ? colorOf(status) : undefined;
  const columns = [
    timeOf(at),
    color === undefined ? word : styleText(color, word, { validateStream: false }),
    (durationMs === undefined ? '' : shortDuration(durationMs)).padStart(DURATION_CHARS),
    escapeControls(cutText(cell, MAX_CELL_CHARS)).padEnd(CELL_CHARS),
    escapeControls(text),
  ];
  return `${columns.join('  ').trimEnd()}\n`;
}

function colorOf(status: string): 'green' | 'red' | 'yellow' | undefined {
  if (status === 'refused' || status === 'cancelled' || status === 'dry_run') {
    return 'yellow';
  }
  return FAILURES.has(status) ? 'red' : status === 'ok' || status === 'success' ? 'green' : undefined;
}

/** `audit show --cell` takes the id without the bridge, too. */
function cellOf(record: AuditRecord): string {
  if (record.type === 'cell_started' || record.type === 'cell_ended') {
    return withoutBridge(record.id);
  }
  if ('cell' in record && record.cell !== undefined) {
    return withoutBridge(record.cell);
  }
  return 'session' in record ? (record.session ?? '') : '';
}

function withoutBridge(id: string): string {
  return id.slice(id.indexOf('/') + 1);
}

function textOf(record: AuditRecord): string {
  switch (record.type) {
    case 'cell_started':
      return cutText(firstLine(record.code));
    case 'cell_ended': {
      const bytes = record.stdout_bytes + record.stderr_bytes + record.value_bytes + record.error_bytes;
      return [...whyEnded(record), `${counted(bytes, 'byte')} of output`].join('  ');
    }
    case 'call': {
      const size = record.result_bytes === undefined ? [] : [counted(record.result_bytes, 'byte')];
      const job = record.job === undefined ? [] : [`job ${record.job}`];
      const error = record.error_code === undefined ? [] : [record.error_code];
      return [...job, nameOfCall(record), ...error, ...judgedBy(record), ...size]
        .map((part) => cutText(part))
        .join('  ');
    }
    default:
      return cutText(describeRecord(record));
  }
}

function whyEnded(ended: RecordOf<'cell_ended'> | undefined): string[] {
  const why = ended?.error_code ?? ended?.exception;
  return why === undefined ? [] : [cutText(why)];
}

function shortDuration(ms: number): string {
  const seconds = ms / 1000;
  return seconds < 10
    ? milliseconds(ms)
    : seconds < 600
      ? `${seconds.toFixed(1)} s`
      : `${(seconds / 60).toFixed(0)} min`;
}
