// Tags: user-release
import { describe, expect, it } from 'vitest';
import { stringifyExact } from '../../../src/core/protocol/exact-json.ts';
import { startEverything, startHttp, startMini, startModern, textResult } from '../../support/http-servers.ts';
import { callText, failureOf, startPool, until } from '../../support/upstream.ts';

describe('real servers', () => {
  it.each([
    ['streamableHttp', '2025-11-25'],
    ['sse', '2025-11-25'],
  ] as const)('server-everything over %s: tools, calls, progress, resources, prompts', async (mode, version) => {
    const pool = startPool({ everything: { url: await startEverything(mode) } });
    const { info, tools } = await pool.describe('everything');
    expect(info).toMatchObject({ protocolVersion: version, serverName: 'mcp-servers/everything', pid: undefined });
    expect(tools.length).toBeGreaterThan(10);
    expect(await callText(pool, 'everything', 'echo', { message: 'hello' })).toBe('Echo: hello');
    const progress: number[] = [];
    await pool.callTool({
      server: 'everything',
      tool: 'trigger-long-running-operation',
      arguments: { duration: 0.2, steps: 2 },
      onProgress: (report) => progress.push(report.progress),
    });
    expect(progress).toEqual([1, 2]);
    const prompts = await pool.surface({ server: 'everything', method: 'prompts/list', params: {} });
    expect('items' in prompts && prompts.items.length).toBeGreaterThan(1);
    expect(
      await Promise.all(Array.from({ length: 50 }, () => callText(pool, 'everything', 'echo', { message: 'x' }))),
    ).toHaveLength(50);
    await pool.close();
  });

  it('a server of 2026-07-28: no session, headers that repeat the message, cancellation by closing the stream', async () => {
    const server = await startModern();
    const pool = startPool({ modern: { url: server.url, headers: { 'X-Key': 'k-1' } } });
    const { info } = await pool.describe('modern');
    expect(info).toMatchObject({ protocolVersion: '2026-07-28', serverName: 'modern' });
    expect(await callText(pool, 'modern', 'echo', { text: 'ä' })).toBe('ä');
    expect(JSON.parse(await callText(pool, 'modern', 'headers'))).toMatchObject({
      'x-key': 'k-1',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'headers',
    });
    const abort = new AbortController();
    const waiting = failureOf(pool.callTool({ server: 'modern', tool: 'wait', arguments: {}, signal: abort.signal }));
    await until(() => server.requests.length >= 6);
    abort.abort();
    expect(await waiting).toMatchObject({ code: 'CALL_CANCELLED' });
    await until(() => server.cancelled.length > 0);
    await pool.close();
    await server.untilUnused();
  });

  it('changed tools of a server of 2026-07-28 are noticed', async () => {
    const server = await startModern();
    let changes = 0;
    const pool = startPool({ modern: { url: server.url } }, { onToolsChanged: () => (changes += 1) });
    expect((await pool.describe('modern')).tools).toHaveLength(3);
    await until(() => server.requests.length >= 3);
    await fetch(`${server.origin}/add-tool`);
    await until(() => changes > 0);
    expect((await pool.describe('modern')).tools.map(({ name }) => name)).toContain('added');
  });
});

