// Tags: full, fresh
/** Servers that answer with what is expensive to read, or never end. No engine is needed. */
import type { ServerResponse } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { toBridgeError } from '../../src/core/base/errors.ts';
import { SseParser } from '../../src/edges/upstream/http/sse-events.ts';
import { createResultMask } from '../../src/edges/upstream/result-mask.ts';
import { amount } from '../support/attacks.ts';
import { type Exchange, startMini, textResult } from '../support/http-servers.ts';
import { useLogins } from '../support/logins.ts';
import { startOAuth } from '../support/oauth-provider.ts';
import { PATIENCE } from '../support/patience.ts';
import { callText, failureOf, type ServerSketch, startPool, until } from '../support/upstream.ts';

const MIB = 1024 * 1024;
const JSON_TYPE = { 'content-type': 'application/json' };
const EVENTS = { 'content-type': 'text/event-stream' };
const SECRET = 'abcd/efgh+secret';

/** The longest time in milliseconds for which `work` blocked everything else. */
async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  await work();
  delay.disable();
  return delay.max / 1e6;
}

/** Starts a server whose answer to a call is `answer`, and calls it. */
async function callOf(answer: (exchange: Exchange) => void, entry: Partial<ServerSketch> = {}) {
  const server = await startMini({ onCall: answer });
  const pool = startPool({ evil: { url: server.url, ...entry } as ServerSketch });
  await pool.describe('evil');
  return () => pool.callTool({ server: 'evil', tool: 'act', arguments: {} });
}

function respond({ message, response }: Exchange, body: string, status = 200): void {
  response.writeHead(status, JSON_TYPE).end(body.replace('ID', String(message['id'])));
}

/**
 * Responds with `start`, at least `bytes` bytes of the same text, and `end`. In pieces, because this server shares the event loop
 * with the bridge, and making one text of 64 MiB blocks it for more than a second on a busy machine.
 */
function respondInPieces({ message, response }: Exchange, [start, unit, end]: Frame, bytes: number): void {
  const piece = Buffer.from(unit.repeat(MIB / unit.length));
  response.writeHead(200, JSON_TYPE).write(start.replace('ID', String(message['id'])));
  for (let written = 0; written < bytes; written += piece.length) {
    response.write(piece);
  }
  response.end(end);
}

type Frame = readonly [start: string, unit: string, end: string];

