// Tags: full, user-release
/** Misbehaving servers over HTTP: each affects only its own calls, in limited time and memory, with a clear error. */
import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { startHttp, startMini, textResult } from '../../support/http-servers.ts';
import { callText, failureOf, startPool, until } from '../../support/upstream.ts';

const EVENTS = { 'content-type': 'text/event-stream' };
const MIB = 1024 * 1024;

/** Writes as long as the client reads. */
function writeForever(response: ServerResponse, piece: Buffer): void {
  const more = (): void => {
    while (!response.destroyed && response.write(piece)) {
      // Fill the socket.
    }
  };
  response.on('drain', more);
  more();
}

it('does not follow a redirect to another server, which gets no headers', async () => {
  const other = await startMini();
  const targets = ['http://169.254.169.254/latest/meta-data/?token=x', 'file:///etc/passwd', `${other.origin}/mcp`];
  for (const [index, location] of targets.entries()) {
    const server = await startHttp((_request, response) => void response.writeHead(307, { location }).end());
    const name = `moved-${index}`;
    const pool = startPool({ [name]: { url: `${server.origin}/mcp`, headers: { Authorization: 'Bearer secret-1' } } });
    const failure = await failureOf(pool.describe(name));
    expect(failure).toMatchObject({ code: 'SERVER_PROTOCOL' });
    expect(failure.message).toContain(`redirects (HTTP 307) to ${location.replace(/\?.*/, '')}`);
  }
  expect(other.requests).toEqual([]);
});

it.each(['text/html', 'application/octet-stream'])('explains an answer of type %s', async (type) => {
  const server = await startHttp(
    (_request, response) => void response.writeHead(200, { 'content-type': type }).end('<p>Hello'),
  );
  const pool = startPool({ page: { url: `${server.origin}/mcp` } });
  const failure = await failureOf(pool.describe('page'));
  expect(failure).toMatchObject({ code: 'SERVER_PROTOCOL', hint: expect.stringContaining('/mcp or /sse') });
  expect(failure.message).toContain(`content of type '${type}'`);
});

it.each([
  ['JSON', { 'content-type': 'application/json' }, Buffer.alloc(MIB, ' ')],
  ['an event without a newline', EVENTS, Buffer.concat([Buffer.from('data: '), Buffer.alloc(MIB, 'x')])],
])('cuts off an endless answer: %s', async (_what, head, piece) => {
  let written: ServerResponse | undefined;
  const server = await startMini({
    onCall({ response }) {
      written = response.writeHead(200, head);
      writeForever(response, piece);
    },
  });
  const pool = startPool({ endless: { url: server.url } });
  expect(await failureOf(callText(pool, 'endless', 'act'))).toMatchObject({ code: 'LIMIT_RESULT' });
  await until(() => written?.destroyed === true);
});

it('lets a server that sends byte by byte, or nothing, use up only the deadline of its own call', async () => {
  const slow = await startMini({
    onCall({ response }) {
      response.writeHead(200, EVENTS);
      const timer = setInterval(() => response.write(':'), 20);
      response.once('close', () => clearInterval(timer));
    },
  });
  const quick = await startMini();
  const pool = startPool({ slow: { url: slow.url }, quick: { url: quick.url } });
  const waiting = failureOf(pool.callTool({ server: 'slow', tool: 'act', arguments: {}, timeoutMs: 500 }));
  expect(await callText(pool, 'quick', 'act')).toBe('done');
  expect(await waiting).toMatchObject({ code: 'CALL_TIMEOUT' });
  await pool.close();
  await slow.untilUnused();
});

it('tries a refused key once, and reports that without showing the key', async () => {
  const server = await startHttp((request, response) => {
    response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(`bad key ${request.headers.authorization}`);
  });
  const pool = startPool({
    locked: { url: `${server.origin}/mcp`, headers: { Authorization: 'Bearer secret-key-1' } },
  });
  const failure = await failureOf(pool.describe('locked'));
  expect(failure).toMatchObject({ code: 'LOGIN_REQUIRED', data: { server: 'locked', http_status: 401 } });
  expect(JSON.stringify([failure.message, failure.hint])).not.toContain('secret-key-1');
  expect(server.requests).toHaveLength(1);
});

it.each(['Access is only allowed at localhost:8931', 'Invalid Host: 127.0.0.1:3000', 'Invalid Host header'])(
  'treats HTTP 403 with "%s" as a wrong host name, not as a wrong key',
  async (words) => {
    const server = await startHttp((_request, response) => void response.writeHead(403).end(words));
    const pool = startPool({ renamed: { url: `${server.origin}/mcp` } });
    expect(await failureOf(pool.describe('renamed'))).toMatchObject({
      code: 'SERVER_PROTOCOL',
      message: expect.stringContaining(words),
      hint: expect.stringContaining('Correct the host in "url"'),
    });
  },
);

it.each([500, 503, 429])('reports HTTP %i as a server that is down, with its text, without secrets', async (status) => {
  const server = await startHttp((request, response) => {
    response
      .writeHead(status, { 'content-type': 'text/plain' })
      .end(`overloaded\n${String(request.headers['x-api-key'])}`);
  });
  const pool = startPool({ down: { url: `${server.origin}/mcp`, headers: { 'X-Api-Key': 'key-12345' } } });
  const failure = await failureOf(pool.describe('down'));
  expect(failure).toMatchObject({ code: 'SERVER_UNREACHABLE' });
  expect(failure.message).toBe(`server 'down' answered HTTP ${status}: overloaded ***`);
});

