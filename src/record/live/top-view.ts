/**
 * What `top` shows, as lines of text. Pure. Names, code and output come from anywhere: control characters are escaped, and no line is
 * longer than the terminal is wide.
 */
import { escapeControls } from '../../core/base/log.ts';
import { counted } from '../../core/base/units.ts';
import type { SeenBridge } from '../local-api/client.ts';
import type { BridgeInfo, LiveApproval, LiveSession } from '../local-api/schema.ts';

/** What one bridge has answered. */
export type ShownBridge = BridgeInfo & Omit<SeenBridge, 'id' | 'info'>;

export interface TopView {
  readonly columns: number;
  /** Undefined for as many as there are. */
  readonly rows: number | undefined;
  /** Index of the session whose cell is shown; undefined for all. */
  readonly selected: number | undefined;
  readonly hasColors: boolean;
  /** The answer to the last key, or what the keys are. */
  readonly footer: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

export interface ShownSession {
  readonly bridge: ShownBridge;
  readonly session: LiveSession;
}

/** In the order in which they are shown. */
export function sessionsOf(bridges: readonly ShownBridge[]): ShownSession[] {
  return bridges.flatMap((bridge) => bridge.sessions.map((session) => ({ bridge, session })));
}

const HEADER = ['BRIDGE', 'CLIENT', 'SESSION', 'STATE', 'ENGINE', 'AGE', 'VARS', 'CELL', 'CALLS'];
/** Of a narrow terminal, the columns in the order in which they go. */
const SPARE_COLUMNS = ['ENGINE', 'VARS', 'AGE', 'BRIDGE', 'CLIENT', 'CALLS'];
const MAX_FIELD_CHARS = 24;
/** Lines of code, of output and of calls of one cell. Chosen: a screen has room for them beside the sessions. */
const SHOWN_LINES = 5;
/** The state of a session that asks a person. */
const WAITS = 'waits for you';
const REVERSED = '\u001b[7m';
const BOLD = '\u001b[1m';
const DIM = '\u001b[2m';
const PLAIN = '\u001b[0m';

export function renderTop(bridges: readonly ShownBridge[], view: TopView): string[] {
  const shown = sessionsOf(bridges);
  const style = (line: string, code: string): string =>
    view.hasColors && line !== '' ? `${code}${line}${PLAIN}` : line;
  const cut = (line: string): string => cutTo(escapeControls(line), view.columns);
  const rows = shown.map((each) => rowOf(each, view.now));
  const [header = '', ...table] = layOut([HEADER, ...rows], view.columns).map(cut);
  const details = shown
    .filter(({ session }, index) => session.cell !== undefined && (view.selected ?? index) === index)
    .flatMap((each) => renderCell(each, view.now).map(cut));
  const waiting = bridges.flatMap((bridge) => bridge.approvals.map((approval) => renderApproval(bridge, approval)));
  const body = [
    ...(shown.length === 0 ? [] : [style(header, BOLD)]),
    ...table.map((line, index) => (index === view.selected ? style(markedLine(line, view), REVERSED) : line)),
    ...waiting.map(cut),
    ...details,
  ];
  const footer = view.footer === undefined ? [] : [style(cut(view.footer), DIM)];
  const head = cut(summarize(bridges, shown));
  const room = view.rows === undefined ? body.length : Math.max(0, view.rows - 1 - footer.length);
  return [head, ...inRoom(body, room, view.selected), ...footer];
}

/** Without colors, a mark shows which session is chosen. */
function markedLine(line: string, { columns, hasColors }: TopView): string {
  return hasColors ? line : cutTo(`> ${line}`, columns);
}

/** Scrolls so far that the chosen session can be seen. */
function inRoom(lines: readonly string[], room: number, selected = 0): readonly string[] {
  const first = Math.max(0, Math.min(selected + 2 - room, lines.length - room));
  return lines.slice(first, first + room);
}

function summarize(bridges: readonly ShownBridge[], shown: readonly ShownSession[]): string {
  if (bridges.length === 0) {
    return 'No bridge runs on this state directory, or none has been used yet.';
  }
  const running = shown.filter(({ session }) => session.cell !== undefined);
  const calls = running.reduce((sum, { session }) => sum + (session.cell?.calls_running ?? 0), 0);
  const questions = bridges.reduce((sum, { approvals }) => sum + approvals.length, 0);
  return [
    counted(bridges.length, 'bridge'),
    counted(shown.length, 'session'),
    `${counted(running.length, 'cell')} running`,
    `${counted(calls, 'call')} running`,
    ...(questions === 0
      ? []
      : [`${counted(questions, 'question')} ${questions === 1 ? 'waits' : 'wait'} for a person`]),
  ].join(', ');
}

function rowOf({ bridge, session }: ShownSession, now: number): string[] {
  const { age_ms: age, cell, engine, name, principal, questions, state, variables } = session;
  return [
    String(bridge.pid),
    principal ?? bridge.client ?? bridge.transport,
    name,
    questions === undefined ? state : WAITS,
    engine ?? '',
    age === undefined ? '' : duration(age),
    variables === undefined ? '' : String(variables),
    cell === undefined ? String(session.cells) : `${session.cells} for ${duration(now - Date.parse(cell.started))}`,
    cell === undefined ? '' : `${cell.calls_running} of ${cell.calls_running + cell.calls_ended}`,
  ];
}

/** Aligned columns, without those for which there is no room. */
function layOut(rows: readonly (readonly string[])[], columns: number): string[] {
  const safe = rows.map((row) => row.map((field) => cutTo(escapeControls(field), MAX_FIELD_CHARS)));
  const widths = HEADER.map((_, index) => Math.max(...safe.map((row) => row[index]?.length ?? 0)));
  const kept = new Set(HEADER.keys());
  const width = (): number => [...kept].reduce((sum, index) => sum + (widths[index] ?? 0) + 2, -2);
  for (const spare of SPARE_COLUMNS) {
    if (width() > columns) {
      kept.delete(HEADER.indexOf(spare));
    }
  }
  return safe.map((row) =>
    [...kept]
      .map((index) => (row[index] ?? '').padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function renderCell({ bridge, session }: ShownSession, now: number): string[] {
  const { cell, name } = session;
  if (cell === undefined) {
    return [];
  }
  const left = Date.parse(cell.deadline) - now;
  const time =
    left <= 0
      ? 'deadline has passed'
      : cell.paused === true
        ? `deadline paused with ${duration(left)} left`
        : `deadline in ${duration(left)}`;
  const calls = cell.calls.slice(-SHOWN_LINES).map(({ duration_ms: took, error_code: code, ...call }) => {
    const since = took ?? now - Date.parse(call.started);
    return `    ${call.server}.${call.tool}  ${code ?? call.status}  ${duration(since)}`;
  });
  return [
    '',
    `Session ${name} of bridge ${bridge.pid}: cell ${cell.id}, ${time}`,
    ...firstLines(cell.code).map((line) => `  | ${line}`),
    ...calls,
    ...lastLines(cell.output).map((line) => `  > ${line}`),
  ];
}

function firstLines(text: string): string[] {
  const lines = text.trimEnd().split('\n');
  return lines.length <= SHOWN_LINES
    ? lines
    : [...lines.slice(0, SHOWN_LINES - 1), `… ${counted(lines.length - SHOWN_LINES + 1, 'more line')}`];
}

function lastLines(text: string): string[] {
  return text === '' ? [] : text.trimEnd().split('\n').slice(-SHOWN_LINES);
}

function renderApproval(bridge: ShownBridge, { message, session }: LiveApproval): string {
  const [first = ''] = message.split('\n');
  return `? Session ${session} of bridge ${bridge.pid}: ${first}`;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** `40 ms`, `5.2 s`, `3 min`, `2 h`. */
function duration(ms: number): string {
  const known = Math.max(0, ms);
  if (known < SECOND_MS) {
    return `${Math.round(known)} ms`;
  }
  if (known < MINUTE_MS) {
    return `${(known / SECOND_MS).toFixed(1)} s`;
  }
  return known < HOUR_MS ? `${Math.floor(known / MINUTE_MS)} min` : `${Math.floor(known / HOUR_MS)} h`;
}

function cutTo(text: string, chars: number): string {
  if (text.length <= chars) {
    return text;
  }
  const kept = text.slice(0, Math.max(0, chars - 1));
  // No character must be cut in the middle.
  return `${kept.replace(/[\ud800-\udbff]$/, '')}…`;
}
