// Tags: full, bubblewrap
/** Messages of a server that stay within a bound in one unit, and are far too much in another. No engine is needed. */
import type { ServerResponse } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { createLogger } from '../../src/core/base/log.ts';
import { amount } from '../support/attacks.ts';
import { garbageFreeBytes } from '../support/costs.ts';
import { type Exchange, startMini, textResult } from '../support/http-servers.ts';
import { PATIENCE } from '../support/patience.ts';
import { callText, failureOf, startPool, until } from '../support/upstream.ts';

const MIB = 1024 * 1024;
const EVENTS = { 'content-type': 'text/event-stream' };

function sendJson({ response }: Exchange, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
}

// 300,000 pings in one line of 12 MB blocked the bridge for minutes and took 900 MiB. An answer of 4 MiB holds 100,000.
it('a batch of many requests is refused whole', async () => {
  const ping = '{"jsonrpc":"2.0","method":"ping","id":1}';
  const batch = `[${`${ping},`.repeat(amount(20_000, 100_000))}${ping}]`;
  let answers = 0;
  const server = await startMini({
    before({ message, response }) {
      const isAnswer = message['result'] !== undefined;
      answers += isAnswer ? 1 : 0;
      if (isAnswer) {
        response.writeHead(202).end();
      }
      return isAnswer;
    },
    onCall: (exchange) => sendJson(exchange, batch),
  });
  const pool = startPool({ evil: { url: server.url } });
  await pool.describe('evil');
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  expect(await failureOf(pool.callTool({ server: 'evil', tool: 'act', arguments: {} }))).toMatchObject({
    code: 'LIMIT_RESULT',
    message: expect.stringContaining(`a batch of ${amount(20_001, 100_001).toLocaleString('en-US')} messages`),
  });
  delay.disable();
  expect(delay.max / 1e6).toBeLessThan(1_000 * PATIENCE);
  expect(answers).toBe(0);
});

// 32 questions with ids of up to 160 MiB were kept while they were open, and each id was sent back.
it('a request with an endless id is dropped', async () => {
  const ids: unknown[] = [];
  const server = await startMini({
    before({ message, response }) {
      const isAnswer = message['method'] === undefined && message['id'] !== undefined;
      if (isAnswer) {
        ids.push(message['id']);
        response.writeHead(202).end();
      }
      return isAnswer;
    },
    onCall({ message, response }) {
      response.writeHead(200, EVENTS);
      for (const id of ['x'.repeat(2 * MIB), 'short']) {
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n\n`);
      }
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: message['id'], result: textResult('done') })}\n\n`);
    },
  });
  const pool = startPool({ evil: { url: server.url } });
  expect(await callText(pool, 'evil', 'act')).toBe('done');
  expect(await callText(pool, 'evil', 'act')).toBe('done');
  await until(() => ids.filter((id) => id === 'short').length === 2);
  expect(ids).toEqual(['short', 'short']);
});

// Each open stream kept the last id of an event: up to 160 MiB, for 256 calls at once.
it('an endless id of an event is not kept', async () => {
  const open: ServerResponse[] = [];
  const server = await startMini({
    onCall({ response }) {
      open.push(response.writeHead(200, EVENTS));
      response.write(`id: ${'x'.repeat(8 * MIB)}\nevent: ${'y'.repeat(8 * MIB)}\n\n`);
    },
  });
  const pool = startPool({ evil: { url: server.url } });
  await pool.describe('evil');
  const before = garbageFreeBytes();
  const calls = Array.from({ length: 4 }, () =>
    failureOf(pool.callTool({ server: 'evil', tool: 'act', arguments: {}, timeoutMs: 20_000 })),
  );
  await until(() => open.length === 4 && open.every(({ writableLength }) => writableLength === 0));
  await until(() => garbageFreeBytes() - before < 8 * MIB);
  expect(open.every(({ destroyed }) => !destroyed)).toBe(true);
  await pool.close();
  await Promise.all(calls);
});

// Its text was kept as long as the server ran: 100 MiB took 380 MiB. A handshake may have 4 MiB.
it.each(['instructions', 'pages'])('a handshake with endless %s is refused', async (key) => {
  const serverInfo = { name: 'evil', version: '1' };
  const handshake = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
  const server = await startMini({
    before({ message, reply }) {
      const isHandshake = message['method'] === 'initialize';
      if (isHandshake) {
        reply({ ...handshake, [key]: 'x'.repeat(8 * MIB) });
      }
      return isHandshake;
    },
  });
  const pool = startPool({ evil: { url: server.url } });
  expect(await failureOf(pool.describe('evil'))).toMatchObject({
    code: 'SERVER_START_FAILED',
    message: expect.stringContaining('the limit is 4194304 bytes'),
  });
});

// It was parsed and kept like a result, of which 160 MiB may come.
it('a local server that sends endless messages while nothing is asked of it is not read', async () => {
  const log: string[] = [];
  const logger = createLogger('INFO', (line) => log.push(line));
  const pool = startPool({ evil: { command: process.execPath, args: ['-e', LONG_NOTIFICATION] } }, { logger });
  await pool.describe('evil');
  await until(() => log.some((line) => line.includes('the limit is 4194304 bytes')));
  expect(await callText(pool, 'evil', 'act')).toBe('done');
});

// An error of 150 MiB was parsed and kept: 730 MiB.
it.each([
  ['an error', (id: unknown, text: string) => ({ jsonrpc: '2.0', id, error: { code: 1, message: text } })],
  ['a batch', (id: unknown, text: string) => [{ jsonrpc: '2.0', id, error: { code: 1, message: text } }]],
])('%s as long as a result is not read', async (_name, answerTo) => {
  const text = 'x'.repeat(amount(8, 150) * MIB);
  const server = await startMini({
    onCall: (exchange) => sendJson(exchange, JSON.stringify(answerTo(exchange.message['id'], text))),
  });
  const pool = startPool({ evil: { url: server.url } });
  expect(await failureOf(pool.callTool({ server: 'evil', tool: 'act', arguments: {} }))).toMatchObject({
    code: 'LIMIT_RESULT',
    message: expect.stringContaining('the limit is 4194304 bytes'),
  });
});

/** After its list was read, it sends a notification of 8 MiB. */
const LONG_NOTIFICATION = `
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const serverInfo = { name: 'x', version: '1' };
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo },
  'tools/list': { tools: [{ name: 'act', inputSchema: {} }] },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) {
    send(results[method] ? { id, result: results[method] } : { id, error: { code: -32601, message: 'unknown' } });
  }
  if (method === 'tools/list') {
    setTimeout(() => send({ method: 'notifications/message', params: { data: 'x'.repeat(8 * 1024 * 1024) } }), 300);
  }
});
`;
