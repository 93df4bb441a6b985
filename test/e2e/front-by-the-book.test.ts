// Tags: anywhere, full
/**
 * The front over stdio, against the text of the specification: https://modelcontextprotocol.io/specification/REVISION/PAGE. Each test names its pages and
 * sections. Tests in front-wire.test.ts, front-clients.test.ts and front-asking.test.ts are not repeated; the official suite covers HTTP.
 */
import { describe, expect, test } from 'vitest';
import { type LineClient, setUpLineClients } from './front-process.ts';

const KEY = 'io.modelcontextprotocol';
const ENVELOPE = {
  [`${KEY}/protocolVersion`]: '2026-07-28',
  [`${KEY}/clientInfo`]: { name: 'book', version: '1' },
  [`${KEY}/clientCapabilities`]: {},
};

const start = setUpLineClients();

/** A client of the given revision, ready to send requests, and the `_meta` of its requests. */
async function connect(revision: string): Promise<{ client: LineClient; meta: object }> {
  const client = start();
  if (revision === '2025-11-25') {
    await client.initialize();
    return { client, meta: {} };
  }
  return { client, meta: ENVELOPE };
}

function cell(id: number | string, code: string, meta: object) {
  return {
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'run_python', arguments: { code }, _meta: meta },
  };
}

describe.each(['2025-11-25', '2026-07-28'])('a client of %s', (revision) => {
  // 2025-11-25 basic/utilities/progress, 2026-07-28 basic/patterns/progress: Progress Flow, Behavior Requirements.
  test('gets increasing progress with its own tokens, and none after the answer', async () => {
    const { client, meta } = await connect(revision);
    const tokens = [0, 'token é', '0'];
    client.write(...tokens.map((progressToken, id) => cell(id, 'progress', { ...meta, progressToken })));
    client.write(cell(7, 'progress', meta));
    const reports = () => client.messages.filter(({ method }) => method === 'notifications/progress');
    await client.until(() => reports().length === 9);
    client.write(cell(8, 'release', meta));
    await Promise.all([0, 1, 2, 7, 8].map((id) => client.answer(id)));
    for (const [id, token] of tokens.entries()) {
      const own = reports().filter(({ params }) => params.progressToken === token);
      const values = own.map(({ params }) => params.progress as number);
      expect(values).toHaveLength(3);
      expect(values.every((value, index) => index === 0 || value > (values[index - 1] ?? 0))).toBe(true);
      const answered = client.messages.findIndex((message) => message['id'] === id && !('method' in message));
      expect(client.messages.lastIndexOf(own[2] ?? {})).toBeLessThan(answered);
    }
    expect(reports().every((report) => report['id'] === undefined)).toBe(true);
  });

  // 2025-11-25 basic/utilities/cancellation, 2026-07-28 basic/patterns/cancellation: Behavior Requirements, Error Handling.
  test('cancels a request by its id without getting a response, and affects no other request with an invalid notification', async () => {
    const { client, meta } = await connect(revision);
    client.write(cell('1', 'wait', meta));
    await client.untilLog('event: waiting');
    const cancel = (params: unknown) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    client.write(cancel({ requestId: 1 }), cancel({ requestId: 'unknown' }), cancel({}), cancel(undefined));
    client.write(cell(2, 'first', meta));
    expect((await client.answer(2)).result.structuredContent.result).toBe('first');
    expect(client.log).not.toContain('event: cancelled');
    client.write(cancel({ requestId: '1', reason: 'changed my mind' }));
    await client.untilLog('event: cancelled');
    client.write(cancel({ requestId: '1' }), cell(3, 'second', meta));
    await client.answer(3);
    expect(client.messages.map(({ id }) => id).filter((id) => id !== 'init')).toEqual([2, 3]);
  });

  // basic, Responses and Notifications: the id of the request and its type; no response to a notification.
  test('gets each response under the id of its request, and none to a notification', async () => {
    const { client, meta } = await connect(revision);
    const ids = [0, -7, 2 ** 53 - 1, '', '0', 'ünï'];
    client.write({ jsonrpc: '2.0', method: 'notifications/unknown', params: { _meta: meta } });
    client.write(...ids.map((id) => cell(id, String(id), meta)));
    await Promise.all(ids.map((id) => client.answer(id)));
    const answers = client.messages.filter(({ id }) => id !== 'init');
    expect(answers).toHaveLength(ids.length);
    expect(new Set(answers.map(({ id }) => id))).toEqual(new Set(ids));
    expect(answers.every(({ jsonrpc, result }) => jsonrpc === '2.0' && result.content[0].type === 'text')).toBe(true);
  });

  // server/tools, Listing Tools and Capabilities: the list does not depend on the connection or its history.
  test('sees the same tools on every connection', async () => {
    const [one, other] = [await connect(revision), await connect(revision)];
    const list = ({ client, meta }: typeof one, id: number) => client.request(id, 'tools/list', { _meta: meta });
    const before = await list(one, 1);
    await one.client.request(2, 'tools/call', cell(2, 'servers', one.meta).params);
    expect((await list(one, 1)).result).toEqual(before.result);
    expect((await list(other, 1)).result).toEqual(before.result);
    const [tool] = before.result.tools;
    expect(tool).toMatchObject({ name: expect.stringMatching(/^[\w.-]{1,128}$/), inputSchema: { type: 'object' } });
  });
});

