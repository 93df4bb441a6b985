// Tags: anywhere, full
/**
 * The page of `ui` with nothing played: the command, bridges over stdio with clients, servers and sandboxes, and Chromium.
 * test/e2e/ui-page.test.ts has what needs a stand-in for the server, test/e2e/ui.test.ts the API.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createDeferred, type Deferred } from '../../src/core/base/deferred.ts';
import { HistorySchema, OverviewSchema, StoredSchema } from '../../src/record/ui/schema.ts';
import { type PersonReply, startAskingBridge } from '../support/asking-bridge.ts';
import { type BridgeClient, fixtureServer, type ServerEntry, startBridge } from '../support/bridge-client.ts';
import { findChromium, startChromium } from '../support/chromium.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { PATIENCE } from '../support/patience.ts';
import { pause } from '../support/pause.ts';
import { startUiCommand, type UiCommandRun } from '../support/ui-command.ts';
import { expectShown, goTo, MEASURE_FRAMES, openWatchedPage, type WatchedPage } from '../support/watched-page.ts';

const chromium = findChromium();
// No engine knows of the page, so one is enough: the one that starts fastest.
const covered = chromium === undefined ? [] : await coverEngines();
const engines = [covered.find(({ name }) => name === 'bubblewrap') ?? covered[0]].filter((one) => one !== undefined);
const WAIT = { timeout: 20_000 * PATIENCE };
const ECHO = { servers: ['echo'] };
const VIEWS = ['now', 'approvals', 'history', 'servers', 'savings', 'stored'];
/** A frame also waits for a core. */
const MAX_FRAME_MS = 200 * PATIENCE ** 2;

let browser: Browser;
const open: { close(): Promise<unknown> }[] = [];
beforeAll(async () => {
  if (chromium !== undefined) {
    browser = await startChromium(chromium);
  }
});
afterAll(() => browser?.close());
afterEach(async () => {
  // The command first: it asks the bridges.
  for (const each of open.splice(0).toReversed()) {
    await each.close();
  }
});

