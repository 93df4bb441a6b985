/** What `audit` prints for people: plain lines, no colors. Control characters of code and names are escaped. */

import { escapeControls } from '../base/log.ts';
import { counted } from '../base/units.ts';
import { renderTable } from '../terminal/text-table.ts';
import type { AuditEntry, CellEntry } from './entries.ts';
import type { AuditRecord, RecordOf } from './records.ts';
import type { AuditStatistics, ToolStatistics } from './statistics.ts';

/** One entry; `withCode` shows the code of a cell. */
export function renderEntry(entry: AuditEntry, withCode: boolean): string {
  return entry.kind === 'cell' ? renderCell(entry, withCode) : line(renderRecord(entry.record));
}

function renderCell({ id, started, ended, calls, callsLeftOut }: CellEntry, withCode: boolean): string {
  const outcome = ended === undefined ? 'no end recorded' : outcomeOf(ended);
  const at = started?.at ?? ended?.at ?? '';
  const servers =
    started === undefined || started.servers.length === 0 ? '' : `  servers ${started.servers.join(', ')}`;
  const code = withCode && started !== undefined ? renderCode(started) : '';
  const further = callsLeftOut === 0 ? '' : line(`    … and ${counted(callsLeftOut, 'more call')}`);
  return `${line(`${timeOf(at)}  ${id}  ${outcome}${servers}`)}${code}${calls.map((call) => line(`    ${renderCall(call)}`)).join('')}${further}`;
}

function renderCode({ code, code_bytes, code_sha256 }: RecordOf<'cell_started'>): string {
  const lines = code.split('\n').map((text) => line(`  | ${text}`));
  return `${line(`  code: ${counted(code_bytes, 'byte')}, SHA-256 ${code_sha256}`)}${lines.join('')}`;
}

/** One record in one line. */
export function renderRecord(record: AuditRecord): string {
  const at = timeOf(record.at);
  switch (record.type) {
    case 'session_started':
      return `${at}  session ${record.session}/${record.generation} started on ${record.engine}`;
    case 'session_ended':
      return `${at}  session ${record.session}/${record.generation} ended: ${record.reason}`;
    case 'cell_started':
      return `${at}  ${record.id}  started: ${counted(record.code_bytes, 'byte')} of code`;
    case 'cell_ended':
      return `${at}  ${record.id}  ${outcomeOf(record)}`;
    case 'cell_refused':
      return `${at}  a cell of session ${record.session} was not run: ${record.error_code}`;
    case 'call':
      return `${at}  ${record.cell}  ${record.job === undefined ? '' : `job ${record.job}  `}${renderCall(record)}`;
    case 'tool_saved': {
      const how = `${record.replaced === undefined ? '' : ', replacing another'}${record.asked ? ', allowed by the user' : ''}`;
      return `${at}  ${record.cell}  saved the function ${record.name}: ${counted(record.bytes, 'byte')}, SHA-256 ${record.sha256}${how}`;
    }
    case 'program': {
      const what = record.snippet === undefined ? (record.language ?? 'program') : `snippet ${record.snippet}`;
      const why = record.error_code ?? (record.exit_code ? `exit code ${record.exit_code}` : '');
      return `${at}  ${record.cell ?? 'execute_code'}  ran ${what}: ${record.status}${why && ` ${why}`}  ${milliseconds(record.duration_ms)}`;
    }
    case 'packages_installed': {
      const names = record.packages.map((one) => one.split(' ', 1)[0]).join(', ') || 'no packages';
      return `${at}  ${record.cell}  installed ${names}: ${record.fetched_bytes} bytes fetched, allowed by ${record.allowed_by}`;
    }
    case 'packages_refused':
      return `${at}  ${record.cell}  did not install ${record.requirements.join(', ')}: ${record.error_code}, ${record.reason}`;
    case 'calls_refused': {
      const what = record.server === undefined ? 'various tools' : `${record.server}.${record.tool ?? ''}`;
      return `${at}  ${record.cell}  ${counted(record.calls, 'more call')} of ${what} refused: ${record.error_code}`;
    }
    case 'lost': {
      const of = record.session === undefined ? '' : ` of session ${record.session}`;
      return `${at}  ${counted(record.records, 'record')}${of} ${record.records === 1 ? 'is' : 'are'} missing here: ${record.reason}`;
    }
  }
}

function outcomeOf(ended: RecordOf<'cell_ended'>): string {
  const why = ended.error_code ?? ended.exception;
  const outputBytes = ended.stdout_bytes + ended.stderr_bytes + ended.value_bytes + ended.error_bytes;
  return `${ended.status}${why === undefined ? '' : ` ${why}`}  ${milliseconds(ended.duration_ms)}  ${counted(outputBytes, 'byte')} of output`;
}

function renderCall(call: RecordOf<'call'>): string {
  const shapes = Object.entries(call.arguments).map(([name, shape]) => `${name}: ${shape}`);
  const further = call.undeclared === undefined ? [] : [`${call.undeclared} undeclared`];
  const parts = [
    `${call.server}.${call.tool}(${[...shapes, ...further].join(', ')})`,
    call.dry_run === true
      ? 'not sent: dry run'
      : call.resumed === true
        ? 'not sent: answered by an earlier run'
        : call.outcome === 'ok'
          ? 'ok'
          : (call.error_code ?? 'error'),
    ...(call.decision === 'allowed' ? [] : [call.answer === undefined ? call.decision : renderAnswer(call)]),
    ...(call.rule === undefined ? [] : [`(${call.rule})`]),
    milliseconds(call.duration_ms),
    ...(call.result_bytes === undefined ? [] : [counted(call.result_bytes, 'byte')]),
  ];
  return parts.join('  ');
}

function renderAnswer({ answer, approval }: RecordOf<'call'>): string {
  const scope = approval === undefined || approval === 'once' ? approval : `for the ${approval}`;
  return ['asked:', answer, scope].filter((word) => word !== undefined).join(' ');
}

/** Totals, then a row per tool. */
export function renderStatistics(statistics: AuditStatistics, nothing: string): string {
  const { from, to, bridges, sessions, cells, tools, lost_records: lost } = statistics;
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
    ...(lost === 0 ? [] : [line(`${counted(lost, 'record')} ${lost === 1 ? 'is' : 'are'} missing`)]),
    tools.length === 0 ? line('no tool calls') : renderTable([header, ...tools.map(toRow)], ''),
  ].join('');
}

function toRow({ server, tool, calls, failed, refused, p50_ms, p95_ms, result_bytes }: ToolStatistics): string[] {
  const counts = [calls, failed, refused].map(String);
  return [`${server}.${tool}`, ...counts, milliseconds(p50_ms), milliseconds(p95_ms), String(result_bytes)];
}

function milliseconds(ms: number | null): string {
  return ms === null ? '–' : `${Number(ms.toPrecision(3))} ms`;
}

function timeOf(at: string): string {
  return at.replace('T', ' ').replace(/Z$/, '');
}

function line(text: string): string {
  return `${escapeControls(text)}\n`;
}
