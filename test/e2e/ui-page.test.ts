// Tags: anywhere, full
/**
 * The page of `ui` in a real Chromium: every view, keyboard, screen reader rules, hostile content, floods. A stand-in plays the server,
 * because it can be as hostile, broken and fast as a test needs; test/e2e/ui.test.ts has the real one.
 *
 * MCP_BRIDGE_TEST_PICTURES=1 also writes the pictures of docs/images/ui.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { UiEvent } from '../../src/record/ui/schema.ts';
import { ROOT } from '../support/bridge-client.ts';
import { findChromium, startChromium } from '../support/chromium.ts';
import { PATIENCE } from '../support/patience.ts';
import { pause } from '../support/pause.ts';
import { UiMockServer } from '../support/ui-mock-server.ts';
import { RUNNING_CODE, uiSamples } from '../support/ui-samples.ts';
import {
  expectShown,
  goTo,
  MEASURE_FRAMES,
  openWatchedPage,
  type PageLook,
  type WatchedPage,
} from '../support/watched-page.ts';

const PICTURES = join(ROOT, 'docs', 'images', 'ui');
const PAGE = join(ROOT, 'dist', 'ui');
const VIEWS = ['now', 'approvals', 'history', 'cells/0a1b2c3d%2Finvoices%2F1%2F6', 'servers', 'savings', 'stored'];
/** A small chart, as code might save it. */
const PNG = encodePng(240, 120, (x, y) =>
  x % 30 < 18 && 119 - y < 20 + ((Math.floor(x / 30) * 37) % 90) ? [76, 111, 223] : [255, 255, 255],
);
const BRIDGE = '0a1b2c3d';

/** PNG, third edition: a header, one block of rows without filters, and the end. */
function encodePng(width: number, height: number, colorAt: (x: number, y: number) => readonly number[]): Buffer {
  const rows = Array.from({ length: height }, (_, y) => [
    0,
    ...Array.from({ length: width }, (_each, x) => colorAt(x, y)).flat(),
  ]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  const parts = { IHDR: header, IDAT: deflateSync(Buffer.from(rows.flat())), IEND: Buffer.alloc(0) };
  const chunks = Object.entries(parts).map(([name, data]) => {
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(Buffer.concat([Buffer.from(name), data])));
    return Buffer.concat([length, Buffer.from(name), data, sum]);
  });
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...chunks]);
}

const chromium = findChromium();
let browser: Browser;

interface Opened extends WatchedPage {
  readonly server: UiMockServer;
}

interface Options extends PageLook {
  readonly change?: (server: UiMockServer) => void;
}

async function open(place = 'now', { change, ...look }: Options = {}): Promise<Opened> {
  const server = new UiMockServer(PAGE, uiSamples());
  server.files.set('overdue.png', PNG);
  server.files.set(
    'logo.svg',
    Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>parent.hacked = 1</script></svg>'),
  );
  change?.(server);
  const address = await server.listen();
  onTestFinished(() => server.close());
  const { faults, page } = await openWatchedPage(browser, address, look);
  await expectShown(page.getByText('Live', { exact: true }));
  if (place !== 'now') {
    await goTo(page, place);
  }
  return { page, server, faults };
}

const posted = (server: UiMockServer): string[] =>
  server.requests.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`);

beforeAll(async () => {
  if (chromium !== undefined) {
    browser = await startChromium(chromium);
  }
});
afterAll(() => browser?.close());

if (chromium === undefined) {
  it.skip('not covered: the page of `ui`: no Chromium', () => undefined);
}

describe.runIf(chromium !== undefined)('the page', () => {
  it('takes the token out of the address, and keeps it over a reload', async () => {
    const { page, server } = await open();
    expect(page.url()).toBe(`http://127.0.0.1:${server.port}/#/now`);
    await page.reload();
    await expectShown(page.getByText('Live', { exact: true }));
  });

  it('says what to do without a valid token', async () => {
    const { page, server } = await open();
    const other = await page.context().newPage();
    await other.goto(`http://127.0.0.1:${server.port}/#token=wrong`);
    await expectShown(other.getByRole('heading', { name: 'This link is no longer valid' }));
  });

  it('says that the connection is lost, and recovers', async () => {
    const { page, server } = await open();
    const { port } = server;
    await server.close();
    const bar = page.getByRole('alert').filter({ hasText: 'The connection is lost' });
    await expectShown(bar);
    const second = new UiMockServer(PAGE, { ...uiSamples(), overview: { ...uiSamples().overview, sessions: [] } });
    await second.listen(port);
    onTestFinished(() => second.close());
    await page.getByRole('button', { name: 'Try now' }).click();
    await bar.waitFor({ state: 'detached' });
    expect(await page.getByText('No session yet.').count()).toBe(2);
  });

  it('goes back and forward between views', async () => {
    const { page } = await open();
    await page.getByRole('link', { name: 'Servers' }).click();
    await expectShown(page.getByRole('heading', { level: 1, name: 'Servers' }));
    await page.goBack();
    await expectShown(page.getByRole('heading', { level: 1, name: 'Now' }));
  });

  it('keeps a view that fails from taking the others with it', async () => {
    const { page } = await open('savings', {
      change: (server) => {
        server.samples.savings = { days: 'broken' } as never;
      },
    });
    await expectShown(page.getByRole('button', { name: 'Try again' }));
    await goTo(page, 'stored');
    await expectShown(page.getByRole('heading', { name: 'Packages' }));
  });
});

