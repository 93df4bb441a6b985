/**
 * What a search needs of a record. The checks are fewer than those of the schema, which takes twice as long as parsing the JSON
 * (measured): a record is validated when it is shown.
 */
import { isObject } from '../../core/base/is-object.ts';
import { type AuditRecord, AuditRecordSchema, type RecordOf } from './records.ts';

export interface RecordFacts {
  readonly record: AuditRecord;
  readonly timeMs: number;
  /** Id of the cell that it is about; empty if there is none. */
  readonly cell: string;
  /** What a search for text looks at besides the id of the cell. */
  readonly text: string;
}

/** Statuses that `failed` stands for. */
export const FAILURES: ReadonlySet<string> = new Set([
  'error',
  'refused',
  'timeout',
  'cancelled',
  'validation_error',
  'lost',
]);

const TYPES: ReadonlySet<unknown> = new Set(AuditRecordSchema.options.map(({ shape }) => shape.type.value));

/** Undefined for what is no record. */
export function factsOf(value: unknown): RecordFacts | undefined {
  if (!isObject(value) || !TYPES.has(value['type']) || !areStrings(value, ['at', 'bridge'])) {
    return undefined;
  }
  const record = value as unknown as AuditRecord;
  const timeMs = Date.parse(record.at);
  const needed = NEEDED[record.type];
  if (Number.isNaN(timeMs) || (needed !== undefined && !areStrings(value, needed))) {
    return undefined;
  }
  return { record, timeMs, cell: cellOf(record), text: searchTextOf(record) };
}

/** Name of the session; empty if it is about none. */
export function sessionOf(record: AuditRecord, cell: string): string {
  // Neither the bridge's id nor the session's name contains a slash.
  return 'session' in record ? (record.session ?? '') : (cell.split('/', 2)[1] ?? '');
}

/** Fields whose absence would break the search. */
const NEEDED: Partial<Record<AuditRecord['type'], readonly string[]>> = {
  cell_started: ['id', 'session', 'code'],
  cell_ended: ['id', 'status'],
  call: ['id', 'cell', 'server', 'tool', 'decision', 'outcome'],
};

function areStrings(value: Readonly<Record<string, unknown>>, names: readonly string[]): boolean {
  return names.every((name) => typeof value[name] === 'string');
}

function cellOf(record: AuditRecord): string {
  if (record.type === 'cell_started' || record.type === 'cell_ended') {
    return record.id;
  }
  return 'cell' in record ? (record.cell ?? '') : '';
}

/** Status of a record; empty if it has none. */
export function statusOf(record: AuditRecord): string {
  switch (record.type) {
    case 'cell_started':
      return 'running';
    case 'cell_ended':
    case 'program':
      return record.status;
    case 'call':
      return statusOfCall(record);
    case 'step':
      return record.outcome;
    case 'cell_refused':
    case 'calls_refused':
    case 'packages_refused':
      return 'refused';
    case 'lost':
      return 'lost';
    default:
      return '';
  }
}

function statusOfCall(call: RecordOf<'call'>): string {
  if (call.dry_run === true) {
    return 'dry_run';
  }
  return isRefused(call) ? 'refused' : call.outcome;
}

/** Whether a rule or a person refused the call. */
export function isRefused({ decision, answer }: RecordOf<'call'>): boolean {
  return decision === 'denied' || (decision === 'asked' && answer !== 'allowed');
}

/** Names, code and errors of a record, one in each line, but not the names of its fields. */
export function searchTextOf(record: AuditRecord): string {
  switch (record.type) {
    case 'cell_started':
      return record.code;
    case 'cell_ended':
      return lines(record.error_code, record.exception);
    case 'call':
      return textOfCall(record);
    case 'cell_refused':
      return lines(record.session, record.code, record.error_code);
    case 'program':
      return lines(record.code, record.language, record.snippet, record.error_code);
    case 'packages_installed':
      return lines(...listed(record.packages));
    case 'packages_refused':
      return lines(...listed(record.requirements), record.error_code, record.reason);
    case 'calls_refused':
      return lines(`${record.server ?? ''}.${record.tool ?? ''}`, record.error_code);
    case 'step':
    case 'tool_saved':
    case 'artifact_saved':
      return lines(record.name);
    case 'definitions':
      return lines(record.server);
    case 'question_answered':
      return lines(record.session, record.choice, record.action);
    case 'session_started':
      return lines(record.session, record.engine);
    case 'session_ended':
    case 'lost':
      return lines(record.session, record.reason);
  }
}

/** Written out, because there are so many. */
function textOfCall({ server, tool, arguments: given, error_code: code, rule, job }: RecordOf<'call'>): string {
  let text = `${server}.${tool}`;
  if (isObject(given)) {
    for (const name in given) {
      text += `\n${name}`;
    }
  }
  for (const part of [code, rule, job]) {
    text += part === undefined ? '' : `\n${part}`;
  }
  return text;
}

function lines(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => typeof part === 'string').join('\n');
}

/** The record was not validated. */
function listed(value: readonly string[]): readonly string[] {
  return Array.isArray(value) ? value : [];
}