describe('a client of 2025-11-25', () => {
  // basic/lifecycle, Version Negotiation and Capability Negotiation.
  test('that proposes an unknown version is offered a known one and the capabilities', async () => {
    const client = start();
    const { result } = await client.initialize('1999-01-01');
    expect(result).toMatchObject({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, resources: {}, tasks: { requests: { tools: { call: {} } } } },
    });
    expect(Object.keys(result.capabilities)).toEqual(['tools', 'resources', 'tasks']);
    expect((await client.request(1, 'ping')).result).toEqual({});
  });
});

describe('a client of 2026-07-28', () => {
  // server/discover; basic, Per-response protocol fields; server/utilities/caching.
  test('gets everything it needs from server/discover', async () => {
    const { client, meta } = await connect('2026-07-28');
    const { result } = await client.request(1, 'server/discover', { _meta: meta });
    expect(result).toMatchObject({
      resultType: 'complete',
      supportedVersions: expect.arrayContaining(['2026-07-28']),
      capabilities: { tools: {}, resources: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
      instructions: expect.any(String),
      ttlMs: expect.any(Number),
      cacheScope: expect.stringMatching(/^(public|private)$/),
    });
  });

  // basic, Result Responses and Per-response protocol fields; server/utilities/caching for lists.
  test('gets the result type and the server name with every result', async () => {
    const { client, meta } = await connect('2026-07-28');
    const uri = 'resource://mcp-server-code-execution-mode/capabilities';
    const requests: [string, object, boolean][] = [
      ['server/discover', {}, true],
      ['tools/list', {}, true],
      ['resources/list', {}, true],
      ['resources/templates/list', {}, true],
      ['resources/read', { uri }, true],
      ['tools/call', { name: 'run_python', arguments: { code: '1' } }, false],
    ];
    for (const [id, [method, params, isCached]] of requests.entries()) {
      const { result } = await client.request(id, method, { ...params, _meta: meta });
      expect({ method, type: result.resultType, isCached: result.ttlMs >= 0 }).toEqual({
        method,
        type: 'complete',
        isCached,
      });
      expect(result._meta[`${KEY}/serverInfo`]).toMatchObject({ name: 'mcp-server-code-execution-mode' });
    }
  });

  // basic, Per-request protocol fields: a request that lacks a required field is refused with -32602.
  test('gets an error for a request that lacks a required field', async () => {
    const { client } = await connect('2026-07-28');
    const { [`${KEY}/clientCapabilities`]: _, ...lacking } = ENVELOPE;
    expect((await client.request(1, 'tools/list', { _meta: lacking })).error.code).toBe(-32602);
    const { [`${KEY}/clientInfo`]: __, ...enough } = ENVELOPE;
    expect((await client.request(2, 'tools/list', { _meta: enough })).result.tools).toHaveLength(1);
  });

  // basic/versioning, Protocol Version Negotiation.
  test('gets the list of supported versions if it requests another', async () => {
    const { client } = await connect('2026-07-28');
    const meta = { ...ENVELOPE, [`${KEY}/protocolVersion`]: '1900-01-01' };
    const { error } = await client.request(1, 'tools/list', { _meta: meta });
    expect(error).toMatchObject({ code: -32022, data: { requested: '1900-01-01' } });
    expect(error.data.supported).toContain('2026-07-28');
    expect((await client.request(2, 'tools/list', { _meta: ENVELOPE })).result.tools).toHaveLength(1);
  });

  // basic, Statelessness; basic/patterns/mrtr, Server Requirements 7: capabilities of one request do not apply to the next.
  test('is asked only in requests that declare elicitation', async () => {
    const { client } = await connect('2026-07-28');
    const asking = { ...ENVELOPE, [`${KEY}/clientCapabilities`]: { elicitation: { form: {} } } };
    const asked = await client.request(1, 'tools/call', cell(1, 'ask one', asking).params);
    expect(asked.result.resultType).toBe('input_required');
    const mute = await client.request(2, 'tools/call', cell(2, 'ask one', ENVELOPE).params);
    expect(mute.result).toMatchObject({ resultType: 'complete', structuredContent: { result: '["nobody"]' } });
  });

  // basic/patterns/mrtr, Error Handling: unknown replies are ignored.
  test('may send more replies than questions', async () => {
    const { client } = await connect('2026-07-28');
    const asking = { ...ENVELOPE, [`${KEY}/clientCapabilities`]: { elicitation: { form: {} } } };
    const { params } = cell(1, 'ask one', asking);
    const { requestState, inputRequests } = (await client.request(1, 'tools/call', params)).result;
    const reply = { action: 'accept', content: { answer: 'yes' } };
    const inputResponses = { [Object.keys(inputRequests)[0] ?? '']: reply, surplus: { action: 'decline' } };
    const { result } = await client.request(2, 'tools/call', { ...params, requestState, inputResponses });
    expect(result).toMatchObject({ resultType: 'complete', structuredContent: { result: JSON.stringify([reply]) } });
  });
});