describe.runIf(chromium !== undefined)('Now', () => {
  it('shows sessions, and the cell that runs with its code, output and calls', async () => {
    const { page, faults } = await open();
    const session = page.getByRole('article', { name: 'Session invoices' });
    expect(await session.innerText()).toMatch(/podman[\s\S]*41 min[\s\S]*512 MiB[\s\S]*18/);
    expect(await session.getByRole('group', { name: 'Code of the cell' }).innerText()).toContain('import pandas as pd');
    expect(await session.locator('.py-keyword').first().innerText()).toBe('import');
    expect(await session.getByRole('group', { name: 'Output, 14 lines' }).innerText()).toContain('A-20480: no invoice');
    expect(await session.getByRole('table', { name: 'Calls of the cell, 46 calls' }).count()).toBe(1);
    expect(await faults()).toEqual([]);
  });

  it('follows a cell from start to end', async () => {
    const { page, server } = await open();
    const session = page.getByRole('article', { name: 'Session default' });
    const of = { bridge: BRIDGE, session: 'default', cell: `${BRIDGE}/default/2/24` };
    const at = new Date(Date.now() + 50).toISOString();
    server.send({ type: 'cell_started', at, ...of, code: 'print("hi")', servers: ['files'], timeout_ms: 60_000 });
    await expectShown(session.getByText('Nothing printed yet.'));
    server.send(
      { type: 'cell_output', at, ...of, stream: 'stdout', from_char: 0, text: 'hi\n' },
      { type: 'cell_output', at, ...of, stream: 'stderr', from_char: 3, text: 'careful\n' },
      { type: 'call_started', at, ...of, call: 1, server: 'files', tool: 'read' },
    );
    await expectShown(session.getByText('careful'));
    await expectShown(session.getByText('running', { exact: true }).first());
    server.send({ type: 'cell_ended', at, ...of, status: 'success', duration_ms: 12 });
    await session.getByRole('button', { name: 'Show the last cell' }).click();
    expect(await session.getByRole('group', { name: 'Output, 2 lines' }).innerText()).toContain('hi');
  });

  it('shows the steps of a cell as a graph, and rows of a map without an event', async () => {
    const { page, server, faults } = await open();
    const session = page.getByRole('article', { name: 'Session report' });
    const graph = session.getByRole('group', { name: 'Graph of 4 steps' });
    expect(await graph.locator('li').first().innerText()).toMatch(/load_orders[\s\S]*ok\s*1\.84 s/);
    expect(await graph.locator('.step-arrow:not(.longest)').count()).toBe(3);
    await expectShown(graph.getByText('17 of 40 rows, 1 failed'));
    // The overview is read again while the map runs.
    const { overview } = server.samples;
    server.samples.overview = JSON.parse(JSON.stringify(overview).replace('"rows_ended":17', '"rows_ended":33'));
    await graph.getByText('33 of 40 rows, 1 failed').waitFor({ timeout: 6_000 * PATIENCE });
    const of = { bridge: BRIDGE, session: 'report', cell: `${BRIDGE}/report/1/2`, at: new Date().toISOString() };
    const started = new Date().toISOString();
    server.send(
      { type: 'step_changed', ...of, step: 4, name: 'check_order', after: [2, 3], started, status: 'ok', rows: 40 },
      { type: 'step_changed', ...of, step: 45, name: 'write_report', after: [4], started, status: 'running' },
    );
    await expectShown(session.getByText('5 steps, 1 running'));
    await expectShown(session.getByText('40 rows', { exact: true }));
    expect(await faults()).toEqual([]);
  });

  it('shows a session that waits for a person, and its time that stands still', async () => {
    const { page, server } = await open('now', {
      change: ({ samples }) => {
        const [first, ...others] = samples.overview.sessions;
        const [question] = samples.overview.approvals;
        const { now } = samples.overview;
        const cell = first?.cell && { ...first.cell, deadline: new Date(Date.parse(now) + 110_000).toISOString() };
        const asking = { ...first, questions: 1, cell: { ...cell, paused: true } };
        samples.overview = {
          ...samples.overview,
          sessions: [asking, ...others] as never,
          approvals: [{ ...question, session: 'invoices' }] as never,
        };
      },
    });
    const session = page.getByRole('article', { name: 'Session invoices' });
    await expectShown(session.getByText('waits for you', { exact: true }));
    expect(await session.getByText('running', { exact: true }).count()).toBe(1);
    await expectShown(session.getByText('paused with 1 min'));
    // A call that waits or runs is no failure.
    expect(await session.locator('.marked').allInnerTexts()).toEqual([]);
    server.send({
      type: 'approval_answered',
      at: new Date().toISOString(),
      bridge: BRIDGE,
      session: 'invoices',
      id: '9f2c11d07a3b',
      answered_by: 'client',
    });
    await expectShown(session.locator('.card-head').getByText('running', { exact: true }));
  });

  it('interrupts, hibernates and ends sessions, and asks before the last', async () => {
    const { page, server } = await open();
    await page.getByRole('button', { name: 'Interrupt the cell of invoices' }).click();
    await expectShown(page.getByText('Interrupted.'));
    await page.getByRole('button', { name: 'Hibernate default' }).click();
    await page.getByRole('button', { name: 'End default' }).click();
    await page.getByRole('dialog', { name: 'End session “default”?' }).getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'End default' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click();
    await expectShown(page.getByText('Ended.'));
    const path = `POST /api/bridges/${BRIDGE}/sessions`;
    expect(posted(server)).toEqual([`${path}/invoices/interrupt`, `${path}/default/hibernate`, `${path}/default/end`]);
  });

  it('says what to do if nothing runs', async () => {
    const { page } = await open('now', {
      change: ({ samples }) => {
        samples.overview = { ...samples.overview, bridges: [], sessions: [], approvals: [], servers: [] };
      },
    });
    await expectShown(page.getByText('No bridge is running.'));
  });

  it('says what to type if nothing has ever run', async () => {
    const { page, faults } = await open('now', {
      width: 390,
      change: ({ samples }) => {
        samples.overview = { ...samples.overview, bridges: [], sessions: [], approvals: [], servers: [] };
        samples.history = { items: [], total: 0, bad_lines: 0, unreadable: [], took_ms: 1 };
      },
    });
    await expectShown(page.getByText('mcp-server-code-execution-mode install cursor'));
    await expectShown(page.getByText('Use run_python to compute 2 ** 64.'));
    await expectShown(page.getByText('mcp-server-code-execution-mode exec -c "2 ** 64"'));
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await page.getByRole('link', { name: 'History' }).last().click();
    await expectShown(page.getByText('The audit log is empty.'));
    expect(await faults()).toEqual([]);
  });

  it('stays responsive with 10,000 lines and 1,000 calls', async () => {
    const { page, server, faults } = await open();
    const of = { bridge: BRIDGE, session: 'default', cell: `${BRIDGE}/default/2/24` };
    const at = (): string => new Date().toISOString();
    const start: UiEvent = {
      type: 'cell_started',
      at: at(),
      ...of,
      code: RUNNING_CODE,
      servers: [],
      timeout_ms: 60_000,
    };
    server.send({ ...start, at: new Date(Date.now() + 1).toISOString() });
    const session = page.getByRole('article', { name: 'Session default' });
    await expectShown(session.getByText('Nothing printed yet.'));
    await page.evaluate(MEASURE_FRAMES);
    let written = 0;
    for (let batch = 0; batch < 100; batch += 1) {
      const lines = Array.from(
        { length: 100 },
        (_, index) => `line ${batch * 100 + index}: ${'x'.repeat(index)}\n`,
      ).join('');
      const calls = Array.from({ length: 10 }, (_, index): UiEvent[] => {
        const call = { ...of, call: batch * 10 + index + 1, server: 'files', tool: 'read' };
        return [
          { type: 'call_started', at: at(), ...call },
          { type: 'call_ended', at: at(), ...call, status: 'ok', duration_ms: 5 },
        ];
      }).flat();
      const output = { stream: 'stdout', from_char: written, text: lines } as const;
      written += lines.length;
      server.send({ type: 'cell_output', at: at(), ...of, ...output }, ...calls);
      await pause(20, 'a program that prints takes its time too');
    }
    await expectShown(session.getByRole('group', { name: 'Output, 10,000 lines' }));
    await expectShown(session.getByRole('table', { name: 'Calls of the cell, 1,000 calls' }));
    // Scrolling through all of it is part of it.
    const scrollOutput = (to: string) =>
      page.evaluate(
        `(() => { const box = document.querySelector('[aria-label="Session default"] .output'); box.scrollTop = ${to}; })()`,
      );
    await scrollOutput('0');
    await expectShown(session.getByText('line 0:'));
    await scrollOutput('box.scrollHeight');
    await expectShown(session.getByText('line 9999:'));
    const { longest, frames } = await page.evaluate<{ longest: number; frames: number }>('framesSeen()');
    expect(frames).toBeGreaterThan(50);
    // A frame also waits for a core.
    expect(longest).toBeLessThan(200 * PATIENCE ** 2);
    expect(await session.locator('.output-line').count()).toBeLessThan(200);
    expect(await faults()).toEqual([]);
    console.log(`ui-page: longest of ${frames} frames: ${Math.round(longest)} ms`);
  });
});

