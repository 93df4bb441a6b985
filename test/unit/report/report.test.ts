/** The report: its sums, its three forms, and what hostile names and code can do in them, which is nothing. */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import type { AuditRecord, RecordOf } from '../../../src/record/history/records.ts';
import { type ActivityReport, ReportBuilder } from '../../../src/record/report/collect.ts';
import { renderPage } from '../../../src/record/report/page.ts';
import { runReport } from '../../../src/record/report/run.ts';
import { renderText } from '../../../src/record/report/text.ts';
import { makeHistory, writeHistory } from '../../support/history-log.ts';

const at = '2026-11-21T12:00:00.000Z';
const common = { at, bridge: 'b' };
const id = 'b/s/1/1';
const SIZES = { stdout_bytes: 0, stderr_bytes: 0, value_bytes: 0, error_bytes: 0, attachments: 0 };
const RUN = { session: 's', generation: 1, cell: 1, timeout_ms: 1, servers: [] };
const CODE = { code_sha256: '', code_bytes: 400, code: '\n  x = 1\ny = 2' };
const started: AuditRecord = { type: 'cell_started', ...common, id, ...RUN, ...CODE };
const ended: RecordOf<'cell_ended'> = {
  type: 'cell_ended',
  ...common,
  id,
  status: 'error',
  exception: 'ValueError',
  duration_ms: 12_000,
  answer_bytes: 400,
  ...SIZES,
};
const call: RecordOf<'call'> = {
  type: 'call',
  ...common,
  id: `${id}/1`,
  cell: id,
  server: 'files',
  tool: 'read',
  arguments: {},
  decision: 'allowed',
  outcome: 'ok',
  duration_ms: 5,
  arguments_bytes: 40,
  text_bytes: 4_000,
  result_bytes: 5_000,
};
const asked = { decision: 'asked', answer: 'allowed', approval: 'session', principal: 'ann' } as const;
const denied = { decision: 'denied', outcome: 'error', error_code: 'POLICY_DENIED' } as const;
const RECORDS: readonly AuditRecord[] = [
  started,
  call,
  { ...call, ...asked, at: '2026-11-23T08:00:00.000Z' },
  { ...call, ...denied, server: 'mail' },
  { ...call, outcome: 'error', error_code: 'TOOL_FAILED' },
  { ...call, dry_run: true },
  { type: 'calls_refused', ...common, cell: id, server: 'mail', tool: 'send', error_code: 'POLICY_LIMIT', calls: 7 },
  ended,
  { type: 'cell_refused', ...common, session: 's', servers: [], ...CODE, error_code: 'SESSION_LIMIT' },
  { type: 'packages_installed', ...common, cell: id, allowed_by: 'policy', packages: [], fetched_bytes: 0 },
  { type: 'lost', ...common, records: 2, reason: 'full' },
];

function reportOf(records: readonly AuditRecord[]): ActivityReport {
  const builder = new ReportBuilder();
  records.forEach((record) => builder.add(record));
  return builder.result({ badLines: 1, sinceMs: Date.parse(at), untilMs: Date.parse('2026-11-24T00:00:00Z') });
}