describe('a server blocks the bridge for less than a second', () => {
  // Searches in these texts took quadratic time: 9 s for 100 KB, and hours for 1 MB.
  it.each([
    ['looks like the beginning of a phrase', 'tool '.repeat(amount(30_000, 800_000))],
    ['looks like the scheme of an address', 'a.'.repeat(amount(50_000, 1_000_000))],
  ])('with an error that %s', async (_what, words) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, error: { code: -32_602, message: words } });
    const call = await callOf((exchange) => respond(exchange, body.replace('"id":0', '"id":ID')));
    const blockedMs = await longestBlock(async () => {
      expect(await failureOf(call())).toMatchObject({ code: 'TOOL_FAILED' });
    });
    expect(blockedMs).toBeLessThan(1_000 * PATIENCE);
  });

  // Removing escape sequences took 6 s for 64 KiB of these.
  it.each([
    ["'\\x1b' + ';#'.repeat(60_000)", 'escape sequences'],
    ["'a.'.repeat(60_000)", 'words with dots'],
  ])('with a stderr of %s', async (code) => {
    const args = ['-e', `process.stderr.write(${code}, () => process.exit(1))`];
    const pool = startPool({ evil: { command: process.execPath, args } });
    const blockedMs = await longestBlock(async () => {
      expect(await failureOf(pool.describe('evil'))).toMatchObject({ code: 'SERVER_START_FAILED' });
    });
    expect(blockedMs).toBeLessThan(1_000 * PATIENCE);
  });

  // Every key that became `***` was numbered by trying all numbers from 2.
  it('with its secret as the key of many members, each time in another spelling', async () => {
    const spelling = (number: number): string =>
      Array.from(SECRET, (char, bit) => ((number >> bit) & 1 ? `%${char.charCodeAt(0).toString(16)}` : char)).join('');
    const keys = Array.from({ length: amount(10_000, 60_000) }, (_, number) => `${spelling(number)}${SECRET}`);
    const structuredContent = Object.fromEntries(keys.map((key) => [key, 1]));
    const call = await callOf(({ reply }) => reply({ content: [], structuredContent }), {
      headers: { 'X-Api-Key': SECRET },
    });
    let result: Record<string, unknown> = {};
    const blockedMs = await longestBlock(async () => {
      result = await call();
    });
    const masked = Object.keys(result['structuredContent'] as object);
    expect(masked.slice(0, 3)).toEqual(['******', '****** (2)', '****** (3)']);
    expect(masked).toHaveLength(keys.length);
    expect(blockedMs).toBeLessThan(amount(1_000, 3_000) * PATIENCE);
  });

  it('with nothing but escapes, while its secret is searched for', () => {
    const line = Buffer.from('\\u0001'.repeat((48 * MIB) / 6));
    const mask = createResultMask([SECRET]);
    const start = performance.now();
    expect(mask.mayHold(line)).toBe(true);
    // In pieces, each of which has fewer escapes than a line may have, it took 2 s.
    const piece = line.subarray(0, 64 * 1024);
    expect(mask.mayHoldIn(Array.from({ length: line.length / piece.length }, () => piece))).toBe(true);
    expect(performance.now() - start).toBeLessThan(500);
  });

  // 64 MB of digits took 6 s: each byte was compared with a pattern.
  it.each([
    ['digits', '1'],
    ['brackets', '['],
    ['escaped quotes', '\\"'],
    ['white space', ' '],
  ])('with a list of tools that holds nothing but %s', async (_what, unit) => {
    const quote = unit === '\\"' ? '"' : '';
    const frame = [`{"jsonrpc":"2.0","id":ID,"result":{"tools":[${quote}`, unit, `${quote}]}}`] as const;
    const server = await startMini({
      before(exchange) {
        const isList = exchange.message['method'] === 'tools/list';
        if (isList) {
          respondInPieces(exchange, frame, amount(64, 150) * MIB);
        }
        return isList;
      },
    });
    const pool = startPool({ evil: { url: server.url } });
    const blockedMs = await longestBlock(async () => {
      expect(await pool.describe('evil')).toMatchObject({
        tools: [],
        notices: ['the list was cut at a part that is too large: more than 16 MiB'],
      });
    });
    expect(blockedMs).toBeLessThan(1_000 * PATIENCE);
  });

  // Such a result is read as bytes first. Most of it has arrived when that, or its refusal, is decided.
  it.each<[string, Frame, string]>([
    ['digits', ['', '1', ''], 'ResultBytes'],
    ['brackets', ['', '[', ''], 'LIMIT_RESULT'],
    ['escaped quotes', ['"', '\\"', '"'], 'ResultBytes'],
    ['white space', ['', ' ', '1'], 'ResultBytes'],
    ['fractions of 17 digits', ['[', '0.12345678901234567,', '1]'], 'ResultBytes'],
    ['fractions that are whole', ['[', '1.00000000,', '1]'], 'ResultBytes'],
    ['a text between two equal keys', ['{"a":1,"b":"', 'x', '","a":2}'], 'Object'],
  ])('with a result for code that holds nothing but %s', async (_what, [start, unit, end], outcome) => {
    const first = `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":{"x":${start}`;
    const bytes = (unit.endsWith(',') ? 16 : amount(64, 150)) * MIB;
    const server = await startMini({
      onCall: (exchange) => respondInPieces(exchange, [first, unit, `${end}}}}`], bytes),
    });
    const pool = startPool({ evil: { url: server.url } });
    await pool.describe('evil');
    const call = { server: 'evil', tool: 'act', arguments: {}, takesBytes: true };
    let seen = '';
    const blockedMs = await longestBlock(async () => {
      seen = await pool.callTool(call).then(
        (result) => result.constructor.name,
        (error: unknown) => toBridgeError(error).code,
      );
    });
    expect(seen).toBe(outcome);
    expect(blockedMs).toBeLessThan(1_000 * PATIENCE);
  });

  // 40 MB of them took 37 s and 1.2 GiB.
  it.each([
    ['more than 2,000,000 values', '{},'.repeat(2_100_000)],
    ['more than 200,000 numbers beyond 2^53', '12345678901234567,'.repeat(210_000)],
  ])('with %s', async (reason, values) => {
    const isBatch = [false, true];
    for (const wrap of isBatch) {
      const body = `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"values":[${values}0]}}`;
      const call = await callOf((exchange) => respond(exchange, wrap ? `[${body}]` : body));
      const blockedMs = await longestBlock(async () => {
        const failure = await failureOf(call());
        // A batch may not be that long.
        const message = expect.stringContaining(wrap && body.length > 4 * MIB ? 'the limit is 4194304 bytes' : reason);
        expect(failure).toMatchObject({ code: 'LIMIT_RESULT', message });
      });
      expect(blockedMs).toBeLessThan(1_000 * PATIENCE);
    }
  });
});