describe.runIf(chromium !== undefined)('Approvals', () => {
  it('shows how many wait in the navigation and the title, and answers', async () => {
    const { page, server, faults } = await open();
    expect(await page.title()).toBe('(1) Now · MCP bridge');
    await page.getByRole('link', { name: 'Approvals 1 waiting' }).click();
    const question = page.getByRole('article', { name: 'Question of session default' });
    expect(await question.innerText()).toContain('path: "/home/ann/shop/prices.csv"');
    expect(await question.getByRole('table', { name: 'Rules that apply' }).innerText()).toContain(
      'rules[1] of /home/ann/MCPs/policy.json',
    );
    await question.getByRole('button', { name: 'Allow once' }).click();
    await expectShown(page.getByText('Nothing waits for you.'));
    expect(server.requests.find(({ method }) => method === 'POST')).toEqual({
      method: 'POST',
      path: `/api/bridges/${BRIDGE}/approvals/9f2c11d07a3b`,
      body: { action: 'accept', content: { answer: 'Allow once' } },
    });
    expect(await page.getByRole('table', { name: 'Answered questions' }).innerText()).toContain('By the operator');
    expect(await faults()).toEqual([]);
  });

  it('announces a new question, and that it was answered at the client', async () => {
    const { page, server } = await open('history');
    const { approvals } = server.samples.overview;
    const second = approvals.map((approval) => ({ ...approval, id: 'second' }));
    server.samples.overview = {
      ...server.samples.overview,
      approvals: [...approvals, ...second],
    };
    server.send({
      type: 'approval_asked',
      at: new Date().toISOString(),
      bridge: BRIDGE,
      session: 'default',
      id: 'second',
    });
    await expectShown(page.getByRole('status').filter({ hasText: '2 questions wait for you in Approvals.' }));
    await goTo(page, 'approvals');
    server.samples.overview = { ...server.samples.overview, approvals };
    server.send({
      type: 'approval_answered',
      at: new Date().toISOString(),
      bridge: BRIDGE,
      session: 'default',
      id: 'second',
      answered_by: 'client',
      action: 'decline',
    });
    await expectShown(page.getByText('At the client'));
    expect(await page.getByRole('article').count()).toBe(1);
  });

  it('shows the rule that "always" writes, before and after', async () => {
    const { page, server } = await open('approvals');
    const rules = [{ rule: '{"effect": "allow"}', place: 'rules[0]' }];
    server.answers.set('always', { ok: true, policy_file: '/home/ann/MCPs/policy.json', rules });
    await page.getByText('Always allow this…').click();
    expect(await page.getByRole('group', { name: /^New rule/ }).innerText()).toContain('"tool": "write_file"');
    await page.getByRole('button', { name: 'Write the rule and allow' }).click();
    await expectShown(page.getByText('policy.json has 1 new rule'));
  });

  it('shows which schedule asks, in which of its runs, and answers', async () => {
    const answer = { type: 'string', enum: ['Allow once', 'Always allow in this schedule', 'Do not allow'] };
    const asked = new Date().toISOString();
    const { page, server, faults } = await open('approvals', {
      change: ({ samples }) => {
        const run = asked.replace(/:(\d\d):(\d\d)\..*/, '-$1-$2Z');
        const question = { mode: 'form', message: 'May it?', schema: { properties: { answer } } } as const;
        const scheduled = { id: 'kept', bridge: 'schedules', schedule: { name: 'morning', run }, asked, ...question };
        samples.overview = { ...samples.overview, approvals: [scheduled] };
      },
    });
    const card = page.getByRole('article', { name: 'Question of schedule morning' });
    expect(await card.innerText()).toMatch(/^Schedule morning asks\s+in its run of (?!NaN|.*T).*\d/);
    await card.getByRole('button', { name: 'Always allow in this schedule' }).click();
    await expect
      .poll(() => server.requests.find(({ path }) => path === '/api/bridges/schedules/approvals/kept')?.body)
      .toEqual({ action: 'accept', content: { answer: 'Always allow in this schedule' } });
    expect(await faults()).toEqual([]);
  });

  it('fills in a form, and never makes a link of an address that is not one of the web', async () => {
    const { page, server } = await open('approvals', {
      change: ({ samples }) => {
        const base = { bridge: BRIDGE, session: 's', asked: new Date().toISOString() };
        const properties = { name: { type: 'string' }, count: { type: 'integer' }, sure: { type: 'boolean' } };
        samples.overview = {
          ...samples.overview,
          approvals: [
            { ...base, id: 'form', mode: 'form', message: 'Who?', schema: { properties, required: ['name'] } },
            { ...base, id: 'page', mode: 'url', message: 'Log in', url: 'javascript:hacked=1' },
          ],
        };
      },
    });
    await page.getByRole('button', { name: 'Send' }).click();
    await expectShown(page.getByText('Fill in “name”.'));
    await page.getByLabel('name', { exact: true }).fill('Ann');
    await page.getByLabel('count (optional)').fill('3');
    await page.getByLabel('sure (optional)').check();
    await page.getByRole('button', { name: 'Send' }).click();
    await expect
      .poll(() => server.requests.find(({ path }) => path.endsWith('/form'))?.body)
      .toEqual({
        action: 'accept',
        content: { name: 'Ann', count: 3, sure: true },
      });
    expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
    expect(await page.getByText('javascript:hacked=1').count()).toBe(1);
  });
});

