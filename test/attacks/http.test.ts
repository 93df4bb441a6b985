// Tags: anywhere, full
/** Attacks on the HTTP front: from pages, from strangers, and from one principal on another. No engine is needed. */
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it, vi } from 'vitest';
import type { CellAnswer, CellRequest } from '../../src/core/base/cell.ts';
import { NO_OUTPUT } from '../../src/core/base/cell.ts';
import { createDeferred } from '../../src/core/base/deferred.ts';
import { amount } from '../support/attacks.ts';
import { INITIALIZE, modern, runPython, type SentRequest, startFront } from '../support/http-front.ts';
import { PATIENCE } from '../support/patience.ts';
import { pause } from '../support/pause.ts';

/** After this time, a token has expired that was good for a first request. */
const EXPIRES_MS = 2_000 * PATIENCE;

/** A front that says which cells ran, and for whom. */
async function startRecording(options: Parameters<typeof startFront>[0] = {}) {
  const ran: string[] = [];
  const front = await startFront({
    ...options,
    runCell: async (request, principal) => {
      ran.push(`${principal ?? 'anyone'}: ${request.code}`);
      return (await options.runCell?.(request, principal)) ?? {};
    },
  });
  return { front, ran };
}

function refusals(front: Awaited<ReturnType<typeof startFront>>, reason: string): number {
  const line = front.metrics
    .render([])
    .split('\n')
    .find((one) => one.startsWith(`mcp_bridge_http_refusals_total{reason="${reason}"}`));
  return Number(line?.split(' ')[1] ?? 0);
}

describe('a page in the browser of the user', () => {
  it('that lets its name point to this machine gets nothing (DNS rebinding)', async () => {
    const { front, ran } = await startRecording();
    for (const host of ['evil.example', `evil.example:${front.port}`, 'localhost.evil.example', '127.0.0.1.nip.io']) {
      const { status, message } = await front.send({
        ...runPython('steal()'),
        headers: { ...runPython('').headers, Host: host },
      });
      expect([host, status]).toEqual([host, 421]);
      expect(JSON.stringify(message)).toContain('--allow-host');
    }
    expect([ran, refusals(front, 'host')]).toEqual([[], 4]);
  });

  it('of another origin gets nothing, not even from this machine', async () => {
    const { front, ran } = await startRecording();
    for (const origin of [
      'https://evil.example',
      'http://localhost:3000',
      'null',
      `http://127.0.0.1:${front.port}.evil.example`,
    ]) {
      const { headers, body } = runPython('steal()');
      const { status, headers: received } = await front.send({ body, headers: { ...headers, Origin: origin } });
      expect([origin, status, received['access-control-allow-origin']]).toEqual([origin, 403, undefined]);
    }
    const preflight = await front.send({ method: 'OPTIONS', headers: { Origin: 'https://evil.example' } });
    expect(preflight.status).toBe(403);
    expect(ran).toEqual([]);
  });

  it('cannot send a form, which needs no permission', async () => {
    const { front, ran } = await startRecording();
    const { headers, body } = runPython('steal()');
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      expect((await front.send({ body, headers: { ...headers, 'Content-Type': type } })).status).toBe(415);
    }
    expect(ran).toEqual([]);
  });
});

