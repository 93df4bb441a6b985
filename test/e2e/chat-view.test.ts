// Tags: anywhere, full
/**
 * The view of a cell in the chat (MCP Apps): what real clients get from the built bridge, and the page in a real Chromium, in a host
 * that is built on the official host part and follows the sandbox rules of SEP-1865.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Browser, Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type BridgeClient, fixtureServer, ROOT, startBridge } from '../support/bridge-client.ts';
import { type ChatHost, startChatHost } from '../support/chat-host.ts';
import { findChromium, startChromium } from '../support/chromium.ts';
import { coverEngines } from '../support/covered-engines.ts';

const URI = 'ui://mcp-server-code-execution-mode/cell.html';
const KEY = 'mcp-server-code-execution-mode/cell';
const VIEWS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };
const SECRET = 'tok-5up3r-53cr3t-0123';
const CODE = `print("before")
first = await mcp_echo.echo(text="hi")
try:
    await mcp_echo.fails(text="no")
except Exception as error:
    print(type(error).__name__)
"${SECRET}", first`;
const FRAME = `DataFrame, 2 rows × 2 columns (object, int64)
     city   people
0  Berlin  3677472
1    Bern   134591`;
/** One white pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4//8/AAX+Av4N70a4AAAAAElFTkSuQmCC';

// No engine knows how its cells are shown, so one is enough.
const engines = (await coverEngines()).slice(0, 1);

const NOTHING = { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] };

interface Result {
  readonly content: unknown;
  readonly structuredContent?: unknown;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** What test/fixtures/chat-host/host.mjs puts on `window`. */
interface HostPage {
  openView(given: object): Promise<unknown>;
  say(method: string, params: object): Promise<unknown>;
}

interface ReadPage {
  readonly mimeType: string;
  readonly text: string;
  readonly _meta: { readonly ui: { readonly csp: object } };
}

describe.each(engines)('clients of the bridge on $label', (engine) => {
  const ERAS = [
    ['2025-11-25', undefined],
    ['2026-07-28', '2026-07-28'],
  ] as const;

  async function connect(
    era: '2026-07-28' | undefined,
    more: { views: boolean; env?: Record<string, string> },
  ): Promise<BridgeClient & { received: unknown[] }> {
    const received: unknown[] = [];
    const bridge = await startBridge({
      engine,
      env: more.env ?? {},
      servers: () => ({ echo: { ...fixtureServer('echo.mjs'), env: { API_TOKEN: SECRET } } }),
      ...(era !== undefined && { protocolVersion: era }),
      capabilities: more.views ? VIEWS : {},
      onMessage: (message) => received.push(message),
    });
    onTestFinished(async () => bridge.close());
    return { ...bridge, received };
  }
  const call = async (bridge: BridgeClient): Promise<Result> =>
    bridge.client.callTool({ name: 'run_python', arguments: { code: CODE, servers: ['echo'] } });

  it.each(ERAS)('one that shows views gets the page and the data (%s)', async (_name, era) => {
    const bridge = await connect(era, { views: true });
    const { tools } = await bridge.client.listTools();
    expect(tools.map(({ _meta }) => _meta?.['ui'])).toEqual([{ resourceUri: URI }]);

    const { contents } = await bridge.client.readResource({ uri: URI });
    const [page] = contents as unknown as ReadPage[];
    expect(page).toMatchObject({ uri: URI, mimeType: 'text/html;profile=mcp-app' });
    expect(page?.text).toMatch(/^<!doctype html>/);
    expect(page?._meta.ui.csp).toEqual(NOTHING);

    const view = (await call(bridge))._meta?.[KEY] as { code: string; duration_ms: number; calls: object[] };
    expect(view).toMatchObject({
      calls: [
        { server: 'echo', tool: 'echo', status: 'ok' },
        { server: 'echo', tool: 'fails', status: 'error', error_code: 'TOOL_FAILED' },
      ],
      calls_left_out: 0,
    });
    expect(view.code).toContain('print("before")');
    expect(JSON.stringify(view)).not.toContain(SECRET);
  });

  it.each(ERAS)('others get exactly what they get without the feature (%s)', async (_name, era) => {
    const usual = await connect(era, { views: false });
    const off = await connect(era, { views: false, env: { MCP_BRIDGE_APPS: 'off' } });
    for (const bridge of [usual, off]) {
      await bridge.client.listTools();
      await bridge.client.listResources();
      await call(bridge);
    }
    expect(usual.received.length).toBeGreaterThan(2);
    expect(usual.received.map((message) => JSON.stringify(message))).toEqual(
      off.received.map((message) => JSON.stringify(message)),
    );
    expect(JSON.stringify(usual.received)).not.toContain('ui://');
  });

  it('the model reads the same with a view and without', async () => {
    const [shown, plain] = [await connect(undefined, { views: true }), await connect(undefined, { views: false })];
    const [a, b] = [await call(shown), await call(plain)];
    const { _meta: view, ...rest } = a;
    expect(view).toHaveProperty([KEY]);
    expect(JSON.stringify(rest)).toBe(JSON.stringify(b));
  });

  it('with MCP_BRIDGE_APPS=off, nobody gets a view', async () => {
    const bridge = await connect(undefined, { views: true, env: { MCP_BRIDGE_APPS: 'off' } });
    expect((await bridge.client.listTools()).tools.map(({ _meta }) => _meta)).toEqual([undefined]);
    expect((await call(bridge))._meta).toBeUndefined();
    await expect(bridge.client.readResource({ uri: URI })).rejects.toThrow('There is no resource');
  });
});