describe('connections', () => {
  it('keep numbers exact and send the headers of the entry with each request', async () => {
    const seen: unknown[] = [];
    const server = await startMini({
      before: ({ request }) => {
        seen.push(request.headers['authorization']);
        return false;
      },
      onCall: ({ message, response }) => {
        response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(`data: {"jsonrpc":"2.0",\ndata: "id":${String(message['id'])},"result":{"n":9007199254740993}}\n\n`);
      },
    });
    const pool = startPool({ mini: { url: server.url, headers: { Authorization: 'Bearer token-1' } } });
    const result = await pool.callTool({ server: 'mini', tool: 'act', arguments: {} });
    expect(stringifyExact(result)).toBe('{"n":9007199254740993}');
    expect(new Set(seen)).toEqual(new Set(['Bearer token-1']));
  });

  it('open a new session if the server forgot the old one, and repeat the call', async () => {
    const sessions = new Set<string>();
    const server = await startMini({ sessions });
    const pool = startPool({ mini: { url: server.url } });
    await callText(pool, 'mini', 'act');
    sessions.clear();
    expect(await callText(pool, 'mini', 'act')).toBe('done');
    expect(sessions.size).toBe(1);
  });

  it('end the session at the server, and leave no socket open', async () => {
    const sessions = new Set<string>();
    const server = await startMini({ sessions });
    const pool = startPool({ mini: { url: server.url } });
    await callText(pool, 'mini', 'act');
    expect(sessions.size).toBe(1);
    await pool.close();
    expect(sessions.size).toBe(0);
    await until(() => server.requests.includes('DELETE /mcp'));
    await server.untilUnused();
  });

  it('resume an interrupted answer if the server supports it', async () => {
    const server = await startMini({
      before({ request, response }) {
        const isResumed = request.method === 'GET' && request.headers['last-event-id'] === 'e-1';
        if (isResumed) {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: called, result: textResult('late') })}\n\n`);
        }
        return isResumed;
      },
      onCall({ message, response }) {
        called = message['id'];
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: e-1\nretry: 0\ndata:\n\n');
      },
    });
    let called: unknown;
    const pool = startPool({ mini: { url: server.url } });
    expect(await callText(pool, 'mini', 'act')).toBe('late');
  });

  it('to a server that is down fail only its own calls, and work again once it is back', async () => {
    const up = await startMini();
    const down = await startMini();
    const pool = startPool({ up: { url: up.url }, down: { url: down.url } });
    await callText(pool, 'down', 'act');
    await down.stop();
    expect(await failureOf(callText(pool, 'down', 'act'))).toMatchObject({
      code: 'SERVER_UNREACHABLE',
      message: expect.stringContaining("server 'down' could not be reached: "),
    });
    expect(await callText(pool, 'up', 'act')).toBe('done');
    await startMini({ port: down.port });
    expect(await callText(pool, 'down', 'act')).toBe('done');
  });

  it('notify a server before 2026-07-28 of a cancelled call', async () => {
    const cancelled: unknown[] = [];
    const server = await startMini({
      before({ message }) {
        cancelled.push(...(message['method'] === 'notifications/cancelled' ? [message['params']] : []));
        return false;
      },
      onCall: () => undefined,
    });
    const pool = startPool({ mini: { url: server.url } });
    const failed = failureOf(pool.callTool({ server: 'mini', tool: 'act', arguments: {}, timeoutMs: 300 }));
    expect(await failed).toMatchObject({ code: 'CALL_TIMEOUT' });
    await until(() => cancelled.length === 1);
    await until(() => server.requests.length > 0);
  });

  it('follow a redirect within the server, with headers', async () => {
    const mini = await startMini({
      before: ({ request, response }) => {
        const isOld = request.url === '/old';
        if (isOld) {
          response.writeHead(308, { location: '/mcp' }).end();
        }
        return isOld;
      },
      onCall: ({ request, reply }) => reply(textResult(String(request.headers['x-key']))),
    });
    const pool = startPool({ mini: { url: `${mini.origin}/old`, headers: { 'X-Key': 'k' } } });
    expect(await callText(pool, 'mini', 'act')).toBe('k');
  });

  it('report an address without a listener', async () => {
    const server = await startHttp(() => undefined);
    await server.stop();
    const pool = startPool({ gone: { url: `${server.origin}/mcp` } });
    expect(await failureOf(pool.describe('gone'))).toMatchObject({
      code: 'SERVER_UNREACHABLE',
      hint: expect.stringContaining('"url" of \'gone\' in /home/me/MCPs/test.json'),
    });
  });
});