describe.runIf(chromium !== undefined)('History', () => {
  const TABLE = { name: 'Cells, calls and events, newest first' };

  it('opens with cells, each with its client, its session and its first line', async () => {
    const { page, faults } = await open('history');
    const rows = page.getByRole('table', TABLE).getByRole('row');
    await expect.poll(() => rows.count()).toBe(26);
    expect(await rows.nth(1).innerText()).toMatch(/rows = await mcp_shop[\s\S]*claude-code[\s\S]*invoices/);
    await page.getByLabel('Kind').selectOption('all');
    await expect.poll(() => rows.count()).toBe(41);
    expect(await faults()).toEqual([]);
  });

  it('shows the calls of a loop as one line that opens', async () => {
    const { page, faults } = await open('history', {
      change: ({ samples }) => {
        // One time for all: a millisecond more between two of them is shown as 29.2 s.
        const now = Date.now();
        const at = (index: number) => new Date(now - 60_000 - index * 1_000).toISOString();
        const call = { kind: 'call', cell: 'b/default/1/7', server: 'shop', status: 'ok', duration_ms: 250 } as const;
        const items = Array.from({ length: 40 }, (_, index) => ({
          ...call,
          id: `b/default/1/7/${40 - index}`,
          at: at(index),
          tool: index < 30 ? 'get_order' : 'list_orders',
          ...(index === 3 ? { status: 'error' as const, error_code: 'TOOL_FAILED' } : {}),
        }));
        samples.history = { ...samples.history, items };
      },
    });
    await page.getByLabel('Kind').selectOption('call');
    const rows = page.getByRole('table', TABLE).getByRole('row');
    await expect.poll(() => rows.count()).toBe(3);
    expect(await rows.nth(1).innerText()).toMatch(
      /shop\.get_order[\s\S]*30 calls[\s\S]*default[\s\S]*29 ok[\s\S]*1 error[\s\S]*29\.3 s/,
    );
    await page.getByText('30 calls').click();
    expect(await rows.nth(1).getByRole('listitem').count()).toBe(30);
    await expectShown(rows.nth(1).getByText('TOOL_FAILED'));
    expect(await faults()).toEqual([]);
  });

  it('searches while one types, and keeps the search in the address', async () => {
    const { page, server, faults } = await open('history');
    await page.getByLabel('Text').fill('list_issues');
    await page.getByLabel('Status').selectOption('success');
    await page.getByLabel('Server').fill('github');
    await expect.poll(() => page.url()).toContain('text=list_issues');
    const asked = () => Object.fromEntries(new URL(server.requests.at(-1)?.path ?? '', 'http://x').searchParams);
    await expect
      .poll(asked)
      .toEqual({ text: 'list_issues', status: 'success', server: 'github', kind: 'cell', limit: '100' });
    await page.getByLabel('Text').fill('nothing like it');
    await expectShown(page.getByText('Nothing matches.'));
    await page.getByRole('link', { name: 'search calls and events, too' }).click();
    await expect.poll(asked).toEqual({ text: 'nothing like it', status: 'success', server: 'github', limit: '100' });
    expect(await faults()).toEqual([]);
  });

  it('opens a cell with code, output, pictures and calls', async () => {
    const { page, faults } = await open('history');
    await page.getByRole('link', { name: 'report.describe()' }).first().click();
    await expectShown(page.getByRole('heading', { level: 1, name: 'Cell' }));
    expect(await page.getByRole('group', { name: 'Printed' }).innerText()).toContain('8 reminders');
    const picture = page.getByRole('img', { name: 'overdue.png' });
    await expectShown(picture);
    expect(await picture.getAttribute('src')).toMatch(/^blob:/);
    await page.getByRole('button', { name: 'Show as text: logo.svg' }).click();
    expect(await page.getByRole('group', { name: 'Text of logo.svg' }).innerText()).toContain(
      '<script>parent.hacked = 1</script>',
    );
    // Each call once: those of the loop are one row until it opens.
    const calls = page.locator('details.call');
    expect(await calls.count()).toBe(2);
    await page.locator('summary', { hasText: 'invoices.remind × 8' }).click();
    await expect.poll(() => calls.count()).toBe(10);
    expect(await page.getByText('POLICY_DENIED').count()).toBe(1);
    await page.locator('summary', { hasText: 'shop.list_orders' }).click();
    expect(await page.getByRole('group', { name: 'Arguments' }).innerText()).toContain('2026-10-01');
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(await faults()).toEqual([]);
  });

  it('shows the steps of a cell, with those that a step did inside it', async () => {
    const { page, faults } = await open(VIEWS[3]);
    const graph = page.getByRole('group', { name: 'Graph of 8 steps' });
    const box = (name: string) => graph.getByRole('listitem').filter({ has: page.getByText(name, { exact: true }) });
    expect(await box('load_customers').getByRole('listitem').count()).toBe(2);
    expect(await box('load_orders').innerText()).toMatch(/kept[\s\S]*from an earlier run/);
    expect(await box('remind').innerText()).toMatch(/ok[\s\S]*8 rows, 1 failed/);
    expect(await box('write_report').innerText()).toMatch(/error[\s\S]*KeyError/);
    await expectShown(page.getByText('Thick: the chain that took longest.'));
    expect(await faults()).toEqual([]);
  });

  it('runs a cell again, and saves its function as a tool', async () => {
    const { page, server } = await open(VIEWS[3]);
    server.answers.set('save-as-tool', { ok: true, name: 'overdue' });
    await page.getByRole('button', { name: 'Save the function overdue' }).click();
    await expectShown(page.getByText('Saved as overdue.'));
    await page.getByLabel('Session to run it in').selectOption('1');
    await page.getByRole('button', { name: 'Run again in session default' }).click();
    await expectShown(page.getByRole('heading', { level: 1, name: 'Now' }));
    expect(posted(server)).toEqual([
      'POST /api/cells/save-as-tool',
      `POST /api/bridges/${BRIDGE}/sessions/default/run`,
    ]);
  });
});