describe('a stranger', () => {
  it('without a valid token gets nothing, whatever is sent', async () => {
    const { front, ran } = await startRecording();
    const token = await front.add('alice');
    const { headers, body } = runPython('steal()');
    const wrong = [
      {},
      { Authorization: `Bearer ${token.slice(0, -1)}` },
      { Authorization: `Basic ${Buffer.from(`alice:${token}`).toString('base64')}` },
      { Authorization: 'Bearer alice' },
      { Authorization: '', 'X-Forwarded-User': 'alice', 'X-Forwarded-For': '127.0.0.1', 'X-Original-URL': '/healthz' },
    ];
    for (const more of wrong) {
      const { status, headers: received } = await front.send({ body, headers: { ...headers, ...more } });
      expect([status, received['www-authenticate']]).toEqual([401, expect.stringMatching(/^Bearer/)]);
    }
    for (const path of [`/mcp?access_token=${token}`, '/metrics', '/mcp/../mcp', '//mcp', 'http://evil.example/mcp']) {
      expect((await front.send({ method: 'GET', path })).status).toBe(401);
    }
    expect((await front.send({ ...runPython('mine()'), token })).status).toBe(200);
    expect(ran).toEqual(['alice: mine()']);
  });

  it('learns nothing from a path or a method that does not exist', async () => {
    const { front } = await startRecording();
    const token = await front.add('alice');
    expect((await front.send({ method: 'GET', path: '/nothing' })).status).toBe(401);
    expect((await front.send({ method: 'GET', path: '/nothing', token })).status).toBe(404);
    expect((await front.send({ method: 'PUT', token })).status).toBe(405);
    expect((await front.send({ method: 'GET', path: '/healthz' })).text).toBe('ok\n');
  });

  it('is refused before a body is read', async () => {
    const { front } = await startRecording();
    await front.add('alice');
    const { socket, closed } = await front.open();
    socket.write(
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n{',
    );
    expect(await closed).toMatch(/^HTTP\/1\.1 401 /);
  });

  it('sees why it is refused, even if its body comes late', async () => {
    const { front } = await startRecording();
    await front.add('alice');
    const { socket, closed } = await front.open();
    socket.write(
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n',
    );
    await once(socket, 'data');
    // The connection lives on: the rest of the body is dropped, and the next request is answered.
    socket.write('{}GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    expect((await closed).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 200']);
  });

  it('cannot smuggle a request past a proxy with contradicting headers', async () => {
    const { front, ran } = await startRecording();
    const token = await front.add('alice');
    const body = JSON.stringify(runPython('smuggled()').body);
    const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
    const own = `Authorization: Bearer ${token}\r\n`;
    const smuggled = `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    const attempts = [
      // Two lengths, a length and chunks, chunks in a way that only some understand, two hosts, two tokens, a folded header.
      `${head}${own}Content-Length: ${body.length}\r\nContent-Length: 0\r\n\r\n${body}`,
      `${head}${own}Content-Length: ${smuggled.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
      `${head}${own}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`,
      `${head}${own}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${smuggled}`,
      `${head}Host: evil.example\r\n${own}Content-Length: ${body.length}\r\n\r\n${body}`,
      `${head}Authorization: Bearer x\r\n${own}Content-Length: ${body.length}\r\n\r\n${body}`,
      `${head}${own}X-Folded: a\r\n Content-Length: 3\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      // What follows a complete request is another request, without a token.
      `${head}${own}Content-Length: 2\r\n\r\n{}${smuggled}`,
    ];
    for (const attempt of attempts) {
      const { socket, closed } = await front.open();
      socket.end(attempt);
      const received = await closed;
      // Or the connection is closed without a word.
      expect(
        received === '' ||
          / (400|401|501) /.test(received.split('\r\n').findLast((line) => line.startsWith('HTTP/1.1 ')) ?? ''),
      ).toBe(true);
      expect(received).not.toContain('HTTP/1.1 200');
    }
    expect(ran).toEqual([]);
  });

  it('that sends its head or body slowly is cut off, and others are served meanwhile', async () => {
    const { front } = await startRecording({ limits: { headersTimeoutMs: 300, requestTimeoutMs: 600 } });
    const token = await front.add('alice');
    // In the long form there are more of them than one principal may send in a second.
    const other = await front.add('mallory');
    const count = amount(20, 500);
    const slow = await Promise.all(Array.from({ length: count }, () => front.open()));
    slow.forEach(({ socket }, index) => {
      if (index % 5 === 0) {
        // Not a byte.
        return;
      }
      socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\n');
      if (index % 2 === 0) {
        const rest = `Authorization: Bearer ${other}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`;
        socket.write(rest);
      } else {
        // A byte now and then does not help.
        const timer = setInterval(() => socket.write('X'), 50).unref();
        socket.once('close', () => clearInterval(timer));
      }
    });
    expect((await front.send({ ...runPython('mine()'), token })).status).toBe(200);
    const ends = await Promise.all(slow.map(({ closed }) => closed));
    expect(ends.filter((text) => !/^HTTP\/1\.1 4(08|00|29) /.test(text) && text !== '')).toEqual([]);
    expect((await front.send({ ...runPython('mine()'), token })).status).toBe(200);
  });

  it('cannot write into the log', async () => {
    const { front } = await startRecording();
    const csi = Buffer.from([0x9b]).toString('latin1');
    const { socket, closed } = await front.open();
    socket.end(
      Buffer.from(`GET /mcp HTTP/1.1\r\nHost: evil${csi}2J\u2028.example\r\nConnection: close\r\n\r\n`, 'latin1'),
    );
    expect(await closed).toMatch(/^HTTP\/1\.1 4/);
    await front.send({ body: '{"jsonrpc":"2.0","id":1,"method":"x\\r\\n2026-01-01T00:00:00.000Z ERROR forged"}' });
    await front.send(modern('x\r\nforged', {}, { 'Mcp-Method': 'x' }));
    expect(front.log.length).toBeGreaterThan(0);
    expect(front.log.filter((line) => !/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*\n$/.test(line))).toEqual([]);
    expect(front.log.join('')).not.toMatch(/^\S+ ERROR forged/m);
  });

  it('fills the log with one line for each kind of refusal, however many there are', async () => {
    const { front } = await startRecording();
    await front.add('alice');
    for (let sent = 0; sent < amount(50, 1_000); sent += 1) {
      await front.send({ body: {}, token: `mcpb_${'A'.repeat(43)}` });
    }
    expect(front.log.filter((line) => line.includes(' WARNING '))).toHaveLength(1);
    expect(refusals(front, 'token')).toBe(amount(50, 1_000));
  });
});

describe('a stolen token', () => {
  it.each(['removed', 'expired'])('that is %s is of no use, not even for what is open', async (how) => {
    const held = createDeferred<Partial<CellAnswer>>();
    const stopped: unknown[] = [];
    const { front } = await startRecording({
      limits: { recheckMs: 50 },
      async runCell({ code, signal }) {
        signal?.addEventListener('abort', () => {
          stopped.push(code);
          held.resolve({});
        });
        return code === 'endless()' ? held.promise : {};
      },
    });
    const soon = new Date(Date.now() + EXPIRES_MS).toISOString();
    const token = await front.tokens.add('alice', how === 'expired' ? { expires_at: soon } : {});
    const bob = await front.add('bob');
    const open = front.send({ ...runPython('endless()'), token }).catch(String);
    const isOpen = async (): Promise<boolean> =>
      (await front.send({ method: 'GET', path: '/metrics', token: bob })).text.includes('http_open_requests 1\n');
    await expect.poll(isOpen).toBe(true);
    if (how === 'removed') {
      await front.tokens.remove(['alice']);
    }
    await expect.poll(() => stopped, { timeout: 10_000 * PATIENCE }).toEqual(['endless()']);
    await open;
    for (const path of ['/mcp', '/metrics', '/mcp/p/any']) {
      const { headers, status } = await front.send({ ...runPython('steal()'), path, token });
      expect([path, status, headers['www-authenticate']]).toEqual([path, 401, expect.stringMatching(/invalid_token/)]);
    }
    expect((await front.send({ ...runPython('mine()'), token: bob })).status).toBe(200);
  });

  it('that was replaced does not open what the new one has', async () => {
    const { front, ran } = await startRecording();
    const stolen = await front.add('alice');
    const id = String((await front.send({ ...INITIALIZE, token: stolen })).headers['mcp-session-id']);
    await front.tokens.remove(['alice']);
    const token = await front.add('alice');
    const list = { body: { jsonrpc: '2.0', id: 2, method: 'tools/list' }, headers: { 'Mcp-Session-Id': id } };
    expect((await front.send({ ...list, token: stolen })).status).toBe(401);
    // What was begun with the stolen one is not continued either.
    expect((await front.send({ ...list, token })).status).toBe(404);
    expect((await front.send({ ...runPython('mine()'), token })).status).toBe(200);
    expect(ran).toEqual(['alice: mine()']);
  });
});

describe('a body', () => {
  it('that is too large, too deep or no JSON is refused', async () => {
    const { front, ran } = await startRecording({ limits: { maxBodyBytes: 10_000 } });
    const long = JSON.stringify(runPython('x'.repeat(20_000)).body);
    expect((await front.send({ ...runPython(''), body: long })).status).toBe(413);
    const chunked = { 'Transfer-Encoding': 'chunked' };
    const { headers } = runPython('');
    expect((await front.send({ body: long, headers: { ...headers, ...chunked } })).status).toBe(413);
    expect((await front.send({ body: '['.repeat(5_000) + ']'.repeat(5_000) })).message).toMatchObject({
      error: { code: -32_600 },
    });
    for (const body of ['', '{', '\u0000', 'undefined']) {
      expect((await front.send({ body })).message).toMatchObject({ error: { code: -32_700 } });
    }
    expect((await front.send({ body: '{}', headers: { 'Content-Encoding': 'gzip' } })).status).toBe(415);
    expect(ran).toEqual([]);
  });

  // Each client that is connected keeps what `initialize` says of it: 64 of 4 MiB took 530 MiB, for an hour.
  it('that initializes with megabytes about the client is refused', async () => {
    const { front } = await startRecording();
    const { params } = INITIALIZE.body;
    const withTitle = (title: string) => ({
      body: { ...INITIALIZE.body, params: { ...params, clientInfo: { ...params.clientInfo, title } } },
    });
    const { message, status } = await front.send(withTitle('x'.repeat(300_000)));
    expect([status, message]).toEqual([
      413,
      expect.objectContaining({
        error: expect.objectContaining({ message: expect.stringContaining('262,144 bytes') }),
      }),
    ]);
    expect((await front.send(withTitle('x'.repeat(200_000)))).status).toBe(200);
  });

  // Open requests were counted, and not their bodies: 62 cells with 4 MiB each took 700 MiB.
  it('counts until its request is answered, also that of a client that is gone', async () => {
    const ends = new Map(['first', 'second'].map((code) => [code, createDeferred<Partial<CellAnswer>>()]));
    const begun: string[] = [];
    const front = await startFront({
      limits: { maxOpenBodyBytes: 200_000 },
      runCell: async ({ code }) => {
        begun.push(code);
        return (await ends.get(code)?.promise) ?? {};
      },
    });
    const [token, other] = [await front.add('alice'), await front.add('bob')];
    const call = (code: string) => runPython(code, { padding: 'x'.repeat(60_000) });
    const statusOf = async (sent: SentRequest) => (await front.send({ token, ...sent })).status;
    const first = statusOf(call('first'));
    await vi.waitFor(() => expect(begun).toEqual(['first']));
    expect(await statusOf(call('more'))).toBe(429);
    expect(await statusOf({ ...call('more'), token: other })).toBe(200);
    ends.get('first')?.resolve({});
    expect(await first).toBe(200);
    expect(await statusOf(call('more'))).toBe(200);

    // Until 2025-11-25, a cell goes on without its client.
    const opened = await front.send({ ...INITIALIZE, token });
    const params = { name: 'run_python', arguments: { code: 'second' }, _meta: { padding: 'x'.repeat(60_000) } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const { socket } = await front.open();
    socket.write(
      [
        `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${front.port}\r\nAuthorization: Bearer ${token}`,
        `Accept: application/json, text/event-stream\r\nContent-Type: application/json`,
        `Mcp-Session-Id: ${String(opened.headers['mcp-session-id'])}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      ].join('\r\n'),
    );
    await vi.waitFor(() => expect(begun).toContain('second'));
    socket.destroy();
    await pause(200, 'until the front has noticed');
    expect(await statusOf(call('more'))).toBe(429);
    ends.get('second')?.resolve({});
    await vi.waitFor(async () => expect(await statusOf(call('more'))).toBe(200));
  });

  // The SDK copies keys that it does not know. 4 MiB of them held everything up for 3 s, and twenty bodies for a minute.
  it.each([1_900, 100_000])('with %i short keys, in any place, holds nothing up', async (count) => {
    const { front } = await startRecording();
    const keys = Object.fromEntries(Array.from({ length: count }, (_, index) => [index.toString(36), 1]));
    const base = runPython('1').body as { params: { arguments: object } };
    const bodies = [
      { ...base, ...keys },
      { ...base, params: { ...base.params, ...keys } },
      { ...base, params: { ...base.params, _meta: keys } },
      { ...base, params: { ...base.params, arguments: { ...base.params.arguments, ...keys } } },
      { ...base, method: 'initialize', params: { ...INITIALIZE.body.params, capabilities: keys } },
      keys,
    ].map((body) => JSON.stringify(body));
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    const { headers = {} } = runPython('1');
    const answers = await Promise.all([...bodies, ...bodies, ...bodies].map((body) => front.send({ body, headers })));
    delay.disable();
    expect(delay.max / 1e6).toBeLessThan(1_000 * PATIENCE);
    if (count > 2_000) {
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([400]));
      expect(answers[0]?.text).toContain('more than 2,000 different keys');
    }
  });

  it('without an end costs no more than the limit', async () => {
    const { front } = await startRecording();
    const { socket, closed } = await front.open();
    socket.write(
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
    let sent = 0;
    while (!socket.destroyed && sent < 64 * 1024 * 1024) {
      sent += 65_536;
      if (!socket.write(chunk)) {
        await Promise.race([once(socket, 'drain').catch(() => undefined), closed]);
      }
    }
    // Who still sends when the connection ends may lose the answer.
    expect(await closed).toMatch(/^(HTTP\/1\.1 413 |$)/);
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });
});

