// Tags: full, user-release
/** Servers from npm that people use over HTTP, on loopback. server-everything is in remote.test.ts. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startHttp, startNpmServer } from '../../support/http-servers.ts';
import { callText, startPool } from '../../support/upstream.ts';

/** A browser installed on the machine; Playwright's own is not downloaded. */
const chromium = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  .flatMap((name) => (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, name)))
  .find(isProgram);

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function startPlaywright(browser: string): Promise<string> {
  const words = ['--headless', '--isolated', '--no-sandbox', '--executable-path', browser];
  return startNpmServer('@playwright/mcp', (port) => ['--port', String(port), ...words]);
}

describe('playwright', () => {
  it.each(['mcp', 'sse'])(
    'without a browser at /%s: lists its tools, and a call reports what is missing',
    async (path) => {
      const origin = await startPlaywright('/nonexistent/chromium');
      const pool = startPool({ playwright: { url: `${origin}/${path}` } });
      const { tools, info } = await pool.describe('playwright');
      expect(info).toMatchObject({ protocolVersion: '2025-11-25', serverName: 'Playwright' });
      expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['browser_navigate', 'browser_snapshot']));
      const navigate = { server: 'playwright', tool: 'browser_navigate', arguments: { url: 'about:blank' } };
      const failed = await pool.callTool(navigate);
      expect(failed).toMatchObject({ isError: true });
      expect(JSON.stringify(failed)).toContain('/nonexistent/chromium');
      // A failed call must not break the connection.
      expect(await pool.callTool(navigate)).toMatchObject({ isError: true });
    },
  );

  it.skipIf(chromium === undefined)(
    `${chromium === undefined ? 'not covered: no chromium for playwright: ' : ''}drives a browser at /mcp and /sse`,
    async () => {
      const page = await startHttp((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Shop</title><button>Buy</button>');
      });
      const origin = await startPlaywright(chromium ?? '');
      const pool = startPool({ mcp: { url: `${origin}/mcp` }, sse: { url: `${origin}/sse`, transport: 'sse' } });
      for (const server of ['mcp', 'sse']) {
        expect(await callText(pool, server, 'browser_navigate', { url: page.origin })).toContain('Page Title: Shop');
        expect(await callText(pool, server, 'browser_snapshot')).toContain('button "Buy"');
      }
    },
  );
});

it('context7 lists its tools, and reports in a result that it has no network', async () => {
  // An address without a listener: the call must fail in the same way with and without a network.
  const env = { HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '', OTEL_SDK_DISABLED: 'true' };
  const origin = await startNpmServer(
    '@upstash/context7-mcp',
    (port) => ['--transport', 'http', '--port', String(port)],
    env,
  );
  const pool = startPool({ context7: { url: `${origin}/mcp` } });
  const { tools, info } = await pool.describe('context7');
  expect(info).toMatchObject({ protocolVersion: '2026-07-28', serverName: 'Context7' });
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['resolve-library-id', 'query-docs']));
  const wanted = { libraryName: 'zod', query: 'parse an object' };
  expect(await callText(pool, 'context7', 'resolve-library-id', wanted)).toMatch(/error|fail/i);
});
