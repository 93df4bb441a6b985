/** Schedules and their runs, for people. */
import type { ErrorCode } from '../../core/base/errors.ts';
import { counted } from '../../core/base/units.ts';
import { renderTable } from '../../edges/terminal/text-table.ts';
import { describeRights } from './rights.ts';
import { describeSource } from './source.ts';
import type { Entry, Limits, StoredRun } from './store.ts';
import { localTime } from './timetable.ts';

/** A schedule in `schedule list`, also as JSON. Times are in UTC (ISO 8601). */
export interface ListedSchedule {
  readonly name: string;
  readonly when: string;
  readonly timezone: string;
  readonly isPaused: boolean;
  /** The next times at which it is due. */
  readonly next: readonly string[];
  readonly last: {
    readonly id: string;
    readonly status: string;
    readonly reason: string | null;
    readonly reportProblem: string | null;
  } | null;
  /** How many of its questions wait for an answer. */
  readonly questions: number;
  /** What keeps a run from working now. */
  readonly problems: readonly { readonly code: ErrorCode; readonly message: string; readonly hint: string | null }[];
}

export function renderList(listed: readonly ListedSchedule[]): string {
  const rows = listed.map((one) => {
    const last = one.last === null ? 'has not run' : `last run ${one.last.status}`;
    return [one.name, one.when, nextOf(one), last, stateOf(one)];
  });
  return renderTable(rows, 'There are no schedules.');
}

function nextOf({ isPaused, next: [at], timezone }: ListedSchedule): string {
  return isPaused ? 'paused' : at === undefined ? 'never' : `next ${localTime(new Date(at), timezone)}`;
}

function stateOf({ last, problems: [problem], questions }: ListedSchedule): string {
  const waiting = questions === 0 ? '' : `${counted(questions, 'question')} for you`;
  const answered = questions === 0 && last?.status === 'waiting' ? 'answered, goes on at the next look' : '';
  return [waiting, answered, last?.reportProblem ?? '', problem === undefined ? '' : `cannot run: ${problem.message}`]
    .filter((part) => part !== '')
    .join('; ');
}

export function describeEntry(entry: Entry, listed: ListedSchedule): string {
  const { missed, overlap, perDay, perRun, reportCall, reportFile, rights, servers, timezone, when } = entry;
  const report =
    reportCall === undefined ? reportFile : `${reportCall.server}.${reportCall.tool} ${reportCall.arguments}`;
  const lines = [
    ['runs', describeSource(entry)],
    ['at', `${when} (${timezone})`],
    ['next', listed.next.map((at) => localTime(new Date(at), timezone)).join(', ') || nextOf(listed)],
    ['missed times', missed === 'run' ? 'run later, once' : 'are skipped'],
    ['overlapping times', overlap === 'skip' ? 'are skipped' : 'wait'],
    ['servers', servers.join(', ')],
    ['limits of a run', describeLimits(perRun)],
    ['limits of a day', describeLimits(perDay)],
    ['report', report ?? ''],
    ['state', stateOf(listed) || 'a run can work now'],
  ].filter(([, value]) => value !== '');
  const may = rights === undefined ? '' : `A run may, as accepted on ${rights.acceptedAt}:\n${describeRights(rights)}`;
  return `${listed.name}\n${renderTable(
    lines.map(([key = '', value = '']) => [`  ${key}`, value]),
    '',
  )}${may}`;
}

function describeLimits({ calls, seconds, tokens }: Limits): string {
  const parts = [
    calls === undefined ? '' : counted(calls, 'call'),
    seconds === undefined ? '' : counted(seconds, 'second'),
    tokens === undefined ? '' : counted(tokens, 'token'),
  ];
  return parts.filter((part) => part !== '').join(', ');
}

export function renderRuns(runs: readonly StoredRun[], { timezone }: Entry): string {
  const rows = runs.map(({ id, run }) => {
    const used = `${counted(run.calls, 'call')}, ${counted(run.seconds, 'second')}, ${counted(run.tokens, 'token')}`;
    const missed = run.missed === 0 ? '' : `${counted(run.missed, 'earlier time')} missed`;
    const said = [run.reason, run.reportProblem].map((text) => text?.split('\n')[0] ?? '');
    const notes = [run.isByHand ? 'by hand' : '', missed, ...said].filter((part) => part !== '');
    return [id, localTime(new Date(run.due), timezone), run.status, used, notes.join('; ')];
  });
  return renderTable(rows, 'It has not run yet.');
}
