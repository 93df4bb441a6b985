/** The report for a terminal: plain text, one table for each question. */
import { escapeControls } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import type { ActivityReport, DayReport, UseReport } from './collect.ts';
import { shortName, shownCount, shownDuration, shownPercent, shownTime } from './words.ts';

const MAX_ROWS = 20;
const BAR_CHARS = 24;

export function renderText(report: ActivityReport): string {
  const { days, savings, servers, tools } = report;
  const summary = summaryOf(report).map((line) => `${escapeControls(line)}\n`);
  return [
    ...summary,
    section('Days', ['day', 'cells', 'failed', 'refused', 'calls', 'failed', 'refused', ''], days.map(withBar(days))),
    section('Servers', USE_HEADER, servers.map(useRow)),
    section('Tools', USE_HEADER, tools.map(useRow)),
    section('Failures and refusals', ['error', 'of', 'times'], failureRows(report)),
    section('Slowest cells', ['cell', 'began', 'status', 'duration', 'calls', 'code'], slowRows(report)),
    section('Approvals', ['for', 'answer', 'by or for', 'principal', 'times', 'last'], approvalRows(report)),
    section(
      'Tokens',
      ['day', ...SAVING_HEADER],
      savings.days.map((day) => savingRow(day.day, day)),
    ),
    section('Tokens by server', ['server', ...SAVING_HEADER], savings.servers.map(serverRow)),
    `\nHow tokens are counted:\n${savings.method.map((line) => `- ${line}\n`).join('')}`,
  ].join('');
}

const SAVING_HEADER = ['calls', 'with the bridge', 'directly', 'saved'];

export function failureRows({ failures }: ActivityReport): string[][] {
  return failures.map(({ error, of, times }) => [shortName(error), of, shownCount(times)]);
}

export function slowRows({ slowest }: ActivityReport): string[][] {
  return slowest.map(({ at, calls, code, duration_ms, id, status }) => {
    return [shortName(id), shownTime(at), status, shownDuration(duration_ms), shownCount(calls), shortName(code)];
  });
}

export function approvalRows({ approvals }: ActivityReport): string[][] {
  return approvals.map(({ answer, last_at, principal, scope, times, what }) => {
    return [...[what, answer, scope, principal ?? ''].map(shortName), shownCount(times), shownTime(last_at)];
  });
}

export function serverRow(saving: ActivityReport['savings']['servers'][number]): string[] {
  return savingRow(shortName(saving.server ?? '(none)'), saving);
}

/** Sentences that stand before the tables. */
export function summaryOf(report: ActivityReport): string[] {
  const {
    bad_lines: bad,
    calls_without_end: unended,
    cells,
    first,
    last,
    lost_records: lost,
    savings,
    totals,
  } = report;
  const states = Object.entries(cells).map(([status, count]) => `${shownCount(count)} ${status}`);
  return [
    `${shownTime(first ?? '')} to ${shownTime(last ?? '')} UTC: ${counted(report.bridges, 'bridge')}, ${counted(report.principals, 'user')}, ${counted(report.sessions, 'sandbox start')}`,
    `Cells: ${states.join(', ') || 'none'}; median ${shownDuration(report.cell_p50_ms)}, p95 ${shownDuration(report.cell_p95_ms)}`,
    `Calls: ${shownCount(totals.calls)}, ${shownCount(totals.failed)} failed, ${shownCount(totals.refused)} refused`,
    savingOf(savings),
    ...(unended === 0 ? [] : [`${counted(unended, 'call')} without a recorded end`]),
    ...(lost === 0 ? [] : [`${counted(lost, 'record')} ${lost === 1 ? 'is' : 'are'} missing from the log`]),
    ...(bad === 0 ? [] : [`${counted(bad, 'line')} of the log could not be read`]),
  ];
}

function savingOf(savings: ActivityReport['savings']): string {
  const { bridge_tokens: used, calls_not_counted: left, direct_tokens: direct, results_not_counted: unknown } = savings;
  if (savings.since === null) {
    return 'Tokens: not counted yet; sizes are recorded since this version';
  }
  const notes = [
    ...(left === 0 ? [] : [`${counted(left, 'call')} of the shell or of earlier versions left out`]),
    ...(unknown === 0 ? [] : [`${counted(unknown, 'result')} of unknown size count as nothing`]),
  ];
  const share = direct === 0 ? '' : ` (${shownPercent(savings.saved_tokens / direct)})`;
  return `Tokens since ${shownTime(savings.since)}: ${shownCount(used)} with the bridge, ${shownCount(direct)} directly, ${shownCount(savings.saved_tokens)} saved${share}${notes.map((note) => `; ${note}`).join('')}`;
}

const USE_HEADER = ['name', 'calls', 'failed', 'refused', 'median', 'p95', 'result bytes'];

export function useRow({ calls, failed, p50_ms, p95_ms, refused, result_bytes, server, tool }: UseReport): string[] {
  const name = shortName(tool === null ? server : `${server}.${tool}`);
  return [
    name,
    ...[calls, failed, refused].map(shownCount),
    shownDuration(p50_ms),
    shownDuration(p95_ms),
    shownCount(result_bytes),
  ];
}

function withBar(days: readonly DayReport[]): (day: DayReport) => string[] {
  const most = Math.max(1, ...days.map(({ calls }) => calls));
  return (day) => {
    const counts = [day.cells, day.cells_failed, day.cells_refused, day.calls, day.failed, day.refused];
    return [day.day, ...counts.map(shownCount), '█'.repeat(Math.ceil((day.calls / most) * BAR_CHARS))];
  };
}

export function savingRow(
  name: string,
  saving: ActivityReport['savings']['days'][number] | ActivityReport['savings']['servers'][number],
): string[] {
  return [name, ...[saving.calls, saving.bridge_tokens, saving.direct_tokens, saving.saved_tokens].map(shownCount)];
}

function section(title: string, header: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) {
    return `\n${title}: none\n`;
  }
  // Days are in order, so the last ones are the newest.
  const shown = header[0] === 'day' ? rows.slice(-MAX_ROWS) : rows.slice(0, MAX_ROWS);
  const more = rows.length > MAX_ROWS ? `${shownCount(rows.length - MAX_ROWS)} more; --json has all\n` : '';
  return `\n${title}\n${renderTable([header, ...shown], '')}${more}`;
}