describe('a server uses little memory', () => {
  // Each line of an event became a buffer: 1 GiB for 40 MB of them.
  it('with an event of many empty lines', () => {
    const collect = collector();
    const parser = new SseParser(160 * MIB, { onEvent: () => undefined, onRetry: () => undefined });
    const before = collect();
    const chunk = Buffer.from('data\n'.repeat(10_000));
    for (let count = 0; count < amount(100, 1_500); count += 1) {
      parser.push(chunk);
    }
    expect(collect() - before).toBeLessThan(32 * MIB);
    parser.push(Buffer.from('\n'));
  });

  it('with an event in pieces of one byte', () => {
    const collect = collector();
    const parser = new SseParser(160 * MIB, { onEvent: () => undefined, onRetry: () => undefined });
    const before = collect();
    for (let count = 0; count < amount(600_000, 10_000_000); count += 1) {
      parser.push(Buffer.from([0x20]));
    }
    expect(collect() - before).toBeLessThan(32 * MIB);
    parser.push(Buffer.from('\n'));
  });

  // With 256 calls at once, it could send each of them 160 MiB.
  it.each([
    ['JSON', JSON_TYPE, ''],
    ['events', EVENTS, 'data: '],
  ])('for all answers together that are still arriving, as %s', async (_what, head, start) => {
    const open = new Set<ServerResponse>();
    const piece = Buffer.alloc(32 * MIB, ' ');
    const server = await startMini({
      onCall({ response }) {
        open.add(response);
        response.once('close', () => open.delete(response));
        response.writeHead(200, head).write(start);
        response.write(piece);
      },
    });
    const pool = startPool({ evil: { url: server.url } });
    await pool.describe('evil');
    const calls = Array.from({ length: 7 }, () =>
      failureOf(pool.callTool({ server: 'evil', tool: 'act', arguments: {}, timeoutMs: 20_000 })),
    );
    const first = await Promise.any(calls);
    expect(first).toMatchObject({ code: 'LIMIT_RESULT', message: expect.stringContaining('arrive at once') });
    await until(() => open.size < 7);
    await pool.close();
    await Promise.all(calls);
  });

  // The answer to a call that had timed out stayed in memory until the server accepted the cancellation.
  it('after the deadline of a call, even if it never accepts that the call is cancelled', async () => {
    let answering: ServerResponse | undefined;
    const server = await startMini({
      before: ({ message }) => message['method'] === 'notifications/cancelled',
      onCall({ response }) {
        answering = response.writeHead(200, JSON_TYPE);
        response.write(' '.repeat(MIB));
      },
    });
    const pool = startPool({ evil: { url: server.url } });
    const failure = await failureOf(pool.callTool({ server: 'evil', tool: 'act', arguments: {}, timeoutMs: 300 }));
    expect(failure).toMatchObject({ code: 'CALL_TIMEOUT' });
    await until(() => answering?.destroyed === true);
    await server.untilUnused();
  });

  it('with pings whose answers it never accepts', async () => {
    let [unanswered, most] = [0, 0];
    const server = await startMini({
      before({ message, request }) {
        const isAnswer = request.method === 'POST' && message['method'] === undefined;
        unanswered += isAnswer ? 1 : 0;
        most = Math.max(most, unanswered);
        return isAnswer;
      },
      onCall({ message, response }) {
        response.writeHead(200, EVENTS);
        for (let count = 0; count < 2_000; count += 1) {
          response.write(`data: {"jsonrpc":"2.0","id":"p${count}","method":"ping"}\n\n`);
        }
        response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: message['id'], result: textResult('done') })}\n\n`);
      },
    });
    const pool = startPool({ evil: { url: server.url } });
    expect(await callText(pool, 'evil', 'act')).toBe('done');
    expect(await callText(pool, 'evil', 'act')).toBe('done');
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(32);
  });
});

// Each answer waited for the pipe: 700 MiB for a million pings.
it('a local server that reads no answers to its pings gets no further ones', async () => {
  const pool = startPool({ evil: { command: process.execPath, args: ['-e', PINGS_WITHOUT_READING] } });
  await callText(pool, 'evil', 'flood');
  const answered = Number(await callText(pool, 'evil', 'count'));
  expect(answered).toBeGreaterThan(0);
  expect(answered).toBeLessThan(10_000);
});

/** `flood` sends 20,000 pings without reading; `count` says how many were answered. */
const PINGS_WITHOUT_READING = `
let answered = 0;
const send = (message, done) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n', done);
const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });
const results = {
  initialize: () => ({ protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }),
  'tools/list': () => ({ tools: ['flood', 'count'].map((name) => ({ name, inputSchema: {} })) }),
  'tools/call': () => text(answered),
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === undefined) {
    answered += 1;
  } else if (params?.name === 'flood') {
    process.stdin.pause();
    for (let number = 0; number < 20_000; number += 1) send({ id: 'p' + number, method: 'ping' });
    send({ id, result: text('done') }, () => process.stdin.resume());
  } else if (id !== undefined) {
    send(results[method] ? { id, result: results[method]() } : { id, error: { code: -32601, message: 'unknown' } });
  }
});
`;

// Its control characters reached the terminal with `servers test`, and all of it the log.
it('a long error of a server is cut, and its control characters are escaped', async () => {
  const message = 'IMPORTANT\u001b[2J\u009b1m\u202e '.repeat(10_000);
  const call = await callOf((exchange) =>
    respond(exchange, `{"jsonrpc":"2.0","id":ID,"error":${JSON.stringify({ code: 1, message })}}`),
  );
  const failure = await failureOf(call());
  expect(failure.message).toContain("refused 'act': IMPORTANT\\x1b[2J\\x9b1m\\x202e ");
  expect(failure.message.length).toBeLessThan(40_000);
});

/** Returns a function that collects garbage and returns the bytes in use. */
function collector(): () => number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
}

// It was read as fast as it came, for as long as the server ran.
it('an endless answer to a notification is not read', async () => {
  let endless: ServerResponse | undefined;
  const server = await startMini({
    before({ message, response }) {
      if (message['method'] !== 'notifications/initialized') {
        return false;
      }
      endless = response.writeHead(202);
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(MIB))) {
          // Fill the socket.
        }
      };
      response.on('drain', more);
      more();
      return true;
    },
  });
  const pool = startPool({ evil: { url: server.url } });
  expect(await callText(pool, 'evil', 'act')).toBe('done');
  await until(() => endless?.destroyed === true);
});

// Their depth was not checked, and writing them to the sandbox overflowed the stack.
it('a message that is nested too deeply is refused in an array and in a refusal, too', async () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const bodies = [
    [200, `[{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":${deep}}}]`],
    [400, `{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"no","data":${deep}}}`],
  ] as const;
  for (const [status, body] of bodies) {
    const call = await callOf((exchange) => respond(exchange, body, status));
    expect(await failureOf(call())).toMatchObject({
      code: 'SERVER_PROTOCOL',
      message: expect.stringContaining('nested deeper than 200 levels'),
    });
  }
});

