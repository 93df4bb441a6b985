// Tags: anywhere, full
/** Questions to the user through the front, in both protocol eras: with real clients, and with a client that writes raw lines. */
import { Client, type ClientCapabilities } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type BuiltCommand, buildFakeCommand, LineClient } from './front-process.ts';

/** The type that the SDKs use. */
type Elicitation = NonNullable<ClientCapabilities['elicitation']>;
type Reply = { action: 'accept' | 'decline' | 'cancel'; content?: Record<string, string> };
type Answerer = (params: Record<string, unknown>, signal: AbortSignal) => Promise<Reply> | Reply;

interface AnyClient {
  call(code: string, signal?: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
}

const identity = { name: 'asking-test', version: '1' };
const open: { close(): Promise<unknown> }[] = [];
let server: BuiltCommand;

beforeAll(async () => {
  server = await buildFakeCommand();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
});
afterAll(() => server.remove());

async function connectNew(
  isModern: boolean,
  elicitation: Elicitation | undefined,
  answerer: Answerer,
): Promise<AnyClient> {
  const mode = isModern ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {};
  const capabilities = elicitation === undefined ? {} : { elicitation };
  const client = new Client(identity, { capabilities, ...mode });
  if (elicitation !== undefined) {
    client.setRequestHandler('elicitation/create', (request, { mcpReq }) => answerer(request.params, mcpReq.signal));
  }
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [server.script], stderr: 'ignore' }),
  );
  return {
    call: (code, signal) => client.callTool({ name: 'run_python', arguments: { code } }, { ...(signal && { signal }) }),
    close: () => client.close(),
  };
}

async function connectOld(elicitation: Elicitation | undefined, answerer: Answerer): Promise<AnyClient> {
  const client = new OldClient(identity, { capabilities: elicitation === undefined ? {} : { elicitation } });
  if (elicitation !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => answerer(params, signal));
  }
  await client.connect(
    new OldStdioClientTransport({ command: process.execPath, args: [server.script], stderr: 'ignore' }),
  );
  return {
    call: (code, signal) =>
      client.callTool({ name: 'run_python', arguments: { code } }, undefined, { ...(signal && { signal }) }),
    close: () => client.close(),
  };
}

const clients: [string, (elicitation: Elicitation | undefined, answerer: Answerer) => Promise<AnyClient>][] = [
  ['SDK 2, 2026-07-28', (elicitation, answerer) => connectNew(true, elicitation, answerer)],
  ['SDK 2, 2025-11-25', (elicitation, answerer) => connectNew(false, elicitation, answerer)],
  ['SDK 1, 2025-11-25', connectOld],
];

describe.each(clients)('%s', (_name, connect) => {
  async function connected(elicitation: Elicitation | undefined, answerer: Answerer): Promise<AnyClient> {
    const client = await connect(elicitation, answerer);
    open.push(client);
    return client;
  }
  const repliesTo = (replies: unknown[]) => ({ structuredContent: { result: JSON.stringify(replies) } });

  test('is asked several questions in sequence within one call', async () => {
    const asked: unknown[] = [];
    const replies: Reply[] = [
      { action: 'accept', content: { answer: 'yes' } },
      { action: 'decline' },
      { action: 'cancel' },
    ];
    const client = await connected({ form: {} }, (params) => {
      asked.push([params['message'], params['requestedSchema']]);
      return replies[asked.length - 1] ?? { action: 'cancel' };
    });
    const form = {
      type: 'object',
      properties: { answer: { type: 'string', enum: ['yes', 'no'] } },
      required: ['answer'],
    };
    expect(await client.call('ask one two three')).toMatchObject(repliesTo(replies));
    expect(asked).toEqual(['one', 'two', 'three'].map((word) => [word, form]));
  });

  test.each([
    ['an empty capability, which means forms', {}, '["no answer","nobody"]'],
    ['forms only', { form: {} }, '["no answer","nobody"]'],
    ['forms and pages', { form: {}, url: {} }, '["no answer","no answer"]'],
    ['none', undefined, '["nobody","nobody"]'],
  ] satisfies [string, Elicitation | undefined, string][])(
    'is asked only for what it can show: %s',
    async (_, elicitation, expected) => {
      const seen: unknown[] = [];
      const client = await connected(elicitation, (params) => {
        seen.push(params['url']);
        return { action: 'decline' };
      });
      const result = JSON.stringify(await client.call('ask one https://example.com/page'));
      expect(result).toContain(JSON.stringify(expected.replaceAll('"no answer"', '{"action":"decline"}')).slice(1, -1));
      expect(seen).toEqual([undefined, 'https://example.com/page'].slice(0, expected.split('no answer').length - 1));
    },
  );

  test('may answer too late, and still gets the result', async () => {
    const late: { release?: () => Promise<unknown> } = {};
    const client = await connected({ form: {} }, async () => {
      await late.release?.();
      return { action: 'accept', content: { answer: 'yes' } };
    });
    late.release = () => client.call('release');
    expect(await client.call('ask one')).toMatchObject(repliesTo(['no reply']));
  });
});