describe.runIf(chromium !== undefined)('Servers', () => {
  it('shows what changed in a tool, word by word, and accepts it', async () => {
    const { page, server, faults } = await open('servers');
    const change = page.getByRole('group', { name: 'Change of search' });
    expect(await change.locator('ins').allInnerTexts()).toContainEqual(expect.stringContaining('address book'));
    await change.getByRole('button', { name: 'Accept the change of search' }).click();
    await expectShown(page.getByText('Accepted: search.'));
    expect(server.requests.find(({ path }) => path.endsWith('/accept'))).toMatchObject({
      path: '/api/servers/invoices/pins/accept',
      body: { tools: ['search'], seen: 'd41d8c' },
    });
    expect(await faults()).toEqual([]);
  });

  it('are a table that sorts, filters and opens, with what needs attention first', async () => {
    const { page, faults } = await open('servers');
    const table = page.getByRole('table', { name: 'Servers', exact: true });
    const names = () => table.locator('> tbody > tr > th').allInnerTexts();
    const bare = async () => (await names()).map((name) => name.replace(/^\W+/, ''));
    expect(await bare()).toEqual(['github', 'invoices', 'calendar', 'files', 'shop']);
    expect(await page.getByRole('article').count()).toBe(2);
    await page.getByRole('button', { name: 'Calls', exact: true }).click();
    expect((await bare())[0]).toBe('invoices');
    expect(await table.locator('th[aria-sort="descending"]').innerText()).toContain('Calls');
    await page.getByRole('button', { name: 'Calls', exact: true }).press('Enter');
    expect((await bare()).at(-1)).toBe('invoices');
    // What is not known comes last.
    await page.getByRole('button', { name: 'Median' }).click();
    expect(await bare()).toEqual(['github', 'shop', 'invoices', 'calendar', 'files']);
    await page.getByLabel('Name, file or transport').fill('shop');
    await expect.poll(bare).toEqual(['shop', 'files']);
    await page.getByLabel('Name, file or transport').fill('');
    await page.getByLabel('State').selectOption('needs attention');
    await expect.poll(bare).toEqual(['github', 'invoices']);
    await page.getByRole('button', { name: 'github', exact: true }).click();
    expect(await page.getByRole('article').count()).toBe(1);
    expect(await faults()).toEqual([]);
  });

  it('starts, stops and refreshes servers, and shows where to log in', async () => {
    const { page, server } = await open('servers');
    await page.getByRole('button', { name: 'files', exact: true }).click();
    await page.getByRole('button', { name: 'shop', exact: true }).click();
    await page.getByRole('button', { name: 'Start files' }).click();
    await expectShown(page.getByText('files runs.'));
    await page.getByRole('button', { name: 'Stop shop' }).click();
    await page.getByRole('button', { name: 'Refresh github' }).click();
    server.answers.set('login', { ok: true, url: 'https://login.example.com/?state=1' });
    await page.getByRole('button', { name: 'Log in at github' }).click();
    const link = page.getByRole('link', { name: 'https://login.example.com/?state=1' });
    await expectShown(link);
    expect(await link.getAttribute('rel')).toContain('noopener');
    expect(posted(server)).toEqual([
      `POST /api/bridges/${BRIDGE}/servers/files/start`,
      `POST /api/bridges/${BRIDGE}/servers/shop/stop`,
      'POST /api/bridges/4e5f6a7b/servers/github/refresh?principal=ci&profile=',
      'POST /api/servers/github/login',
    ]);
  });
});

