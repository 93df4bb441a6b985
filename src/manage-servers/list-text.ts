/** What `servers list` prints for people: a table of at most 100 columns, what failed and why, and the tokens saved. */

import { escapeControls } from '../base/log.ts';
import { COMMAND } from '../base/package.ts';
import { quoteShellWord } from '../base/shell-words.ts';
import type { KnownState, ServerReport } from '../directory/report.ts';
import { countOf, renderTable } from '../terminal/table.ts';

/** Readable in any window that is not narrowed on purpose. */
const MAX_COLUMNS = 100;
const MAX_NAME_CHARS = 24;
const GAP = 2;
const HEAD = ['NAME', 'STATE', 'TOOLS', 'TOKENS', 'VIA', 'FILE'];

const STATES: Readonly<Record<KnownState, string>> = {
  'never-started': 'not started yet',
  ready: 'ready',
  failed: 'failed',
  'login-needed': 'login needed',
  disabled: 'disabled',
};

export interface ListPlace {
  /** Shown as `~`. */
  readonly home: string;
  /** What is said when there is no server. */
  readonly nothing: string;
}

export function renderList(reports: readonly ServerReport[], totals: ListTotals, { home, nothing }: ListPlace): string {
  if (reports.length === 0) {
    return `${nothing}\n`;
  }
  const rows = [HEAD, ...reports.map((report) => rowOf(report, home))];
  const narrow = HEAD.slice(0, -1).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const room = MAX_COLUMNS - narrow.reduce((sum, width) => sum + width + GAP, 0);
  const table = rows.map((row) =>
    row.map((cell, column) => {
      const isNumber = column === HEAD.indexOf('TOOLS') || column === HEAD.indexOf('TOKENS');
      return isNumber ? cell.padStart(narrow[column] ?? 0) : column === HEAD.length - 1 ? endOf(cell, room) : cell;
    }),
  );
  const failures = reports.filter(({ state }) => state === 'failed' || state === 'login-needed').map(renderFailure);
  const parts = [renderTable(table, ''), failures.join(''), renderTotals(totals, reports)];
  return parts.filter((part) => part !== '').join('\n');
}

function rowOf({ name, state, hasLogin, tools, tokens, transport, file }: ServerReport, home: string): string[] {
  const login = state === 'ready' && hasLogin === true ? ', logged in' : '';
  return [
    startOf(escapeControls(name), MAX_NAME_CHARS),
    `${STATES[state]}${login}`,
    tools === null ? '-' : tools.toLocaleString('en-US'),
    tokens === null ? '-' : approximately(tokens),
    transport,
    escapeControls(file.startsWith(home) ? `~${file.slice(home.length)}` : file),
  ];
}

/** One line that says why, and the command that says more, or logs in. */
function renderFailure({ name, state, failure }: ServerReport): string {
  const shown = escapeControls(name);
  const why = (failure?.message ?? '').replace(`server '${name}' `, '');
  const action = state === 'login-needed' ? 'login' : 'test';
  const line = `${startOf(shown, MAX_NAME_CHARS)}: ${escapeControls(why)}`;
  return `${startOf(line, MAX_COLUMNS)}\n  Run: ${COMMAND} servers ${action} ${quoteShellWord(shown)}\n`;
}

function renderTotals(totals: ListTotals, reports: readonly ServerReport[]): string {
  const { servers, tools, tokens, tokensOfRunPython, tokensSaved } = totals;
  const never = reports.filter(({ tools: known, state }) => known === null && state !== 'disabled').length;
  const cost = `${servers} ${servers === 1 ? 'server' : 'servers'}, ${countOf(tools)}: ${approximately(tokens)} tokens if an agent got them directly.`;
  const saved = `run_python takes at most ${tokensOfRunPython} instead: ${approximately(tokensSaved)} saved.`;
  const rest = `Not counted: ${never} that never answered; \`${COMMAND} servers refresh\` asks them.`;
  return `${[...(servers > 0 ? [cost, saved] : []), ...(never > 0 ? [rest] : [])].join('\n')}\n`;
}

function approximately(tokens: number): string {
  return `~${tokens.toLocaleString('en-US')}`;
}

function startOf(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 1)}…`;
}

/** The end of a path says more than its start. */
function endOf(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `…${text.slice(text.length - maxChars + 1)}`;
}

/** Over the servers that have answered. */
export interface ListTotals {
  readonly servers: number;
  readonly tools: number;
  /** Of their definitions, estimated. */
  readonly tokens: number;
  /** What an agent pays instead, whatever the servers: `run_python`, at most. */
  readonly tokensOfRunPython: number;
  readonly tokensSaved: number;
}