const chromium = findChromium();
if (chromium === undefined) {
  it.skip('not covered: the view in a browser: no Chromium', () => undefined);
}

describe.runIf(chromium !== undefined)('the page', () => {
  const HTML = readFileSync(join(ROOT, 'dist/cell-view.html'), 'utf8');
  let browser: Browser;
  let host: ChatHost;
  beforeAll(async () => {
    [browser, host] = await Promise.all([startChromium(chromium ?? ''), startChatHost()]);
  });
  afterAll(async () => {
    await browser.close();
    await host.close();
  });

  interface OpenedView {
    readonly page: Page;
    readonly view: Frame;
    say(method: string, params: object): Promise<unknown>;
    /** Errors, and requests beyond the host and its sandbox. */
    readonly faults: string[];
  }

  async function open(
    context: object = { theme: 'light' },
    { csp = NOTHING, html = HTML, width = 700 }: { csp?: object | null; html?: string; width?: number } = {},
  ): Promise<OpenedView> {
    const browserContext = await browser.newContext({ viewport: { width, height: 900 } });
    onTestFinished(async () => browserContext.close());
    const page = await browserContext.newPage();
    const faults: string[] = [];
    page.on('pageerror', ({ message }) => faults.push(`exception: ${message}`));
    page.on('console', (message) => message.type() === 'error' && faults.push(`console: ${message.text()}`));
    const sandbox = host.sandboxFor(csp ?? undefined);
    const own = [host.address, new URL(sandbox).origin, 'data:', 'about:'];
    const isOwn = (url: string): boolean => own.some((start) => url.startsWith(start)) && !url.endsWith('/x');
    page.on('request', (request) => isOwn(request.url()) || faults.push(`request: ${request.url()}`));
    // Chromium asks for it by itself.
    await page.route('**/favicon.ico', (route) => route.fulfill({ status: 204 }));
    await page.goto(host.address);
    await page.evaluate((given) => (globalThis as unknown as HostPage).openView(given), { sandbox, html, context });
    const view = page.frames().find((frame) => frame.parentFrame()?.parentFrame() === page.mainFrame());
    if (view === undefined) {
      throw new Error('The view has no frame.');
    }
    const say = (method: string, params: object): Promise<unknown> =>
      page.evaluate(([name, more]) => (globalThis as unknown as HostPage).say(name, more), [method, params] as const);
    return { page, view, say, faults };
  }

  const heightOf = (page: Page): Promise<number> => page.evaluate('frameHeight()');
  const view = (more: object = {}): object => ({
    content: [
      { type: 'text', text: 'x' },
      { type: 'image', mimeType: 'image/png', data: PNG },
    ],
    structuredContent: {
      summary: 'Success',
      stdout: ['printed'],
      result: FRAME,
      timeoutSeconds: 30,
    },
    _meta: {
      [KEY]: {
        code: 'rows = await mcp_db.query(sql="select 1")\nrows',
        duration_ms: 1_500,
        calls: [
          { server: 'db', tool: 'query', start_ms: 10, duration_ms: 900, status: 'ok' },
          { server: 'db', tool: 'drop', start_ms: 950, duration_ms: 5, status: 'error', error_code: 'CALL_REFUSED' },
        ],
        calls_left_out: 3,
      },
    },
    ...more,
  });

  it.each([
    ['as the bridge declares', NOTHING],
    ['of a host that applies the default', null],
  ])('shows code, answer, table, picture and calls, under a policy %s', async (_name, csp) => {
    const { faults, page, say, view: frame } = await open(undefined, { csp });
    await say('sendToolInput', { arguments: { code: 'rows = 1' } });
    await frame.getByText('running').waitFor();
    expect(await frame.locator('.code').innerText()).toContain('rows = 1');
    const before = await heightOf(page);
    await say('sendToolResult', view());
    await frame.getByText('success').waitFor();
    expect(await frame.getByRole('row', { name: /Berlin/ }).innerText()).toMatch(/0\s+Berlin\s+3677472/);
    expect(
      await frame
        .getByRole('table', { name: /Calls of the cell/ })
        .getByRole('row')
        .count(),
    ).toBe(3);
    expect(await frame.getByText('3 calls more are not shown.').count()).toBe(1);
    expect(await frame.locator('.py-keyword').first().innerText()).toBe('await');
    expect(await frame.evaluate('document.querySelector("img").naturalWidth')).toBe(1);
    await expect.poll(() => heightOf(page)).toBeGreaterThan(before);
    await expect.poll(() => frame.evaluate('document.documentElement.scrollHeight <= innerHeight')).toBe(true);
    expect(faults).toEqual([]);
  });

  it('is as light or dark as its host, and changes with it', async () => {
    const { say, view: frame } = await open({ theme: 'dark' });
    const color = (): Promise<unknown> => frame.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(await color()).toBe('rgb(23, 28, 36)');
    await say('sendHostContextChange', { theme: 'light' });
    await expect.poll(color).toBe('rgb(255, 255, 255)');
    await say('sendHostContextChange', { styles: { variables: { '--color-background-primary': 'rgb(1, 2, 3)' } } });
    await expect.poll(color).toBe('rgb(1, 2, 3)');
  });

  it('says that the call was cancelled', async () => {
    const { faults, say, view: frame } = await open();
    await say('sendToolInput', { arguments: { code: 'while True: pass' } });
    await frame.getByText('running').waitFor();
    await say('sendToolCancelled', { reason: 'x' });
    await frame.getByText('cancelled').waitFor();
    expect(await frame.getByText('running').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('ends when its host ends it', async () => {
    const { faults, say } = await open();
    expect(await say('teardownResource', {})).toEqual({});
    expect(faults).toEqual([]);
  });

  it('shows hostile text, names and pictures as text, and loads nothing', async () => {
    const inserted = '<script>top.hacked = 1</script><img src="/x" onerror="top.hacked = 1">';
    const evil = `</script>${inserted} https://evil.example/x \u202egnp.exe`;
    const svg = btoa('<svg xmlns="http://www.w3.org/2000/svg" onload="top.hacked = 1"/>');
    const texts = ['status', 'summary', 'result', 'error', 'session', 'errorCode'].map((name) => [name, evil]);
    const { faults, page, say, view: frame } = await open();
    const call = { server: evil, tool: evil, start_ms: 1, duration_ms: 1, status: evil, error_code: evil };
    await say('sendToolInput', { arguments: { code: evil } });
    await say('sendToolResult', {
      isError: true,
      content: [
        { type: 'text', text: evil },
        { type: 'image', mimeType: 'image/svg+xml', data: svg },
        { type: 'image', mimeType: 'text/html', data: btoa(evil.slice(0, 20)) },
        { type: 'resource', resource: { uri: 'ui://x', mimeType: 'text/html', text: evil } },
        { type: 'resource_link', uri: 'https://evil.example/x', name: evil },
      ],
      structuredContent: { ...Object.fromEntries(texts), stdout: [evil], notices: [evil] },
      _meta: { [KEY]: { code: evil, duration_ms: 5, calls: [call], calls_left_out: 0 } },
    });
    await frame.getByText('Printed').waitFor();
    expect(await frame.locator('img, a, iframe, object, svg').count()).toBe(0);
    expect(await frame.locator('script').count()).toBe(1);
    expect(await frame.locator('.hidden-character').first().innerText()).toBe('<U+202E>');
    expect(await page.evaluate('typeof hacked')).toBe('undefined');
    expect(faults).toEqual([]);
  });

  it('a script that gets into the page does not run, although the policy of the host allows it', async () => {
    const inserted = '<img src="/x" onerror="top.hacked = 1"><script>top.hacked = 1</script>';
    const html = HTML.replace('<div id="app">', `${inserted}<div id="app">`);
    const { faults, page, say, view: frame } = await open(undefined, { html });
    await say('sendToolResult', view());
    await frame.getByText('success').waitFor();
    expect(await page.evaluate('typeof hacked')).toBe('undefined');
    expect(faults.join('\n')).toContain('Content Security Policy');
  });

  it.each(['light', 'dark'] as const)('axe finds nothing: %s', async (theme) => {
    const { say, view: frame } = await open({ theme });
    await say('sendToolResult', view({ isError: true }));
    await frame.getByText('error').first().waitFor();
    await frame.evaluate(axe.source);
    const { violations } = await frame.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
      "axe.run(document, { resultTypes: ['violations'] })",
    );
    expect(violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))).toEqual([]);
  });

  it.each([320, 1_000])('nothing is wider than the window at %d px', async (width) => {
    const { say, view: frame } = await open(undefined, { width });
    await say('sendToolResult', view());
    await frame.getByText('success').waitFor();
    expect(await frame.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  it.each(engines)('shows what the bridge answers on $label', async (engine) => {
    const servers = () => ({ echo: fixtureServer('echo.mjs') });
    const bridge = await startBridge({ engine, servers, capabilities: VIEWS });
    onTestFinished(async () => bridge.close());
    const { contents } = await bridge.client.readResource({ uri: URI });
    const [read] = contents as unknown as ReadPage[];
    const given = { code: CODE, servers: ['echo'] };
    const result = await bridge.client.callTool({ name: 'run_python', arguments: given });
    const {
      faults,
      say,
      view: frame,
    } = await open(undefined, { csp: read?._meta.ui.csp ?? null, html: read?.text ?? '' });
    await say('sendToolInput', { arguments: given });
    await say('sendToolResult', result);
    await frame.getByText('success').waitFor();
    expect(await frame.getByRole('table', { name: /Calls of the cell, 2 calls/ }).count()).toBe(1);
    expect(await frame.locator('main').innerText()).toContain('before');
    expect(faults).toEqual([]);
  });
});