describe.runIf(chromium !== undefined)('Savings and Stored', () => {
  it('compares tokens in a chart with a text, and in tables', async () => {
    const { page, server, faults } = await open('savings');
    expect(await page.getByRole('img', { name: /^Tokens per day from .*directly in all/ }).count()).toBe(1);
    await page.getByText('The same as a table').click();
    expect(await page.getByRole('table', { name: 'Tokens per day' }).getByRole('row').count()).toBe(31);
    await page.getByRole('button', { name: '7 days' }).click();
    await expect.poll(() => server.requests.at(-1)?.path).toBe('/api/savings?since=7d');
    expect(await faults()).toEqual([]);
  });

  it('shows functions and artifacts where they are listed, and runs nothing of them', async () => {
    const { page, server, faults } = await open('stored');
    server.files.set(
      'overdue',
      Buffer.from('def overdue(orders):\n    return [each for each in orders if each.due]\n'),
    );
    server.files.set('report.html', Buffer.from('<script>document.title = "run"</script><b>12 orders</b>'));
    const overdue = page.getByRole('button', { name: 'overdue', exact: true });
    await overdue.click();
    expect(await overdue.getAttribute('aria-expanded')).toBe('true');
    await page.getByText('def overdue(orders):').waitFor();
    await page.getByRole('button', { name: 'report.html', exact: true }).click();
    await page.getByText('<script>document.title = "run"</script><b>12 orders</b>').waitFor();
    expect(await page.title()).not.toBe('run');
    await overdue.click();
    expect(await page.getByText('def overdue(orders):').count()).toBe(0);
    expect(await faults()).toEqual([]);
  });

  it('removes what is stored, after a confirmation', async () => {
    const { page, server, faults } = await open('stored');
    expect(await page.getByRole('button', { name: 'Remove httpx 0.29.0' }).getAttribute('aria-disabled')).toBe('true');
    await page.getByRole('button', { name: 'Remove pandas 3.0.1' }).click();
    await page.keyboard.press('Escape');
    expect(posted(server)).toEqual([]);
    for (const name of ['pandas 3.0.1', 'overdue', 'nightly', 'report.html']) {
      await page.getByRole('button', { name: `Remove ${name}`, exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
      await page.getByRole('button', { name: `Remove ${name}`, exact: true }).waitFor({ state: 'detached' });
    }
    expect(posted(server)).toEqual([
      'DELETE /api/stored/packages?id=pandas+3.0.1',
      'DELETE /api/stored/functions?id=overdue',
      'DELETE /api/stored/checkpoints?id=nightly',
      'DELETE /api/stored/artifacts?id=report.html',
    ]);
    expect(await faults()).toEqual([]);
  });
});

describe.runIf(chromium !== undefined)('with the keyboard only', () => {
  const focused = (page: Page) =>
    page.evaluate<string>(
      "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent.trim()",
    );

  it('every control is reached in order, with a visible focus', async () => {
    const { page } = await open('approvals');
    // A fresh page, where the first stop is the first control.
    await page.reload();
    await expectShown(page.getByRole('button', { name: 'Allow once' }));
    const reached: string[] = [];
    for (let step = 0; step < 40; step += 1) {
      await page.keyboard.press('Tab');
      reached.push(await focused(page));
      const outline = await page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle');
      if (reached.at(-1) !== '' && (await page.evaluate('document.activeElement !== document.body'))) {
        expect(`${reached.at(-1)}: ${outline}`).not.toMatch(/: none$/);
      }
    }
    expect(reached[0]).toBe('Skip to the content');
    expect(reached).toEqual(
      expect.arrayContaining([
        'Now',
        'Approvals1 waiting',
        'Stored',
        'The question',
        'Allow once',
        'Do not allow',
        'Always allow this…',
      ]),
    );
  });

  it('keys go to views, search and help, and can be turned off', async () => {
    const { page } = await open();
    await page.keyboard.press('5');
    await expectShown(page.getByRole('heading', { level: 1, name: 'Savings' }));
    expect(await focused(page)).toBe('Savings');
    await page.keyboard.press('/');
    await expectShown(page.getByRole('heading', { level: 1, name: 'History' }));
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('search');
    await page.keyboard.type('1?');
    expect(await page.getByLabel('Text').inputValue()).toBe('1?');
    await page.getByRole('button', { name: 'Keys' }).focus();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).getByLabel('Use these keys').uncheck();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await focused(page)).toContain('Keys');
    await page.keyboard.press('1');
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('History');
  });
});

