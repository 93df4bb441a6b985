/** What `audit` prints for people: plain lines, no colors. Control characters of code and names are escaped. */

import { escapeControls } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { AuditEntry, CellEntry } from '../history/entries.ts';
import type { AuditRecord, RecordOf } from '../history/records.ts';
import type { AuditStatistics, ToolStatistics } from '../history/statistics.ts';

/** Code can choose names of any length. */
const MAX_TEXT_CHARS = 240;

/** One entry; `withCode` shows all the code of a cell, otherwise its first line. */
export function renderEntry(entry: AuditEntry, withCode: boolean): string {
  return entry.kind === 'cell' ? renderCell(entry, withCode) : line(renderRecord(entry.record));
}

function renderCell({ id, started, ended, calls, callsLeftOut }: CellEntry, withCode: boolean): string {
  const outcome = ended === undefined ? 'no end recorded' : outcomeOf(ended);
  const at = started?.at ?? ended?.at ?? '';
  const servers =
    started === undefined || started.servers.length === 0 ? '' : `  servers ${started.servers.join(', ')}`;
  const by = started?.run_by === undefined ? '' : `  run by the ${started.run_by}`;
  const code = withCode && started !== undefined ? renderCode(started) : '';
  const first = withCode || started === undefined ? '' : `  | ${cutText(firstLine(started.code))}`;
  const further = callsLeftOut === 0 ? '' : line(`    … and ${counted(callsLeftOut, 'more call')}`);
  return `${line(`${timeOf(at)}  ${id}  ${outcome}${servers}${by}${first}`)}${code}${calls.map((call) => line(`    ${renderCall(call)}`)).join('')}${further}`;
}

function renderCode({ code, code_bytes, code_sha256 }: RecordOf<'cell_started'>): string {
  const lines = code.split('\n').map((text) => line(`  | ${text}`));
  return `${line(`  code: ${counted(code_bytes, 'byte')}, SHA-256 ${code_sha256}`)}${lines.join('')}`;
}

/** One record in one line. */
export function renderRecord(record: AuditRecord): string {
  return [timeOf(record.at), idOf(record), describeRecord(record)].filter((part) => part !== '').join('  ');
}

/** Id of the cell that a record is about, or where else it comes from; empty if the description says it. */
function idOf(record: AuditRecord): string {
  switch (record.type) {
    case 'cell_started':
    case 'cell_ended':
      return record.id;
    case 'program':
      return record.cell ?? 'execute_code';
    case 'question_answered':
      return record.cell ?? `session ${record.session}`;
    default:
      return 'cell' in record ? record.cell : '';
  }
}

/** A record without its time and the id of its cell. */
export function describeRecord(record: AuditRecord): string {
  switch (record.type) {
    case 'session_started':
      return `session ${record.session}/${record.generation} started on ${record.engine}`;
    case 'session_ended':
      return `session ${record.session}/${record.generation} ended: ${record.reason}`;
    case 'cell_started':
      return `started: ${counted(record.code_bytes, 'byte')} of code${record.run_by === undefined ? '' : `, run by the ${record.run_by}`}`;
    case 'cell_ended':
      return outcomeOf(record);
    case 'cell_refused':
      return `a cell of session ${record.session} was not run: ${record.error_code}`;
    case 'call':
      return `${record.job === undefined ? '' : `job ${record.job}  `}${renderCall(record)}`;
    case 'step':
      return renderStep(record);
    case 'question_answered':
      return `a question was answered by the operator: ${record.choice ?? record.action}`;
    case 'tool_saved': {
      const how = `${record.replaced === undefined ? '' : ', replacing another'}${record.asked ? ', allowed by the user' : ''}`;
      return `saved the function ${record.name}: ${counted(record.bytes, 'byte')}, SHA-256 ${record.sha256}${how}`;
    }
    case 'artifact_saved':
      return `saved the file ${record.name}: ${counted(record.bytes, 'byte')}`;
    case 'definitions': {
      const whose = record.server === undefined ? 'the bridge lists' : `${record.server} has`;
      return `${whose} ${counted(record.tools, 'tool')}: ${counted(record.bytes, 'byte')} of definitions`;
    }
    case 'program': {
      const what = record.snippet === undefined ? (record.language ?? 'program') : `snippet ${record.snippet}`;
      const why = record.error_code ?? (record.exit_code ? `exit code ${record.exit_code}` : '');
      return `ran ${what}: ${record.status}${why && ` ${why}`}  ${milliseconds(record.duration_ms)}`;
    }
    case 'packages_installed': {
      const names = record.packages.map((one) => one.split(' ', 1)[0]).join(', ') || 'no packages';
      return `installed ${names}: ${record.fetched_bytes} bytes fetched, allowed by ${record.allowed_by}`;
    }
    case 'packages_refused':
      return `did not install ${record.requirements.join(', ')}: ${record.error_code}, ${record.reason}`;
    case 'calls_refused': {
      const what = record.server === undefined ? 'various tools' : `${record.server}.${record.tool ?? ''}`;
      return `${counted(record.calls, 'more call')} of ${what} refused: ${record.error_code}`;
    }
    case 'lost': {
      const of = record.session === undefined ? '' : ` of session ${record.session}`;
      return `${counted(record.records, 'record')}${of} ${record.records === 1 ? 'is' : 'are'} missing here: ${record.reason}`;
    }
  }
}

