import { describe, expect, test } from 'vitest';
import { renderList, totalsOf } from '../../../src/app/manage-servers/list.ts';
import type { ServerReport } from '../../../src/edges/configured/report.ts';

const PLACE = { home: '/home/me', noServers: 'No server is configured.' };
const AT = '2026-11-21T20:00:00.000Z';

function report(name: string, facts: Partial<ServerReport> = {}): ServerReport {
  return {
    name,
    alias: name,
    description: '',
    file: '/home/me/MCPs/servers.json',
    transport: 'stdio',
    state: 'ready',
    failure: null,
    extends: null,
    isPerUser: false,
    hasLogin: null,
    tools: 3,
    tokens: 1_234,
    ...facts,
  };
}

const render = (reports: readonly ServerReport[]): string[] =>
  renderList(reports, totalsOf(reports), PLACE).trimEnd().split('\n');

describe('the list of servers', () => {
  test('quotes a name in the suggested command', () => {
    const failure = { code: 'SERVER_START_FAILED' as const, message: 'it ended', hint: 'Install it.', at: AT };
    expect(render([report('two words', { state: 'failed', failure, tools: null })])).toContain(
      "  Run: mcp-server-code-execution-mode servers test 'two words'",
    );
  });

  test('has a row for each server, the reasons of failures, and the tokens saved', () => {
    const failure = {
      code: 'SERVER_START_FAILED' as const,
      message: "server 'broken' could not be started: command 'x' not found",
      hint: 'Install it.',
      at: AT,
    };
    const unanswered = { tools: null, tokens: null };
    expect(
      render([
        report('files'),
        report('work', { transport: 'http', hasLogin: true, tools: 120, tokens: 45_000 }),
        report('broken', { state: 'failed', failure, ...unanswered }),
        report('mail', { state: 'login-needed', failure: { ...failure, message: "server 'mail' wants a login" } }),
        report('new', { state: 'never-started', ...unanswered, file: '/etc/mcp.json' }),
        report('off', { state: 'disabled', ...unanswered }),
      ]),
    ).toEqual([
      'NAME    STATE             TOOLS   TOKENS  VIA    FILE',
      'files   ready                 3   ~1,234  stdio  ~/MCPs/servers.json',
      'work    ready, logged in    120  ~45,000  http   ~/MCPs/servers.json',
      'broken  failed                -        -  stdio  ~/MCPs/servers.json',
      'mail    login needed          3   ~1,234  stdio  ~/MCPs/servers.json',
      'new     not started yet       -        -  stdio  /etc/mcp.json',
      'off     disabled              -        -  stdio  ~/MCPs/servers.json',
      '',
      "broken: could not be started: command 'x' not found",
      '  Run: mcp-server-code-execution-mode servers test broken',
      'mail: wants a login',
      '  Run: mcp-server-code-execution-mode servers login mail',
      '',
      '3 servers, 126 tools: ~47,468 tokens if an agent loaded them directly.',
      'run_python takes at most 200 instead and saves ~47,268.',
      'Not counted: 2 that have never answered. To ask them, run: mcp-server-code-execution-mode servers refresh',
    ]);
  });

  test('of twenty servers with long names and paths fits in 100 columns', () => {
    const failure = { code: 'SERVER_START_FAILED' as const, message: 'why '.repeat(80), hint: null, at: AT };
    const reports = Array.from({ length: 20 }, (_, index) =>
      report(`server-${'long-'.repeat(12)}${index}`, {
        file: `/home/me/Library/Application Support/${'folder/'.repeat(20)}servers-${index}.json`,
        state: 'failed',
        failure,
        hasLogin: true,
        tools: 1_000 + index,
        tokens: 1_000_000,
      }),
    );
    const lines = render(reports);
    // A truncated command could not be run.
    const texts = lines.filter((line) => !line.startsWith('  Run: '));
    expect(Math.max(...texts.map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(lines.filter((line) => /^ {2}Run: .* servers test server-(?:long-){12}\d+$/.test(line))).toHaveLength(20);
    expect(lines[1]).toMatch(/^server-long-long-long-l… {2}failed .*folder\/servers-0\.json$/);
  });

  test('escapes control characters, and says if there are no servers', () => {
    expect(render([report('a\u001b[2J')])[1]).toMatch(/^a\\x1b\[2J {2}ready/);
    expect(render([])).toEqual([PLACE.noServers]);
  });

  test('claims no saving if the tools cost less than run_python', () => {
    const tiny = report('tiny', { tools: 1, tokens: 90 });
    expect(totalsOf([tiny])).toMatchObject({ tokens: 90, tokensSaved: 0 });
    expect(render([tiny]).at(-1)).toBe('run_python takes at most 200, so it saves no tokens with so few tools.');
  });

  test('ends with the table if every server is disabled', () => {
    const off = report('off', { state: 'disabled', tools: null, tokens: null });
    expect(renderList([off], totalsOf([off]), PLACE)).toMatch(/^NAME .*\noff +disabled .*\n$/);
  });
});