describe.runIf(chromium !== undefined)('for every reader', () => {
  it.each([
    ['light', 1_280],
    ['dark', 1_280],
    ['light', 400],
    ['dark', 400],
  ] as const)('axe finds nothing: %s, %d px wide', async (scheme, width) => {
    const { page, faults } = await open('now', { scheme, width });
    await page.evaluate(axe.source);
    for (const view of VIEWS) {
      await goTo(page, view);
      await page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true");
      await page.waitForTimeout(100);
      const { violations } = await page.evaluate<{
        violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
      }>("axe.run(document, { resultTypes: ['violations'] })");
      const found = violations.flatMap(({ id, nodes }) =>
        nodes.map(({ failureSummary, html }) => `${view}: ${id}: ${html.slice(0, 160)} ${failureSummary}`),
      );
      expect(found).toEqual([]);
    }
    await page.keyboard.press('?');
    const dialog = await page.evaluate<{ violations: { id: string }[] }>('axe.run(document)');
    expect(dialog.violations.map(({ id }) => id)).toEqual([]);
    expect(await faults()).toEqual([]);
  });

  it.each([400, 760, 1_000, 1_600])('nothing is wider than the window at %d px', async (width) => {
    const { page } = await open('now', { width });
    for (const view of VIEWS) {
      await goTo(page, view);
      expect(`${view}: ${await page.evaluate<number>('document.documentElement.scrollWidth')}`).toBe(
        `${view}: ${width}`,
      );
    }
  });
});