describe('the sums', () => {
  const sums = reportOf(RECORDS);

  it('are per day, with the days in between', () => {
    const nothing = { cells: 0, cells_failed: 0, cells_refused: 0, calls: 0, failed: 0, refused: 0 };
    expect(sums.days).toEqual([
      { day: '2026-11-21', cells: 2, cells_failed: 1, cells_refused: 1, calls: 10, failed: 1, refused: 8 },
      { day: '2026-11-22', ...nothing },
      { day: '2026-11-23', ...nothing, calls: 1 },
    ]);
  });

  it('are per server and tool, most calls first', () => {
    const name = ({ calls, failed, refused, server, tool }: ActivityReport['tools'][number]) => [
      server,
      tool,
      calls,
      failed,
      refused,
    ];
    expect(sums.servers.map(name)).toEqual([
      ['mail', null, 8, 0, 8],
      ['files', null, 3, 1, 0],
    ]);
    expect(sums.tools.map(name)).toEqual([
      ['mail', 'send', 7, 0, 7],
      ['files', 'read', 3, 1, 0],
      ['mail', 'read', 1, 0, 1],
    ]);
  });

  it('name errors, slow cells, and who allowed what', () => {
    expect(sums.failures[0]).toEqual({ of: 'call', error: 'POLICY_LIMIT', times: 7 });
    expect(sums.failures.map(({ error }) => error)).toContain('SESSION_LIMIT');
    expect(sums.slowest).toEqual([{ id, at, status: 'error', duration_ms: 12_000, calls: 5, code: '  x = 1' }]);
    const last = { times: 1, last_at: at };
    expect(sums.approvals).toEqual([
      {
        what: 'files.read',
        answer: 'allowed',
        scope: 'session',
        principal: 'ann',
        times: 1,
        last_at: '2026-11-23T08:00:00.000Z',
      },
      { what: 'packages', answer: 'allowed', scope: 'policy', principal: null, ...last },
    ]);
    expect(sums).toMatchObject({
      calls_without_end: 0,
      lost_records: 2,
      bad_lines: 1,
      principals: 2,
      totals: { calls: 11, failed: 1, refused: 8 },
    });
    expect(sums.savings).toMatchObject({ direct_tokens: 3_030, bridge_tokens: 233 });
  });

  it('keep only the slowest cells, and count names beyond a limit together', () => {
    const many = reportOf(
      Array.from({ length: 3_000 }, (_, number) => [
        { ...call, tool: `t${number}` },
        { ...ended, id: `b/s/1/${number}`, duration_ms: number, exception: `E${number}` },
      ]).flat(),
    );
    expect(many.slowest.map(({ duration_ms: ms }) => ms)).toEqual([
      2999, 2998, 2997, 2996, 2995, 2994, 2993, 2992, 2991, 2990,
    ]);
    expect(many.tools).toHaveLength(1_001);
    expect(many.tools[0]).toMatchObject({ server: '(others)', tool: '(others)', calls: 2_000 });
    expect(many.failures[0]).toMatchObject({ error: '(others)', times: 2_000 });
  });
});

it('the text has a section for each question', () => {
  const text = renderText(reportOf(RECORDS));
  expect(text).toContain('2026-11-21 12:00:00 to 2026-11-23 08:00:00 UTC: 1 bridge, 2 users, 0 sandbox starts\n');
  expect(text).toContain('Cells: 1 error, 1 refused; median ');
  expect(text).toMatch(/^2026-11-21 {2}2 {6}1 {7}1 {8}10 {5}1 {7}8 {8}█{24}$/m);
  expect(text).toMatch(/^files\.read +3 +1 +0 +5\.14 ms/m);
  expect(text).toMatch(/^files\.read +allowed +session +ann +1 +2026-11-23 08:00:00$/m);
  expect(text).toContain('2 records are missing from the log\n');
  expect(text).toContain('How tokens are counted:\n- With the bridge: ');
});

describe('the page', () => {
  const page = renderPage(reportOf(RECORDS));

  it('allows only its own style sheet', () => {
    const [, style = ''] = /<style>([\s\S]*?)<\/style>/.exec(page) ?? [];
    const hash = createHash('sha256').update(style).digest('base64');
    expect(page).toContain(
      `content="default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'">`,
    );
    expect(page).not.toMatch(/<script|<link|<img|<iframe|\sstyle=|\son\w+=|https?:|url\(|@import/i);
    expect(style).toContain('prefers-color-scheme:dark');
  });

  it('has charts with a text and a table for each', () => {
    const charts = page.match(/<svg viewBox="[\d ]+" role="img" aria-labelledby="[\w -]+"><title/g) ?? [];
    expect(charts).toHaveLength(3);
    expect(page).toContain(
      '<desc id="calls-per-day-text">Calls per day, 2026-11-21 to 2026-11-23: succeeded 2, failed 1, refused 8 in all.',
    );
    expect(page).toContain('<title>2026-11-21, refused: 8</title></rect>');
    expect(page).toContain('<caption>Cells and calls per day</caption>');
    expect(page).toContain('<th scope="row">files.read</th><td class="n">3</td>');
    expect(page).not.toMatch(/NaN|Infinity|undefined|\[object/);
  });

  it('is well-formed', () => {
    const open: string[] = [];
    for (const [, end, name = '', rest = ''] of page.matchAll(/<(\/?)([a-z][\w-]*)((?:"[^"]*"|[^">])*)>/g)) {
      if (end === '/') {
        expect(open.pop()).toBe(name);
      } else if (!['meta', 'rect', 'line'].includes(name) || (name === 'rect' && !rest.endsWith('/'))) {
        open.push(...(rest.endsWith('/') ? [] : [name]));
      }
    }
    expect(open).toEqual([]);
  });
});