if (chromium === undefined) {
  it.skip('not covered: the page of `ui` with real bridges: no Chromium', () => undefined);
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ui-browser-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A literal of Python with this text, in ASCII. */
function python(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

async function show(ui: UiCommandRun, place = 'now'): Promise<WatchedPage> {
  const watched = await openWatchedPage(browser, ui.address);
  await expectShown(watched.page.getByText('Live', { exact: true }));
  if (place !== 'now') {
    await goTo(watched.page, place);
  }
  return watched;
}

const sessionIn = (page: Page): Locator => page.getByRole('article', { name: 'Session default' });
const press = (within: Page | Locator, name: string): Promise<void> =>
  within.getByRole('button', { name, exact: true }).first().click();

/** Confirms what the page asks before something that cannot be undone. */
async function confirm(page: Page, name: string): Promise<void> {
  await press(page.getByRole('dialog'), name);
}

describe.each(engines.map((engine) => ({ engine, name: engine.label })))('on $name', ({ engine }) => {
  async function start(
    env: Record<string, string> = {},
    servers: Record<string, ServerEntry> = { echo: fixtureServer('echo.mjs') },
  ) {
    const bridge: BridgeClient = await startBridge({ engine, servers: () => servers, env });
    open.push(bridge);
    return { bridge, ui: await watch(bridge.folder, env) };
  }

  async function watch(folder: string, env: Record<string, string> = {}): Promise<UiCommandRun> {
    const ui = await startUiCommand({ HOME: folder, MCP_BRIDGE_STATE_DIR: folder, ...engine.env, ...env });
    open.push(ui);
    return ui;
  }

  describe('Now', () => {
    it('shows a session as it comes, and interrupts, hibernates and ends it', async () => {
      const { bridge, ui } = await start();
      const { faults, page } = await show(ui);
      // The page is there first.
      await bridge.runPython('kept = 7');
      const session = sessionIn(page);
      await expectShown(session.getByText('idle', { exact: true }));
      const answer = bridge.runPython('print("begun", flush=True)\nwhile True: pass', { timeout: 120 });
      await expectShown(session.getByRole('group', { name: 'Output, 1 line' }).getByText('begun'));
      await press(session, 'Interrupt the cell of default');
      expect((await answer).text).toContain('the operator interrupted the cell');
      await expectShown(page.getByText('Interrupted.'));
      await expectShown(session.getByText('idle', { exact: true }));
      await press(session, 'Hibernate default');
      await expectShown(page.getByText('Saved and stopped.'));
      await expectShown(session.getByText('hibernated', { exact: true }));
      expect((await bridge.runPython('kept')).text).toContain('7');
      await expectShown(session.getByText('idle', { exact: true }));
      await press(session, 'End default');
      await confirm(page, 'End session');
      await expectShown(page.getByText('Ended.', { exact: true }));
      expect((await bridge.runPython('1')).text).toMatch(/the operator ended it|after cell/);
      expect(await faults()).toEqual([]);
    });

    it('stays responsive while a cell prints 10,000 lines and makes 1,000 calls', async () => {
      const { bridge, ui } = await start();
      await bridge.runPython('import asyncio', ECHO);
      const { faults, page } = await show(ui);
      const session = sessionIn(page);
      await expectShown(session);
      await page.evaluate(MEASURE_FRAMES);
      // Less than 256 KiB: the sandbox keeps the rest back until the cell ends.
      const answer = bridge.runPython(
        `for batch in range(100):
    for line in range(100):
        print(f"line {batch * 100 + line}: " + "x" * (line % 10))
    await asyncio.gather(*[mcp_echo.echo(text=str(number)) for number in range(10)])`,
        { timeout: 120 },
      );
      await expectShown(session.getByText('running', { exact: true }));
      await answer;
      await press(session, 'Show the last cell');
      await expectShown(session.getByRole('group', { name: 'Output, 10,000 lines' }));
      await expectShown(session.getByRole('table', { name: 'Calls of the cell, 1,000 calls' }));
      const scrollTo = (place: string) =>
        page.evaluate(
          `(() => { const box = document.querySelector('[aria-label="Session default"] .output'); box.scrollTop = ${place}; })()`,
        );
      await scrollTo('0');
      await expectShown(session.getByText('line 0:'));
      await scrollTo('box.scrollHeight');
      await expectShown(session.getByText('line 9999:'));
      const { frames, longest } = await page.evaluate<{ frames: number; longest: number }>('framesSeen()');
      console.log(`ui-browser: longest of ${frames} frames: ${Math.round(longest)} ms`);
      expect(frames).toBeGreaterThan(20);
      expect(longest).toBeLessThan(MAX_FRAME_MS);
      expect(await session.locator('.output-line').count()).toBeLessThan(200);
      expect(await faults()).toEqual([]);
    });

    it('shows all output of a cell once, whenever the page was opened', async () => {
      const { bridge, ui } = await start();
      const answer = bridge.runPython(
        `import time
number = 0
try:
    while True:
        print(number)
        number += 1
        time.sleep(0.02)
except BaseException:
    print("in all", number)`,
        { timeout: 120 },
      );
      const { page } = await show(ui);
      const session = sessionIn(page);
      for (let reload = 0; reload < 3; reload += 1) {
        await expectShown(session.locator('.output-line'));
        await page.reload();
      }
      await expectShown(session.locator('.output-line'));
      await press(session, 'Interrupt the cell of default');
      const [, printed] = /in all (\d+)/.exec((await answer).text) ?? [];
      await press(session, 'Show the last cell');
      // A line was missing or there twice if output and the overview crossed.
      const lines = `${(Number(printed) + 1).toLocaleString('en-US')} lines`;
      await expectShown(session.getByRole('group', { name: `Output, ${lines}`, exact: true }));
    });

    it('notices that a bridge ends, and says when `ui` itself has', async () => {
      const { bridge, ui } = await start();
      await bridge.runPython('1');
      const { page } = await show(ui);
      await expectShown(sessionIn(page));
      await bridge.client.close();
      await expectShown(page.getByText('No bridge is running.'));
      await sessionIn(page).waitFor({ state: 'detached' });
      expect(await ui.close()).toBe(143);
      open.pop();
      await expectShown(page.getByRole('alert').filter({ hasText: 'The connection is lost' }));
      await goTo(page, 'approvals');
      await expectShown(page.getByText('Nothing waits for you.'));
      await page.getByRole('link', { name: 'Servers' }).click();
      await expectShown(page.getByText('Check that the command `ui` still runs.'));
    });
  });

  describe('Approvals', () => {
    const POLICY = { default: 'allow', rules: [{ effect: 'ask', server: 'echo', tool: 'echo' }], limits: [] };

    /** What the person at the client does is up to the test. */
    async function ask() {
      const withdrawn: boolean[] = [];
      const replies: Deferred<PersonReply>[] = [];
      const bridge = await startAskingBridge({
        engine,
        era: '2025-11-25',
        servers: { echo: fixtureServer('echo.mjs') },
        policy: POLICY,
        person: (_, signal) => {
          const reply = createDeferred<PersonReply>();
          signal.addEventListener('abort', () => withdrawn.push(true));
          replies.push(reply);
          return reply.promise;
        },
      });
      open.push(bridge);
      await bridge.run('1', ECHO);
      const ui = await watch(bridge.folder);
      return { bridge, ui, replies, withdrawn, ...(await show(ui, 'approvals')) };
    }

    it('are answered on the page while the client waits, and the other way round', async () => {
      const { bridge, faults, page, replies, withdrawn } = await ask();
      const first = bridge.run('await mcp_echo.echo(text="from the page")');
      const question = page.getByRole('article', { name: 'Question of session default' });
      await expectShown(question.getByText('from the page'));
      expect(await question.getByRole('table', { name: 'Rules that apply' }).innerText()).toContain('rules[0] of ');
      await expect.poll(() => page.title(), WAIT).toBe('(1) Approvals · MCP bridge');
      await press(question, 'Allow once');
      expect(await first).toContain('from the page');
      await expect.poll(() => withdrawn, WAIT).toEqual([true]);
      const answered = page.getByRole('table', { name: 'Answered questions' });
      await expectShown(answered.getByText('By the operator', { exact: true }));

      const second = bridge.run('await mcp_echo.echo(text="at the client")');
      await expectShown(question.getByText('at the client'));
      await expect.poll(() => replies.length, WAIT).toBe(2);
      replies[1]?.resolve({ action: 'accept', content: { answer: 'Allow once' } });
      expect(await second).toContain('at the client');
      await expectShown(answered.getByText('At the client', { exact: true }));
      await question.waitFor({ state: 'detached' });

      const third = bridge.run('await mcp_echo.echo(text="refused")');
      await expectShown(question.getByText('refused'));
      await press(question, 'Do not allow');
      expect(await third).toContain('APPROVAL_DENIED');
      expect(await faults()).toEqual([]);
    });

    it('are answered for always: the rule is written, and the next call needs no question', async () => {
      const { bridge, faults, page, replies } = await ask();
      const answer = bridge.run('await mcp_echo.echo(text="first")');
      await page.getByText('Always allow this…').click();
      const rule = page.getByRole('group', { name: /^New rule/ });
      expect(await rule.innerText()).toContain('"effect": "allow"');
      await press(page, 'Write the rule and allow');
      expect(await answer).toContain('first');
      await expectShown(page.getByText('policy.json has 1 new rule'));
      expect(JSON.parse(readFileSync(join(bridge.folder, 'policy.json'), 'utf8'))).toEqual({
        ...POLICY,
        rules: [{ effect: 'allow', server: 'echo', tool: 'echo' }, ...POLICY.rules],
      });
      await pause(1_000, 'a bridge looks at the file four times a second');
      expect(await bridge.run('await mcp_echo.echo(text="second")')).toContain('second');
      expect(replies).toHaveLength(1);
      await expectShown(page.getByText('Nothing waits for you.'));
      expect(await faults()).toEqual([]);
    });
  });

  it('History finds a cell that ran, runs it again and keeps its function; Stored removes that', async () => {
    const { bridge, ui } = await start({ MCP_BRIDGE_RECORD: join(newFolder(), 'recordings') });
    const code = 'def double(n):\n    return 2 * n\nprint(double(21))\nawait mcp_echo.echo(text="a call")';
    await bridge.runPython(code, ECHO);
    await bridge.runPython('1 / 0');
    const { faults, page } = await show(ui, 'history');
    await page.getByLabel('Status').selectOption('failed');
    await expectShown(page.getByText('ZeroDivisionError'));
    await page.getByLabel('Status').selectOption('');
    await page.getByLabel('Text').fill('DOUBLE(21)');
    const link = page.getByRole('link', { name: 'def double(n):' });
    await expect.poll(() => link.count(), WAIT).toBe(1);
    await link.click();
    await expectShown(page.getByRole('heading', { level: 1, name: 'Cell' }));
    await expectShown(page.getByRole('group', { name: 'Printed' }).getByText('42'));
    await page.locator('summary', { hasText: 'echo.echo' }).click();
    await expectShown(page.getByRole('group', { name: 'Arguments' }).getByText('a call'));
    await expectShown(page.getByRole('group', { name: 'Text', exact: true }).getByText('a call'));

    await press(page, 'Save the function double');
    await expectShown(page.getByText('Saved as double.'));
    await press(page, 'Run again in session default');
    await expectShown(page.getByRole('heading', { level: 1, name: 'Now' }));
    const ofOperator = async () =>
      HistorySchema.parse(await ui.get('/api/history?kind=cell&text=double(21)')).items.filter(
        (item) => item.kind === 'cell' && item.run_by === 'operator' && item.status === 'success',
      );
    await expect.poll(ofOperator, WAIT).toHaveLength(1);
    expect((await bridge.runPython('double(1)')).text).toContain('The operator ran cell 3');

    await goTo(page, 'savings');
    await expectShown(page.getByRole('table', { name: 'Tokens per server' }).getByText('echo'));
    await goTo(page, 'stored');
    await press(page, 'Remove double');
    await confirm(page, 'Remove');
    await expectShown(page.getByText('There is no function.'));
    expect(StoredSchema.parse(await ui.get('/api/stored/functions')).items).toEqual([]);
    expect(await faults()).toEqual([]);
  });

  it('Servers start and stop, and their changed definitions are accepted or refused', async () => {
    const state = join(newFolder(), 'turncoat.json');
    const { bridge, ui } = await start({ MCP_BRIDGE_PIN: 'strict' }, { turn: fixtureServer('turncoat.mjs', state) });
    const become = (description: string) =>
      bridge.runPython(`await mcp_turn.become(look={"description": ${python(description)}}, announce=True)`);
    await bridge.runPython('await mcp_turn.look()', { servers: ['turn'] });
    const { faults, page } = await show(ui, 'servers');
    await press(page, 'turn');
    const card = page.getByRole('article', { name: 'Server turn' });
    await expectShown(card.getByText('3 tools as accepted.'));
    await press(card, 'Stop turn');
    await expectShown(page.getByText('turn is stopped; its next call starts it.'));
    await press(card, 'Start turn');
    await expectShown(page.getByText('turn runs.'));
    await expectShown(card.getByText('ready', { exact: true }));

    await become('Looks at a thing, and sends it away.');
    await press(card, 'Refresh turn');
    const change = card.getByRole('group', { name: 'Change of look' });
    await expectShown(change.getByText('sends it away'));
    expect(await change.locator('ins').allInnerTexts()).toContainEqual(expect.stringContaining('sends it away'));
    expect((await bridge.runPython('await mcp_turn.look()')).text).toContain('TOOL_CHANGED');
    await press(change, 'Accept the change of look');
    await expectShown(page.getByText('Accepted: look.'));
    await expectShown(card.getByText('3 tools as accepted.'));
    await expect.poll(async () => (await bridge.runPython('await mcp_turn.look()')).text, WAIT).toContain('looked at');

    await become('Sends everything away.');
    await press(card, 'Refresh turn');
    await press(change, 'Refuse look');
    await expectShown(page.getByText('Refused: look. Your policy denies its calls.'));
    expect(JSON.parse(readFileSync(join(bridge.folder, 'policy.json'), 'utf8'))).toMatchObject({
      rules: [{ effect: 'deny', server: 'turn', tool: ['look'] }],
    });
    await expect
      .poll(async () => (await bridge.runPython('await mcp_turn.look()')).text, WAIT)
      .toMatch(/POLICY_DENIED|TOOL_CHANGED/);
    expect(await faults()).toEqual([]);
  });

  it('hostile names, definitions, output and files stay text, and do nothing', async () => {
    const hostile =
      '<img src=x onerror="window.hacked=1"><script>window.hacked=2</script>\u202efdp.exe ' +
      'javascript:window.hacked=3 https://bank.example@evil.example/ https://good.example/';
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="top.hacked=4"><script>top.hacked=5</script></svg>';
    const name = '<img src=x onerror="window.hacked=6">';
    const env = { MCP_BRIDGE_RECORD: join(newFolder(), 'recordings'), MCP_BRIDGE_PIN: 'strict' };
    const { bridge, ui } = await start(env, {
      turn: fixtureServer('turncoat.mjs', join(newFolder(), 'turncoat.json')),
      echo: fixtureServer('echo.mjs'),
      [name]: fixtureServer('echo.mjs'),
    });
    await bridge.runPython('await mcp_turn.look()', { servers: ['turn', 'echo'] });
    await bridge.runPython(`await mcp_turn.become(look={"description": ${python(hostile)}}, announce=True)`);
    const { faults, page } = await show(ui);
    const running = bridge.runPython(
      `print(${python(hostile)}, flush=True)
runtime.save_artifact("x.svg", ${python(svg)})
await mcp_echo.echo(text=${python(hostile)})
import time
time.sleep(3)
raise ValueError(${python(hostile)})`,
    );
    await expectShown(sessionIn(page).locator('.output-line').getByText('<img src=x onerror'));
    await running;
    await press(sessionIn(page), 'Show the last cell');
    await expectHarmless(page, 'now');
    await goTo(page, 'servers');
    await expectShown(page.getByRole('button', { name, exact: true }));
    const closed = page.locator('main button[aria-expanded=false]');
    while ((await closed.count()) > 0) {
      await closed.first().click();
    }
    await press(page.getByRole('article', { name: 'Server turn' }), 'Refresh turn');
    await expectShown(page.getByRole('group', { name: 'Change of look' }).getByText('<script>'));
    await expectShown(page.getByRole('heading', { name }));
    await expectHarmless(page, 'servers');
    await goTo(page, 'history');
    await page.getByRole('link', { name: /^print\("<img/ }).click();
    await press(page, 'Show as text: x.svg');
    await expectShown(page.getByRole('group', { name: 'Text of x.svg' }).getByText('top.hacked=5'));
    const download = page.waitForEvent('download');
    await press(page, 'Download x.svg');
    expect((await download).suggestedFilename()).toBe('x.svg');
    await page.locator('summary', { hasText: 'echo.echo' }).click();
    await expectShown(page.getByRole('group', { name: 'Arguments' }).getByText('<script>'));
    await expectHarmless(page, 'cell');
    for (const view of VIEWS) {
      await goTo(page, view);
      await expectHarmless(page, view);
    }
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(await faults()).toEqual([]);
  });

  it('a page of another origin gets nothing, and changes nothing', async () => {
    const { bridge, ui } = await start();
    await bridge.runPython('kept = 7\ndef double(n):\n    return 2 * n');
    const mine = await show(ui);
    await expectShown(sessionIn(mine.page));
    const { hash, host, origin } = new URL(ui.address);
    const overview = async () => OverviewSchema.parse(await ui.get('/api/overview'));
    const [seen] = (await overview()).bridges;
    const session = `/api/bridges/${seen?.bridge}/sessions/default`;
    const page = await (await browser.newContext()).newPage();
    onTestFinished(() => page.context().close());
    await page.goto(await startAttacker());
    const results = await page.evaluate<Record<string, string>>(attack(origin, hash.slice('#token='.length), session));
    expect(results).toEqual({
      fetch: 'TypeError',
      'fetch with the token': 'TypeError',
      'a simple request': 'TypeError',
      script: 'refused',
      picture: 'refused',
      events: 'refused',
      socket: 'refused',
      frame: 'nothing to see',
      window: 'out of reach',
    });
    expect(page.frames().filter((frame) => frame.url().startsWith(origin))).toEqual([]);
    const popup = page
      .context()
      .pages()
      .find((each) => each.url().startsWith(`${origin}/#`));
    await expectShown(
      popup?.getByRole('heading', { name: 'This link is no longer valid' }) ?? expect.fail('no window'),
    );
    expect(await popup?.evaluate('window.opener')).toBeNull();
    // A name of the attacker that leads to this machine, so that its pages are of the same origin.
    const rebound = await page.goto(`http://rebound.example:${host.split(':')[1]}/`);
    expect(rebound?.status()).toBe(421);

    expect((await bridge.runPython('kept')).text).toContain('7');
    expect((await overview()).sessions).toMatchObject([{ name: 'default', generation: 1, cells: 2 }]);
    expect(StoredSchema.parse(await ui.get('/api/stored/functions')).items).toEqual([]);
    expect(await mine.faults()).toEqual([]);
  });
});

async function expectHarmless(page: Page, place: string): Promise<void> {
  await page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true");
  await page.waitForTimeout(100);
  const text = await page.locator('main').innerText();
  expect(`${place}: ${text}`).not.toMatch(/[\u202e\u0000\u001b]/);
  const links = await page.evaluate<string[][]>(
    '[...document.querySelectorAll(\'main a[href]:not([href^="#"])\')].map((a) => [a.href, a.textContent, a.rel])',
  );
  for (const [href = '', label, rel] of links) {
    expect([place, href, label, rel]).toEqual([place, 'https://good.example/', href, 'noopener noreferrer nofollow']);
  }
  const made = 'main img:not([src^="blob:"]), main script, main iframe, main object, main svg script';
  expect([place, await page.locator(made).count()]).toEqual([place, 0]);
}

/** A page on another port. Resolves with its address. */
async function startAttacker(): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' });
    response.end('<!doctype html><title>attacker</title><p>attacker</p>');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** What a page of another origin can try, as code that resolves with what came of each; also with a token that has leaked. */
function attack(origin: string, token: string, session: string): string {
  return `(async () => {
  const [origin, token, session] = ${JSON.stringify([origin, token, session])};
  const results = {};
  const attempt = async (name, action) => {
    try {
      results[name] = String(await action());
    } catch (error) {
      results[name] = error.name;
    }
  };
  const outcome = (element, source) => new Promise((resolve) => {
    element.onload = () => resolve('loaded');
    element.onerror = () => resolve('refused');
    element.src = source;
    document.body.append(element);
  });
  const json = { 'Content-Type': 'application/json', Authorization: 'Bearer ' + token };
  await attempt('fetch', async () => (await fetch(origin + '/api/overview')).status);
  await attempt('fetch with the token', async () =>
    (await fetch(origin + session + '/end', { method: 'POST', headers: json, body: '{}' })).status);
  await attempt('a simple request', async () =>
    (await fetch(origin + session + '/end', { method: 'POST', mode: 'no-cors', body: '{}' })).type);
  await attempt('script', () => outcome(document.createElement('script'), origin + '/app.js'));
  await attempt('picture', () => outcome(document.createElement('img'), origin + '/favicon.svg'));
  await attempt('events', () => new Promise((resolve) => {
    const source = new EventSource(origin + '/api/events');
    source.onopen = () => resolve('open');
    source.onerror = () => { source.close(); resolve('refused'); };
  }));
  await attempt('socket', () => new Promise((resolve) => {
    const socket = new WebSocket(origin.replace('http', 'ws') + '/api/events');
    socket.onopen = () => resolve('open');
    socket.onerror = () => resolve('refused');
  }));
  navigator.sendBeacon(origin + session + '/end', new Blob(['{}'], { type: 'text/plain' }));
  await attempt('frame', async () => {
    const frame = document.createElement('iframe');
    frame.name = 'target';
    frame.src = origin + '/#token=' + token;
    document.body.append(frame);
    await new Promise((resolve) => { frame.onload = resolve; setTimeout(resolve, 2000); });
    return frame.contentDocument === null ? 'nothing to see' : frame.contentDocument.title;
  });
  for (const [action, text] of [['/end', '{}'], ['/run', JSON.stringify({ code: 'kept = 8' })]]) {
    const form = document.createElement('form');
    Object.assign(form, { method: 'post', action: origin + session + action, target: 'target', enctype: 'text/plain' });
    const field = document.createElement('input');
    Object.assign(field, { name: text.slice(0, -1) + ', "x": "', value: '"}' });
    form.append(field);
    document.body.append(form);
    form.submit();
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  await attempt('window', async () => {
    const opened = window.open(origin + '/#token=stolen');
    await new Promise((resolve) => setTimeout(resolve, 2000));
    return opened.closed ? 'out of reach' : 'open';
  });
  return results;
})()`;
}