function outcomeOf(ended: RecordOf<'cell_ended'>): string {
  const why = ended.error_code ?? ended.exception;
  const outputBytes = ended.stdout_bytes + ended.stderr_bytes + ended.value_bytes + ended.error_bytes;
  return `${ended.status}${why === undefined ? '' : ` ${why}`}  ${milliseconds(ended.duration_ms)}  ${counted(outputBytes, 'byte')} of output`;
}

function renderStep(record: RecordOf<'step'>): string {
  const { duration_ms: took, exception = '', failed_rows: failed, name, outcome, rows, step } = record;
  const few = failed === undefined ? '' : `, ${failed} failed`;
  const many = rows === undefined ? '' : ` (${counted(rows, 'row')}${few})`;
  return `step ${step} ${name}${many}  ${outcome === 'error' ? `error ${exception}` : outcome}  ${milliseconds(took)}`;
}

function renderCall(call: RecordOf<'call'>): string {
  const parts = [
    nameOfCall(call),
    call.dry_run === true
      ? 'not sent: dry run'
      : call.resumed === true
        ? 'not sent: answered by an earlier run'
        : call.outcome === 'ok'
          ? 'ok'
          : call.outcome === 'started'
            ? 'sent, no end recorded'
            : (call.error_code ?? 'error'),
    ...judgedBy(call),
    ...(call.approval_ms === undefined ? [] : [`asked for ${milliseconds(call.approval_ms)}`]),
    ...(call.outcome === 'started' ? [] : [milliseconds(call.duration_ms)]),
    ...(call.result_bytes === undefined ? [] : [counted(call.result_bytes, 'byte')]),
  ];
  return parts.join('  ');
}

/** `server.tool(argument: shape)` */
export function nameOfCall({ arguments: given, server, tool, undeclared }: RecordOf<'call'>): string {
  const shapes = Object.entries(given).map(([name, shape]) => `${name}: ${shape}`);
  const further = undeclared === undefined ? [] : [`${undeclared} undeclared`];
  return `${server}.${tool}(${[...shapes, ...further].join(', ')})`;
}

/** What a rule and a person said about a call. */
export function judgedBy(call: RecordOf<'call'>): string[] {
  return [
    ...(call.decision === 'allowed' ? [] : [call.answer === undefined ? call.decision : renderAnswer(call)]),
    ...(call.rule === undefined ? [] : [`(${call.rule})`]),
  ];
}

function renderAnswer({ answer, approval }: RecordOf<'call'>): string {
  const scope = approval === undefined || approval === 'once' ? approval : `for the ${approval}`;
  return ['asked:', answer, scope].filter((word) => word !== undefined).join(' ');
}

/** Totals, then a row per tool. */
export function renderStatistics(statistics: AuditStatistics, nothing: string): string {
  const { from, to, bridges, calls_without_end: unended, sessions, cells, tools, lost_records: lost } = statistics;
  if (from === null || to === null) {
    return `${nothing}\n`;
  }
  const states = Object.entries(cells).map(([status, count]) => `${count} ${status}`);
  const times = `p50 ${milliseconds(statistics.cell_p50_ms)}, p95 ${milliseconds(statistics.cell_p95_ms)}`;
  const sandboxes = sessions === 1 ? '1 sandbox' : `${sessions} sandboxes`;
  const header = ['tool', 'calls', 'failed', 'refused', 'p50', 'p95', 'result bytes'];
  return [
    line(`${timeOf(from)} to ${timeOf(to)}: ${counted(bridges, 'bridge')}, ${sandboxes}`),
    line(`cells: ${states.join(', ') || 'none'}; ${times}; ${counted(statistics.output_bytes, 'byte')} of output`),
    ...(unended === 0 ? [] : [line(`${counted(unended, 'call')} without a recorded end`)]),
    ...(lost === 0 ? [] : [line(`${counted(lost, 'record')} ${lost === 1 ? 'is' : 'are'} missing`)]),
    tools.length === 0 ? line('no tool calls') : renderTable([header, ...tools.map(toRow)], ''),
  ].join('');
}

function toRow({ server, tool, calls, failed, refused, p50_ms, p95_ms, result_bytes }: ToolStatistics): string[] {
  const counts = [calls, failed, refused].map(String);
  return [`${server}.${tool}`, ...counts, milliseconds(p50_ms), milliseconds(p95_ms), String(result_bytes)];
}

export function milliseconds(ms: number | null): string {
  return ms === null ? '–' : `${Number(ms.toPrecision(3))} ms`;
}

export function timeOf(at: string): string {
  return at.replace('T', ' ').replace(/Z$/, '');
}

/** The first line with code, and whether there is more. */
export function firstLine(code: string): string {
  const lines = code.split('\n').filter((one) => one.trim() !== '');
  const [first = ''] = lines;
  return lines.length > 1 ? `${first} … ${counted(lines.length - 1, 'more line')}` : first;
}

export function cutText(text: string, maxChars = MAX_TEXT_CHARS): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars).toWellFormed()}…`;
}

function line(text: string): string {
  return `${escapeControls(text)}\n`;
}