describe.runIf(chromium !== undefined)('hostile content', () => {
  const MARKUP = '<img src=x onerror="window.hacked=1"><script>window.hacked=2</script>';
  const HIDDEN = 'invoice\u202efdp.exe\u0000\u001b[2J';
  const LINKS =
    'javascript:window.hacked=3 data:text/html,<b>x</b> https://bank.example@evil.example/ https://good.example/';

  it('stays text in every view, and does nothing', async () => {
    const hostile = `${MARKUP}${HIDDEN} ${LINKS}`;
    const { page, faults } = await open('now', { change: (server) => poison(server, hostile) });
    for (const view of VIEWS) {
      await goTo(page, view);
      await page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true");
      await page.waitForTimeout(100);
      const text = await page.locator('main').innerText();
      expect(`${view}: ${text}`).toContain('<img src=x onerror="window.hacked=1">');
      expect(`${view}: ${text}`).toContain('<U+202E>');
      expect(text).not.toMatch(/[\u202e\u0000\u001b]/);
      const links = await page.evaluate<string[][]>(
        '[...document.querySelectorAll(\'main a[href]:not([href^="#"])\')].map((a) => [a.href, a.textContent, a.rel])',
      );
      for (const [href = '', label, rel] of links) {
        expect([label, rel, /^https:\/\/(?:good\.example\/|api\.example\.com\/mcp)/.test(href)]).toEqual([
          href,
          'noopener noreferrer nofollow',
          true,
        ]);
      }
      expect(
        await page
          .locator('main img:not([src^="blob:"]), main script, main iframe, main object, main svg script')
          .count(),
      ).toBe(0);
    }
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(await faults()).toEqual([]);
  });
});

/** Every text of the samples that code or a server could choose. */
function poison(server: UiMockServer, hostile: string): void {
  const { samples } = server;
  const keep =
    /^(?:kind|status|state|type|at|id|bridge|cell|started|deadline|asked|saved|mode|transport|change|mime_type|url|decision|outcome|day|engine|run_by)$/;
  const poisoned = (value: unknown, key = ''): unknown => {
    if (typeof value === 'string') {
      return keep.test(key) ? value : `${value} ${hostile}`;
    }
    if (Array.isArray(value)) {
      return value.map((each) => poisoned(each, key));
    }
    return typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, poisoned(each, name)]))
      : value;
  };
  const { savings, ...others } = samples;
  Object.assign(samples, poisoned(others), { savings: { ...savings, servers: poisoned(savings.servers) as never } });
}

describe.runIf(chromium !== undefined && process.env['MCP_BRIDGE_TEST_PICTURES'] === '1')('pictures', () => {
  it.each(['light', 'dark'] as const)('are taken: %s', async (scheme) => {
    await mkdir(PICTURES, { recursive: true });
    const { page } = await open('now', { scheme, width: 1_280, height: 800 });
    for (const view of VIEWS) {
      await goTo(page, view);
      await page.waitForTimeout(300);
      const [name = ''] = view.split('/');
      const bytes = await page.screenshot({ path: join(PICTURES, `${name}-${scheme}.png`) });
      expect(`${name}: ${bytes.length < 150 * 1024}`).toBe(`${name}: true`);
    }
    await goTo(page, VIEWS[3] ?? '');
    await page.getByRole('region', { name: 'Steps' }).screenshot({ path: join(PICTURES, `steps-${scheme}.png`) });
  });
});