describe('hostile names, code and errors', () => {
  const evil = `</title></style></svg><script>alert(1)</script><img src=x onerror="alert('2')">&lt;\u001b[2J\u001b]8;;x\u0007\u202e\r\n\`${'x'.repeat(50_000)}`;
  const records: AuditRecord[] = [
    { ...started, code: evil },
    { ...call, ...asked, server: evil, tool: evil, principal: evil, answer: evil },
    { ...call, ...denied, error_code: evil, rule: evil },
    { ...ended, exception: evil },
    { type: 'packages_refused', ...common, cell: id, requirements: [evil], error_code: evil, reason: evil },
    { type: 'definitions', ...common, server: evil, tools: 1, bytes: 1 },
  ];
  const control = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

  it('are text on the page, and short', () => {
    const page = renderPage(reportOf(records));
    expect(page).not.toMatch(/<script|<img|onerror="|<\/title><\/style>/);
    expect(page).toContain('&#60;/title&#62;&#60;/style&#62;');
    expect(page).not.toMatch(control);
    expect(page.length).toBeLessThan(40_000);
  });

  it('do nothing in a terminal', () => {
    const text = renderText(reportOf(records));
    expect(text).not.toMatch(control);
    expect(text.length).toBeLessThan(20_000);
  });
});

describe('the command', () => {
  let stateDir: string;

  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'report-'));
    onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  });

  async function run(more: { html?: string; isJson?: boolean; audit?: string }) {
    let [out, errors] = ['', ''];
    const env = { MCP_BRIDGE_STATE_DIR: stateDir, ...(more.audit !== undefined && { MCP_BRIDGE_AUDIT: more.audit }) };
    const options = {
      settings: loadSettings(env),
      writeOut: (text: string) => (out += text),
      writeError: (text: string) => (errors += text),
    };
    const sinceMs = Date.parse('2026-11-20T00:00:00Z');
    const code = await runReport(
      { command: 'report', sinceMs, html: more.html, isJson: more.isJson === true },
      options,
    );
    return { code, out, errors: errors.replaceAll(stateDir, 'STATE') };
  }

  it('says if there is nothing, and what to turn on', async () => {
    const nothing = `There are no records in ${join('STATE', 'audit')} since 2026-11-20T00:00:00.000Z.`;
    expect(await run({})).toMatchObject({
      code: 1,
      out: '',
      errors: expect.stringMatching(`^${nothing} Cells and calls`),
    });
    const off = await run({ audit: 'off', html: join(stateDir, 'x.html') });
    expect(off).toEqual({
      code: 1,
      out: '',
      errors: `The audit log is off, so nothing new is recorded: set MCP_BRIDGE_AUDIT to on.\n${nothing}\n`,
    });
    expect(existsSync(join(stateDir, 'x.html'))).toBe(false);
  });

  it('has the same sums in each form, and writes a page that only its owner can read', async () => {
    writeHistory(
      join(stateDir, 'audit'),
      makeHistory({ calls: 500, bridges: 3, startMs: Date.parse('2026-11-20T00:00:00Z'), days: 3 }),
    );
    const file = join(stateDir, 'report.html');
    expect(await run({ html: file })).toEqual({ code: 0, out: `Wrote ${file}.\n`, errors: '' });
    expect(process.platform === 'win32' ? 0 : statSync(file).mode & 0o077).toBe(0);
    const { totals } = JSON.parse((await run({ isJson: true })).out) as ActivityReport;
    expect(totals.calls).toBe(500);
    for (const text of [(await run({})).out, readFileSync(file, 'utf8')]) {
      expect(text).toContain(`Calls: 500, ${totals.failed} failed, ${totals.refused} refused`);
    }
  });

  it('says if the page cannot be written', async () => {
    writeHistory(join(stateDir, 'audit'), [...RECORDS]);
    await expect(run({ html: join(stateDir, 'none', 'x.html') })).rejects.toThrow(
      /the page could not be written to .*ENOENT/,
    );
  });
});