describe('an older client', () => {
  test('that cancels the call ends the question and the cell', async () => {
    const cancel = new AbortController();
    let taken: Promise<void> | undefined;
    const client = await connectOld({ form: {} }, (_, signal) => {
      taken = new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve());
      });
      cancel.abort();
      return taken.then(() => ({ action: 'cancel' }) as const);
    });
    open.push(client);
    await expect(client.call('ask one', cancel.signal)).rejects.toThrow();
    await taken;
  });

  test('that disconnects ends the question and the cell', async () => {
    const client = new LineClient(server.script);
    const capabilities = { elicitation: { form: {} } };
    await client.request('init', 'initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo: identity });
    client.write({ jsonrpc: '2.0', method: 'notifications/initialized' }, oldCall(1, 'ask one'));
    await client.until(() => client.messages.find(({ method }) => method === 'elicitation/create'));
    client.child.stdin.end();
    expect(await client.exited).toEqual([0, null]);
    expect(client.log).toMatch(/event: cancelled\n[^]*event: asked\n/);
  });
});

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': identity,
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
};
const oldCall = (id: number, code: string) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'run_python', arguments: { code } },
});

describe('a client of 2026-07-28', () => {
  const yes = { question_1: { action: 'accept', content: { answer: 'yes' } } };

  function start() {
    const client = new LineClient(server.script);
    open.push({
      close() {
        client.child.stdin.end();
        return client.exited;
      },
    });
    let id = 0;
    const call = (code: string, more: object = {}) => {
      id += 1;
      const params = { name: 'run_python', arguments: { code }, _meta: META, ...more };
      return client.request(id, 'tools/call', params);
    };
    return { client, call };
  }

  test('gets the question as the result of its request, and the answer on the next request', async () => {
    const { client, call } = start();
    const { result } = await call('ask one');
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { question_1: { method: 'elicitation/create', params: { message: 'one' } } },
      requestState: expect.stringMatching(/^[\w-]{43}$/),
    });
    const { requestState } = result;
    expect(await call('ask one', { requestState, inputResponses: yes })).toMatchObject({
      result: { resultType: 'complete', structuredContent: { result: JSON.stringify([yes.question_1]) } },
    });
    expect(client.messages.every(({ method }) => method === undefined)).toBe(true);
  });

  test('cannot reuse a token, use it with other arguments, or forge one', async () => {
    const { call } = start();
    const { requestState } = (await call('ask one')).result;
    const refused = (why: string) => ({ error: { code: -32602, message: expect.stringContaining(why) } });
    expect(await call('ask two', { requestState, inputResponses: yes })).toMatchObject(refused('other arguments'));
    expect(await call('ask one', { requestState: 'A'.repeat(43), inputResponses: yes })).toMatchObject(
      refused('unknown'),
    );
    await call('ask one', { requestState, inputResponses: yes });
    expect(await call('ask one', { requestState, inputResponses: yes })).toMatchObject(refused('used before'));
  });

  test('is asked again if it returns without a reply', async () => {
    const { call } = start();
    const first = (await call('ask one')).result;
    const again = (await call('ask one', { requestState: first.requestState })).result;
    expect(again).toMatchObject({ resultType: 'input_required', inputRequests: first.inputRequests });
    expect(again.requestState).not.toBe(first.requestState);
    const last = await call('ask one', { requestState: again.requestState, inputResponses: yes });
    expect(last.result).toMatchObject({ resultType: 'complete' });
  });

  test('that sends an invalid reply gets the error in the cell', async () => {
    const { call } = start();
    const { requestState } = (await call('ask one')).result;
    const inputResponses = { question_1: { action: 'accept', content: { answer: { not: 'a field' } } } };
    expect(await call('ask one', { requestState, inputResponses })).toMatchObject({
      result: { structuredContent: { result: '["no reply"]' } },
    });
  });

  test('that never comes back finds the outcome in the next answer of the session', async () => {
    const { client, call } = start();
    const { requestState } = (await call('ask one')).result;
    await call('release');
    await client.untilLog('event: asked');
    const next = (await call('2 + 2')).result;
    expect(next.content[0].text).toMatch(
      /ended with status success; it asked the person, .* and this answer was not delivered:\n\["no reply"\]$/,
    );
    expect((await call('3')).result.content[0].text).toBe('3');
    // The reply may still arrive.
    const late = await call('ask one', { requestState, inputResponses: yes });
    expect(late.result).toMatchObject({ structuredContent: { result: '["no reply"]' } });
  });

  test('that disconnects ends the cell that waits for its reply', async () => {
    const { client, call } = start();
    await call('ask one');
    client.child.stdin.end();
    expect(await client.exited).toEqual([0, null]);
    expect(client.log).toContain('event: asked\n');
  });
});
