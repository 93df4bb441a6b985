/**
 * `servers list`: every configured server with its state, and the tokens saved by the bridge. Starts no server. The table for people
 * has at most 100 columns.
 */
import { homeFolder } from '../../core/base/home.ts';
import { escapeControls } from '../../core/base/log.ts';
import { COMMAND } from '../../core/base/package.ts';
import { quoteShellWord } from '../../core/base/shell-words.ts';
import type { ConfiguredServers } from '../../edges/configured/configured-servers.ts';
import { type KnownState, reportServer, type ServerReport } from '../../edges/configured/report.ts';
import { countOf, renderTable } from '../../edges/terminal/text-table.ts';
import { MAX_DEFINITION_TOKENS } from '../../front/server/tool-definition.ts';
import type { Output } from './output.ts';

/** Readable in any terminal window of the usual size. */
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

/** Totals of the servers whose tools are known. */
interface ListTotals {
  readonly servers: number;
  readonly tools: number;
  /** Estimated tokens of the tool definitions. */
  readonly tokens: number;
  /** The most that an agent pays instead, whatever the servers: the definition of `run_python`. */
  readonly tokensOfRunPython: number;
  readonly tokensSaved: number;
}

/** Resolves with 0. */
export async function list(configured: ConfiguredServers, { print, noServers }: Output): Promise<number> {
  const servers = await Promise.all([...configured.definitions().values()].map((one) => reportServer(configured, one)));
  const totals = totalsOf(servers);
  print({ servers, totals }, () => renderList(servers, totals, { home: homeFolder(process.env), noServers }));
  return 0;
}

export function totalsOf(reports: readonly ServerReport[]): ListTotals {
  const answered = reports.filter(({ tools, state }) => tools !== null && state !== 'disabled');
  const tokens = answered.reduce((sum, report) => sum + (report.tokens ?? 0), 0);
  return {
    servers: answered.length,
    tools: answered.reduce((sum, report) => sum + (report.tools ?? 0), 0),
    tokens,
    tokensOfRunPython: MAX_DEFINITION_TOKENS,
    tokensSaved: Math.max(0, tokens - MAX_DEFINITION_TOKENS),
  };
}

interface ListTexts {
  /** Abbreviated as `~` in paths. */
  readonly home: string;
  readonly noServers: string;
}

export function renderList(
  reports: readonly ServerReport[],
  totals: ListTotals,
  { home, noServers }: ListTexts,
): string {
  if (reports.length === 0) {
    return `${noServers}\n`;
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

function rowOf(report: ServerReport, home: string): string[] {
  const { name, state, hasLogin, isPerUser, tools, tokens, transport, file } = report;
  const login = state === 'ready' && hasLogin === true ? ', logged in' : '';
  return [
    startOf(escapeControls(name), MAX_NAME_CHARS),
    `${STATES[state]}${login}${isPerUser ? ', per user' : ''}`,
    tools === null ? '-' : tools.toLocaleString('en-US'),
    tokens === null ? '-' : approximately(tokens),
    transport,
    escapeControls(file.startsWith(home) ? `~${file.slice(home.length)}` : file),
  ];
}

/** The reason of a failure, and the command to run next. */
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
  const cost = `${servers} ${servers === 1 ? 'server' : 'servers'}, ${countOf(tools)}: ${approximately(tokens)} tokens if an agent loaded them directly.`;
  const saved =
    tokensSaved > 0
      ? `run_python takes at most ${tokensOfRunPython} instead and saves ${approximately(tokensSaved)}.`
      : `run_python takes at most ${tokensOfRunPython}, so it saves no tokens with so few tools.`;
  const rest = `Not counted: ${never} that ${never === 1 ? 'has' : 'have'} never answered. To ask ${never === 1 ? 'it' : 'them'}, run: ${COMMAND} servers refresh`;
  return [...(servers > 0 ? [cost, saved] : []), ...(never > 0 ? [rest] : [])].map((line) => `${line}\n`).join('');
}

function approximately(tokens: number): string {
  return `~${tokens.toLocaleString('en-US')}`;
}

function startOf(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 1)}…`;
}

/** Keeps the end of a path, which says more than its start. */
function endOf(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `…${text.slice(text.length - maxChars + 1)}`;
}
