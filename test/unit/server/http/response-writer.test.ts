/** Responses with a long text that is read while it is written. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { LargeText } from '../../../../src/core/base/large-text.ts';
import { HTTP_LIMITS } from '../../../../src/front/server/http/limits.ts';
import { writeResponse } from '../../../../src/front/server/http/response-writer.ts';

async function receive(text: LargeText): Promise<string> {
  const server = createServer((_, response) => {
    const json = JSON.stringify({ jsonrpc: '2.0', id: 7, result: { contents: [{ uri: 'x', text }] } });
    const answer = new Response(`event: message\ndata: ${json}\n\n`);
    void writeResponse(response, answer, HTTP_LIMITS, new Map([[text.token, { text, id: 7 }]]));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const received = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return received.text();
}

it('have it in its place, and close it', async () => {
  const log: string[] = [];
  async function* pieces() {
    yield 'a"';
    yield 'ä\n';
  }
  const text = new LargeText(async () => ({ pieces: pieces(), close: async () => void log.push('closed') }));
  const json = '{"jsonrpc":"2.0","id":7,"result":{"contents":[{"uri":"x","text":"a\\"ä\\n"}]}}';
  expect(await receive(text)).toBe(`event: message\ndata: ${json}\n\n`);
  expect(log).toEqual(['closed']);
});

it('have an error if it is no longer there', async () => {
  const json = '{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"it is gone"}}';
  expect(await receive(new LargeText(() => Promise.reject(new Error('it is gone'))))).toBe(
    `event: message\ndata: ${json}\n\n`,
  );
});

it('end early if it cannot be read to its end', async () => {
  async function* pieces() {
    yield 'a';
    throw new Error('the disk has failed');
  }
  await expect(
    receive(new LargeText(async () => ({ pieces: pieces(), close: async () => undefined }))),
  ).rejects.toThrow();
});