describe('a refusal', () => {
  it('has a code and a hint, and says when to try again if that helps', async () => {
    const { front } = await startRecording({ limits: { maxRequestsPerSecond: 1, maxBodyBytes: 1_000 } });
    const token = await front.add('alice');
    const refused = [
      await front.send({ method: 'GET', headers: { Host: 'evil.example' } }),
      await front.send({ method: 'GET', headers: { Origin: 'https://evil.example' } }),
      await front.send({ method: 'GET' }),
      await front.send({ method: 'GET', path: '/nothing', token }),
      await front.send({ method: 'PUT', token }),
      await front.send({ method: 'GET', token }),
      await front.send({ body: 'x'.repeat(2_000), token }),
      await front.send({ body: '{', token }),
      await front.send({ body: '{}', token, headers: { 'Content-Type': 'text/plain' } }),
      await front.send({ ...runPython('1'), token }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([421, 403, 401, 404, 405, 400, 413, 400, 415, 429]);
    for (const { status, headers, message } of refused) {
      const code = status === 429 ? 'HTTP_BUSY' : 'HTTP_REFUSED';
      const text = expect.stringMatching(new RegExp(`^${code}: .+\\.\nHint: .+\\.$`));
      expect(message['error']).toMatchObject({ message: text, data: { code, hint: expect.any(String) } });
      expect(headers['retry-after'] !== undefined).toBe(code === 'HTTP_BUSY');
    }
  });
});

describe('a request that the SDK could not read', () => {
  const post = (body: unknown) => ({ body, headers: { Accept: 'application/json, text/event-stream' } });

  it('is answered by its id', async () => {
    const { front } = await startRecording();
    const token = await front.add('alice');
    const sent = { jsonrpc: '2.0', id: 'q', method: 'tools/list', params: [] };
    const one = await front.send({ ...post(sent), token });
    expect([one.status, one.message]).toMatchObject([
      400,
      { id: 'q', error: { code: -32_600, message: expect.stringContaining('"params" must be an object') } },
    ]);
    const { status, message } = await front.send({ ...post([{ jsonrpc: '2.0', id: 1, method: 'ping' }, sent]), token });
    expect([status, message]).toMatchObject([400, { id: 'q', error: { message: expect.stringContaining('batch') } }]);
  });

  it('is answered if it only writes null for what it leaves out', async () => {
    const { front } = await startRecording();
    const token = await front.add('alice');
    const clientInfo = { name: 'test', version: '1' };
    const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo, _meta: null };
    const opened = await front.send({ ...post({ jsonrpc: '2.0', id: 1, method: 'initialize', params }), token });
    expect(opened.message).toMatchObject({ id: 1, result: { protocolVersion: '2025-03-26' } });
    const session = { 'Mcp-Session-Id': String(opened.headers['mcp-session-id']) };
    const ping = post({ jsonrpc: '2.0', id: 2, method: 'ping', params: null });
    const answered = await front.send({ body: ping.body, headers: { ...ping.headers, ...session }, token });
    expect(answered.message).toMatchObject({ id: 2, result: {} });
  });
});

describe('many at once', () => {
  it('the requests per second of one principal are limited, and another one is served', async () => {
    const { front, ran } = await startRecording({ limits: { maxRequestsPerSecond: 2 } });
    const [alice, bob] = [await front.add('alice'), await front.add('bob')];
    const sent = await Promise.all(
      Array.from({ length: 40 }, () => front.send({ ...runPython('often()'), token: alice })),
    );
    const limited = sent.filter(({ status }) => status === 429);
    expect(limited.length).toBeGreaterThan(20);
    expect(limited.every(({ headers }) => headers['retry-after'] === '1')).toBe(true);
    expect(refusals(front, 'rate')).toBe(limited.length);
    expect((await front.send({ ...runPython('mine()'), token: bob })).status).toBe(200);
    expect(ran).toContain('bob: mine()');
  });

  it('the requests of one principal are limited, and another one is served', async () => {
    const held = createDeferred<Partial<CellAnswer>>();
    const { front } = await startRecording({
      limits: { maxOpenRequests: 8 },
      runCell: async ({ code }) => (code === 'wait()' ? held.promise : {}),
    });
    const [alice, bob] = [await front.add('alice'), await front.add('bob')];
    const waiting = Array.from({ length: 40 }, () => front.send({ ...runPython('wait()'), token: alice }));
    const refused = await Promise.race([Promise.all(waiting), settledWith(waiting, 429, 32)]);
    expect(refused).toBe(32);
    expect((await front.send({ ...runPython('quick()'), token: bob })).status).toBe(200);
    held.resolve({});
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(8);
    expect((await front.send({ ...runPython('quick()'), token: alice })).status).toBe(200);
  });

  // Requests behind the first on a connection stayed open forever when it closed, and took the place of others.
  it('thousands of streams of one principal leave the others what they need', async () => {
    const held = createDeferred<Partial<CellAnswer>>();
    const { front, ran } = await startRecording({
      limits: { maxRequestsPerSecond: 0 },
      runCell: async ({ code }) => (code === 'wait()' ? held.promise : {}),
    });
    const [alice, bob] = [await front.add('alice'), await front.add('bob')];
    const { headers = {}, body } = runPython('wait()');
    const sent = JSON.stringify(body);
    const head = Object.entries({ ...headers, Authorization: `Bearer ${alice}` }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    const request =
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n` +
      `${head.join('')}Content-Length: ${sent.length}\r\n\r\n${sent}`;
    const before = process.memoryUsage().rss;
    // On each connection many, of which the first may wait and the others wait for it.
    const sockets = await Promise.all(Array.from({ length: 100 }, () => front.open()));
    const each = amount(10, 100);
    for (const { socket } of sockets) {
      socket.write(request.repeat(each));
    }
    const streams = async (): Promise<number> => {
      const { text } = await front.send({ method: 'GET', path: '/metrics', token: bob });
      return Number(/http_open_requests (\d+)/.exec(text)?.[1]);
    };
    await expect.poll(streams, { timeout: 30_000 * PATIENCE }).toBe(64);
    expect((await front.send({ ...runPython('mine()'), token: bob })).status).toBe(200);
    expect(ran.filter((cell) => cell.startsWith('alice'))).toHaveLength(64);
    expect((process.memoryUsage().rss - before) / 1_000_000).toBeLessThan(300);
    sockets.forEach(({ socket }) => socket.destroy());
    held.resolve({});
    await expect.poll(streams, { timeout: 30_000 * PATIENCE }).toBe(0);
    expect((await front.send({ ...runPython('quick()'), token: alice })).status).toBe(200);
  });

  it('clients of older versions are limited for each principal: an unused one makes room', async () => {
    const { front } = await startRecording({ limits: { maxMcpSessions: 3 } });
    const [alice, bob] = [await front.add('alice'), await front.add('bob')];
    const first = await front.send({ ...INITIALIZE, token: bob });
    const ids: string[] = [];
    for (let number = 0; number < 10; number += 1) {
      const { status, headers } = await front.send({ ...INITIALIZE, token: alice });
      expect(status).toBe(200);
      ids.push(String(headers['mcp-session-id']));
    }
    const list = { body: { jsonrpc: '2.0', id: 2, method: 'tools/list' } };
    const used = async (id: string, token: string) =>
      (await front.send({ ...list, token, headers: { 'Mcp-Session-Id': id } })).status;
    expect(await used(ids[0] ?? '', alice)).toBe(404);
    expect(await used(ids[9] ?? '', alice)).toBe(200);
    expect(await used(String(first.headers['mcp-session-id']), bob)).toBe(200);
  });

  it('connections are limited', async () => {
    const { front } = await startRecording({ limits: { maxConnections: 5 } });
    const [first] = await Promise.all(Array.from({ length: 5 }, () => front.open()));
    expect((await front.send({ method: 'GET', path: '/healthz' })).status).toBe(200);
    // The one that was idle longest has given way.
    expect(await first?.closed).toBe('');
    expect(refusals(front, 'connections')).toBe(1);
  });

  // 1,100 idle connections from this machine, without a token, locked everyone out.
  it("connections without a token keep no one out, and end no one else's", async () => {
    const held = createDeferred<Partial<CellAnswer>>();
    const { front, ran } = await startRecording({
      runCell: async ({ code }) => (code === 'wait()' ? held.promise : {}),
    });
    const token = await front.add('alice');
    const waiting = front.send({ ...runPython('wait()'), token });
    await expect.poll(() => ran).toEqual(['alice: wait()']);
    const kept = await front.open();
    kept.socket.write(`GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    await once(kept.socket, 'data');
    const unread =
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n';
    for (let round = 0; round < amount(11, 100); round += 1) {
      const idle = await Promise.all(Array.from({ length: 100 }, () => front.open()));
      idle.forEach(({ socket }, index) => void (index % 2 === 0 && socket.write(index % 4 === 0 ? unread : 'POST /')));
      const startMs = performance.now();
      expect((await front.send({ ...runPython('mine()'), token })).status).toBe(200);
      expect((await front.send({ method: 'GET', path: '/healthz' })).status).toBe(200);
      expect(performance.now() - startMs).toBeLessThan(1_000 * PATIENCE);
    }
    expect(refusals(front, 'connections')).toBeGreaterThan(800);
    expect(front.log.filter((line) => line.includes('that have sent no token'))).toHaveLength(1);
    expect([kept.socket.destroyed, kept.socket.readableEnded]).toEqual([false, false]);
    held.resolve({});
    expect((await waiting).status).toBe(200);
  });

  it('of one connection that do not wait for answers are answered up to the limit, and the connection ends', async () => {
    const { front } = await startRecording({ limits: { maxPipelined: 3 } });
    const ask = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const few = await front.open();
    few.socket.write(ask.repeat(3));
    const many = await front.open();
    many.socket.write(ask.repeat(500));
    const answers = (text: string): string[] => text.match(/^HTTP\/1\.1 \d+/gm) ?? [];
    expect(answers(await many.closed)).toHaveLength(3);
    expect(refusals(front, 'pipelined')).toBe(1);
    // This one goes on.
    few.socket.end(ask.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    expect(answers(await few.closed)).toHaveLength(4);
  });

  it('of a connection that has too many are not even read', async () => {
    const { front } = await startRecording({
      limits: { maxPipelined: 2 },
      runCell: () => new Promise<never>(() => undefined),
    });
    const token = await front.add('alice');
    const body = JSON.stringify(runPython('endless()').body);
    const cell = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const { socket } = await front.open();
    socket.write(cell.repeat(3));
    await expect.poll(() => refusals(front, 'pipelined')).toBe(1);
    // More than the buffers of both ends take: what is not read stays here, unless the connection has ended.
    const chunk = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(20_000);
    for (let count = 0; count < 20; count += 1) {
      socket.write(chunk);
    }
    await pause(500 * PATIENCE, 'it must not be read meanwhile');
    expect(socket.destroyed || socket.writableLength > 8 * chunk.length).toBe(true);
    socket.destroy();
  });

  it('a client that does not read is cut off, and its next cells wait until then', async () => {
    const image = { kind: 'image', mimeType: 'image/png', base64: 'A'.repeat(4 * 1024 * 1024) } as const;
    const { front } = await startRecording({
      limits: { stallMs: 500, maxUnreadBytes: 1024 * 1024 },
      runCell: async ({ code }: CellRequest) => (code === 'large()' ? { attachments: [image, image, image] } : {}),
    });
    const token = await front.add('alice');
    const { socket, closed } = await front.open();
    socket.pause();
    const body = JSON.stringify(runPython('large()').body);
    const { headers = {} } = runPython('');
    const lines = Object.entries({ ...headers, Authorization: `Bearer ${token}` }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n` +
        `${lines.join('')}Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    const open = async (): Promise<string | undefined> =>
      /http_open_requests (\d+)/.exec((await front.send({ method: 'GET', path: '/metrics', token })).text)?.[1];
    await expect.poll(open).toBe('1');
    expect((await front.send({ ...runPython('small()'), token })).status).toBe(200);
    // It ran only once the other was cut off.
    expect(await open()).toBe('0');
    socket.resume();
    expect((await closed).length).toBeLessThan(3 * image.base64.length);
  });
});

/** Resolves with the number of answers with this status as soon as there are that many. */
async function settledWith(answers: readonly Promise<{ status: number }>[], wanted: number, count: number) {
  let found = 0;
  return new Promise<number>((resolve) => {
    for (const answer of answers) {
      void answer.then(({ status }) => {
        found += Number(status === wanted);
        if (found === count) {
          resolve(found);
        }
      });
    }
  });
}

describe('one principal against another', () => {
  it('the Mcp-Session-Id of another one is as unknown as any', async () => {
    const { front } = await startRecording();
    const [alice, bob] = [await front.add('alice'), await front.add('bob')];
    const id = String((await front.send({ ...INITIALIZE, token: alice })).headers['mcp-session-id']);
    expect(id).toMatch(/^[\w-]{36}$/);
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
    const headers = { 'Mcp-Session-Id': id };
    const foreign = await front.send({ body: list, token: bob, headers });
    const guessed = await front.send({ body: list, token: bob, headers: { 'Mcp-Session-Id': id.replace(/^./, 'g') } });
    expect(foreign).toMatchObject({ status: 404, text: guessed.text });
    for (const method of ['GET', 'DELETE']) {
      expect((await front.send({ method, token: bob, headers })).status).toBe(404);
    }
    expect((await front.send({ body: list, token: alice, headers })).status).toBe(200);
  });

  it('what exists for another one takes no other time to refuse than what does not', async () => {
    const { front } = await startRecording({ limits: { maxRequestsPerSecond: 0 } });
    const [alice, bob] = [await front.add('alice'), await front.add('bob')];
    const id = String((await front.send({ ...INITIALIZE, token: alice })).headers['mcp-session-id']);
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
    const times: Record<string, number[]> = {};
    const pairs = {
      'session that exists': { token: bob, headers: { 'Mcp-Session-Id': id } },
      'session that does not': { token: bob, headers: { 'Mcp-Session-Id': id.replaceAll(/\w/g, 'a') } },
      'token that begins as one': { token: `${alice.slice(0, -1)}${alice.endsWith('A') ? 'B' : 'A'}` },
      'token that does not': { token: `mcpb_${'A'.repeat(alice.length - 5)}` },
    };
    // In turn, so that other load on the machine affects all of them alike.
    for (let round = 0; round < amount(60, 1_000); round += 1) {
      for (const [what, more] of Object.entries(pairs)) {
        const startMs = performance.now();
        await front.send({ body: list, ...more });
        (times[what] ??= []).push(performance.now() - startMs);
      }
    }
    const middle = Object.fromEntries(
      Object.entries(times).map(([what, all]) => [
        what,
        all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0,
      ]),
    );
    for (const [one = 0, other = 0] of [
      [middle['session that exists'], middle['session that does not']],
      [middle['token that begins as one'], middle['token that does not']],
    ]) {
      expect(Math.max(one, other) / Math.min(one, other)).toBeLessThan(2);
    }
  });

  it('a reply to the question of another one does not reach it', async () => {
    const { front, ran } = await startRecording({
      async runCell({ person, signal }) {
        const question = {
          mode: 'form',
          message: 'Allow?',
          requestedSchema: { type: 'object', properties: {} },
        } as const;
        const reply = await person?.ask(question, signal ?? new AbortController().signal);
        return { stdout: { ...NO_OUTPUT, head: `reply: ${reply?.action}` } };
      },
    });
    const [alice, bob] = [await front.add('alice'), await front.add('bob')];
    const asked = (await front.send({ ...runPython('ask()'), token: alice })).message['result'] as {
      requestState: string;
      inputRequests: Record<string, unknown>;
    };
    const [key = ''] = Object.keys(asked.inputRequests);
    const reply = { requestState: asked.requestState, inputResponses: { [key]: { action: 'accept', content: {} } } };
    const stolen = await front.send({ ...runPython('ask()', reply), token: bob });
    expect(stolen.message).toMatchObject({ error: { code: -32_602 } });
    const answered = await front.send({ ...runPython('ask()', reply), token: alice });
    expect(JSON.stringify(answered.message)).toContain('reply: accept');
    expect(ran).toEqual(['alice: ask()']);
  });

  it('a header that names another session than the argument is refused', async () => {
    const { front, ran } = await startRecording();
    const params = { name: 'run_python', arguments: { code: '1', session: 'mine' } };
    const { body, headers } = modern('tools/call', params, { 'Mcp-Param-Session': 'yours' });
    const { status, message } = await front.send({ body, headers: headers ?? {} });
    expect([status, message]).toEqual([
      400,
      {
        jsonrpc: '2.0',
        id: 1,
        error: { code: -32_020, message: expect.any(String), data: { code: 'HTTP_REFUSED', hint: expect.any(String) } },
      },
    ]);
    const right = modern('tools/call', params, { 'Mcp-Param-Session': 'mine' });
    expect((await front.send(right)).status).toBe(200);
    expect(ran).toHaveLength(1);
  });
});