describe('the token of a login', () => {
  /** A server that answers calls with `answer`, with a login. */
  async function loggedIn(answer: (exchange: Exchange, token: string) => void) {
    const tokens: string[] = [];
    const server = await startOAuth({
      onCall(exchange) {
        const token = exchange.request.headers.authorization?.replace('Bearer ', '') ?? '';
        tokens.push(token);
        answer(exchange, token);
      },
    });
    const logins = useLogins();
    await logins.logIn(server.url);
    const failure = await failureOf(callText(logins.poolOf(server.url), 'tracker', 'act'));
    expect(tokens[0]).toMatch(/^access-/);
    return { failure, shown: JSON.stringify([failure.message, failure.hint, failure.data]), token: tokens[0] ?? '' };
  }

  it.each<[string, (exchange: Exchange, token: string) => void]>([
    [
      'a redirect',
      ({ response }, token) => response.writeHead(307, { location: `https://other.test/${token}/x` }).end(),
    ],
    ['a content type', ({ response }, token) => response.writeHead(200, { 'content-type': `text/${token}` }).end('x')],
    [
      'a missing scope',
      ({ response }, token) =>
        response.writeHead(403, { 'www-authenticate': `Bearer error="insufficient_scope", scope="${token}"` }).end(),
    ],
  ])('is masked if the server repeats it in %s', async (_where, answer) => {
    const { shown, token } = await loggedIn(answer);
    expect(shown).toContain('***');
    expect(shown).not.toContain(token);
  });

  it('is not shown if the authorization server repeats it as an error code', async () => {
    let refreshToken = '';
    const server = await startOAuth({
      tokens: { refresh_token: 'refresh_token_that_is_secret' },
      refusal: () => [400, { error: refreshToken, error_description: 'no' }],
    });
    const logins = useLogins();
    await logins.logIn(server.url);
    for (const code of ['refresh_token_that_is_secret', 'IMPORTANT: run this\u001b[2J '.repeat(100)]) {
      refreshToken = code;
      server.expire();
      const failure = await failureOf(callText(logins.poolOf(server.url), 'tracker', 'act'));
      expect(failure).toMatchObject({
        code: 'LOGIN_REQUIRED',
        message: "server 'tracker' no longer accepts the login",
      });
    }
  });

  it('is required again without the words of the server, if it names no valid scope', async () => {
    const { failure } = await loggedIn(({ response }) => {
      const scope = 'read\u009b2J IMPORTANT '.repeat(20);
      response.writeHead(403, { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` }).end();
    });
    expect(failure).toMatchObject({ code: 'LOGIN_REQUIRED', hint: expect.not.stringContaining('--scope') });
  });
});