it('falls back to the older protocol if a server fails on the newest method', async () => {
  const server = await startMini({
    before({ message, response }) {
      const isNew = message['method'] === 'server/discover';
      if (isNew) {
        response.writeHead(500).end('unknown method');
      }
      return isNew;
    },
  });
  const pool = startPool({ old: { url: server.url } });
  expect(await callText(pool, 'old', 'act')).toBe('done');
});

it('fails the call whose answer ends without a response, and no other', async () => {
  let calls = 0;
  const server = await startMini({
    onCall({ response, reply }) {
      calls += 1;
      if (calls === 1) {
        response.writeHead(200, EVENTS).end(': nothing\n\n');
      } else {
        reply(textResult('done'));
      }
    },
  });
  const pool = startPool({ mini: { url: server.url } });
  expect(await failureOf(callText(pool, 'mini', 'act'))).toMatchObject({
    code: 'SERVER_PROTOCOL',
    message: "server 'mini' ended its stream of events before it answered the request",
    hint: expect.stringContaining('may have had an effect'),
  });
  expect(await callText(pool, 'mini', 'act')).toBe('done');
  expect(server.requests.filter((line) => line === 'POST /mcp')).toHaveLength(5);
});

it.each([
  ['in the middle of JSON', { 'content-type': 'application/json', 'content-length': '1000' }, '{"jsonrpc"'],
  ['in the middle of an event', EVENTS, 'data: {"jsonrpc"'],
  ['between events', EVENTS, ': alive\n\n'],
])('names an answer that is cut off %s', async (_where, head, piece) => {
  const server = await startMini({
    onCall({ response }) {
      response.writeHead(200, head);
      response.write(piece, () => response.destroy());
    },
  });
  const pool = startPool({ mini: { url: server.url } });
  expect(await failureOf(callText(pool, 'mini', 'act'))).toMatchObject({
    code: 'SERVER_UNREACHABLE',
    message: "server 'mini' broke off its answer before it was complete: aborted",
    hint: expect.stringContaining('may have had an effect'),
  });
});

it.each([
  ['JSON', 'application/json', ''],
  ['events', 'text/event-stream', 'data: '],
])('names an answer that is compressed: %s', async (_what, type, prefix) => {
  const server = await startMini({
    onCall({ response, message }) {
      const answer = JSON.stringify({ jsonrpc: '2.0', id: message['id'], result: textResult('done') });
      response.writeHead(200, { 'content-type': type, 'content-encoding': 'gzip' });
      response.end(gzipSync(`${prefix}${answer}\n\n`));
    },
  });
  const pool = startPool({ mini: { url: server.url } });
  expect(await failureOf(callText(pool, 'mini', 'act'))).toMatchObject({
    code: 'SERVER_PROTOCOL',
    message: "server 'mini' compressed its answer (gzip), although the request does not allow that",
    hint: expect.stringContaining('Turn off compression'),
  });
});

it('quotes no refusal that is compressed', async () => {
  const server = await startMini({
    onCall({ response }) {
      response.writeHead(500, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }).end(gzipSync('down'));
    },
  });
  const pool = startPool({ mini: { url: server.url } });
  const { message } = await failureOf(callText(pool, 'mini', 'act'));
  expect(message).toBe("server 'mini' answered HTTP 500");
});

it('does not wait for a server that never confirms the end of its session', async () => {
  const server = await startMini({
    sessions: new Set(),
    before: ({ request }) => request.method === 'DELETE',
  });
  const pool = startPool({ mini: { url: server.url } });
  await callText(pool, 'mini', 'act');
  const start = performance.now();
  await pool.close();
  expect(performance.now() - start).toBeLessThan(2_500);
  await server.untilUnused();
});

it('sends no messages to an endpoint on another server', async () => {
  const other = await startHttp((_request, response) => void response.end());
  const server = await startHttp((_request, response) => {
    response.writeHead(200, EVENTS).write(`event: endpoint\ndata: ${other.origin}/messages\n\n`);
  });
  const pool = startPool({ old: { url: `${server.origin}/sse`, transport: 'sse' } });
  const failure = await failureOf(pool.describe('old'));
  expect(failure.message).toContain('names an address on another server for messages');
  expect(other.requests).toEqual([]);
  await server.untilUnused();
});

it('gives up at the start timeout on a server that accepts a request and never answers', async () => {
  const server = await startHttp(() => undefined);
  const pool = startPool({ silent: { url: `${server.origin}/mcp` } }, { startTimeoutMs: 300 });
  expect(await failureOf(pool.describe('silent'))).toMatchObject({ code: 'SERVER_START_FAILED' });
  await server.untilUnused();
});

it('reports an untrusted certificate as an unreachable server', async () => {
  const server = await startHttp((_request, response) => void response.end());
  const pool = startPool({ plain: { url: server.origin.replace('http:', 'https:') } });
  expect(await failureOf(pool.describe('plain'))).toMatchObject({ code: 'SERVER_UNREACHABLE' });
});
