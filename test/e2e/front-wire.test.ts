// Tags: anywhere, full
/** The front on the wire: misbehaving clients, and how the process ends. */
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { type LineClient, setUpLineClients } from './front-process.ts';

const start = setUpLineClients();

async function connected(env: Record<string, string> = {}): Promise<LineClient> {
  const client = start(env);
  await client.initialize();
  return client;
}

const modern = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  },
};

describe('what a client may send', () => {
  test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])('the protocol version %s', async (version) => {
    const client = start();
    expect((await client.initialize(version)).result.protocolVersion).toBe(version);
    expect((await client.request(1, 'tools/list')).result.tools).toHaveLength(1);
  });

  test('a stateless request of 2026-07-28, without a handshake', async () => {
    const client = start();
    const { result } = await client.request(1, 'tools/list', modern);
    expect(result).toMatchObject({ resultType: 'complete', ttlMs: 3_600_000, cacheScope: 'private' });
    expect(result.tools).toHaveLength(1);
  });

  test('lists of the older era have no fields of the newer one', async () => {
    const client = await connected();
    expect(Object.keys((await client.request(1, 'tools/list')).result)).toEqual(['tools']);
  });

  test('blank lines, garbage and other JSON, which are ignored', async () => {
    const client = await connected();
    client.write('', '   ', '\r', 'npm warn something', '{"half":', '[]', 'null', '"text"', '17', '{}', '\u0000\u2028');
    client.child.stdin.write(Buffer.from([0xff, 0xfe, 0x0a]));
    expect((await client.run(1, { code: '1' })).result.isError).toBe(false);
    expect(client.messages).toHaveLength(2);
  });

  test('lines that end with CRLF, and two messages in one write', async () => {
    const client = await connected();
    const line = (id: number): string => JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' });
    client.child.stdin.write(`${line(1)}\r\n${line(2)}\r\n`);
    expect(await client.answer(1)).toMatchObject({ result: {} });
    expect(await client.answer(2)).toMatchObject({ result: {} });
  });

  test('an invalid request: refused by its id, and the connection stays open', async () => {
    const client = await connected();
    client.write({ id: 1, method: 'tools/list' }, { jsonrpc: '1.0', id: 2, method: 'tools/list' });
    client.write(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":${'['.repeat(50_000)}${']'.repeat(50_000)}}`);
    client.write(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"x":[${'0,'.repeat(200_000)}0]}}`);
    expect((await client.answer(1)).error.code).toBe(-32600);
    expect((await client.answer(2)).error.code).toBe(-32600);
    expect((await client.answer(3)).error).toMatchObject({
      code: -32600,
      message: expect.stringContaining('200 levels'),
    });
    expect((await client.answer(5)).error).toMatchObject({
      code: -32600,
      message: 'Invalid Request: too large: more than 100,000 values',
    });
    expect((await client.run(4, { code: '1' })).result.isError).toBe(false);
  });

  // The SDK drops such requests, so their clients waited forever.
  test.each(['ping', 'tools/list', 'resources/list'])(
    '%s with params that are null, which counts as none',
    async (method) => {
      const client = await connected();
      client.write({ jsonrpc: '2.0', id: 1, method, params: null });
      client.write({ jsonrpc: '2.0', id: 2, method, params: { _meta: null } });
      const answers = [await client.answer(1), await client.answer(2), await client.request(3, method)];
      expect(answers.map(({ result }) => result)).toEqual(Array(3).fill(answers[2]?.['result']));
      expect(answers[0]?.['result']).toBeDefined();
    },
  );

  test.each([
    ['params in a list', { params: [] }, '"params" must be an object'],
    ['a list as _meta', { params: { _meta: [] } }, '"_meta" must be an object'],
    [
      'a token that is null',
      { params: { _meta: { progressToken: null } } },
      '"progressToken" must be a string or an integer',
    ],
    ['an id with a fraction', { id: 1.5 }, '"id" must be a string or an integer'],
    ['another member', { token: 'x' }, 'a request has no member "token"'],
    ['a method that is a number', { method: 1 }, '"method" must be a string'],
  ])('%s: refused by its id', async (_name, members, reason) => {
    const client = await connected();
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/list', ...members };
    client.write(request);
    const error = { code: -32600, message: `Invalid Request: ${reason}` };
    expect(await client.answer(request.id)).toEqual({ jsonrpc: '2.0', id: request.id, error });
    expect((await client.request(2, 'ping')).result).toEqual({});
  });

  test.each([
    ['at first', []],
    [
      'after a cell',
      [{ jsonrpc: '2.0', id: 0, method: 'tools/call', params: { name: 'run_python', arguments: { code: '1' } } }],
    ],
  ])('a batch (2025-03-26), %s: each of its requests is answered', async (_name, before) => {
    const client = start();
    await client.initialize('2025-03-26');
    client.write(...before);
    client.write([
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 99 } },
      { jsonrpc: '2.0', id: 2, method: 'tools/list', params: null },
      { jsonrpc: '2.0', id: 3, method: 'tools/list', params: [] },
      { jsonrpc: '2.0', id: 4, method: 'tools/call', params: { name: 'run_python', arguments: { code: '2' } } },
      7,
    ]);
    expect((await client.answer(1)).result).toEqual({});
    expect((await client.answer(2)).result.tools).toHaveLength(1);
    expect((await client.answer(3)).error.code).toBe(-32600);
    expect((await client.answer(4)).result.structuredContent.result).toBe('2');
  });

  test('a batch of too many: each of its requests is refused', async () => {
    const client = await connected();
    client.write(Array.from({ length: 101 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })));
    const { error } = await client.answer(100);
    expect(error.message).toBe('Invalid Request: a batch of 101 messages; the limit is 100');
    expect(client.messages).toHaveLength(102);
  });

  test('params of the wrong form: a sentence that names them', async () => {
    const client = start();
    const params = { protocolVersion: 5, capabilities: [], clientInfo: { name: 'test' } };
    expect((await client.request(1, 'initialize', params)).error).toEqual({
      code: -32602,
      message:
        'Invalid params: params.protocolVersion must be a string, params.capabilities must be an object, params.clientInfo.version is missing',
    });
    expect((await client.initialize()).result.protocolVersion).toBe('2025-11-25');
  });

  test('ids that differ only in their type are different ids', async () => {
    const client = await connected();
    client.write({
      jsonrpc: '2.0',
      id: 7,
      method: 'tools/call',
      params: { name: 'run_python', arguments: { code: 'wait' } },
    });
    await client.untilLog('event: waiting');
    expect((await client.run('7', { code: '1' })).result.structuredContent.result).toBe('1');
    client.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: '7' } });
    await client.request(8, 'ping');
    expect(client.log).not.toContain('event: cancelled');
    client.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
    await client.untilLog('event: cancelled');
  });

  test('unknown methods and unknown tools, which are protocol errors', async () => {
    const client = await connected();
    expect((await client.request(1, 'prompts/list')).error.code).toBe(-32601);
    expect((await client.request(2, 'toString')).error.code).toBe(-32601);
    expect((await client.request(3, 'tools/call', { name: 'other', arguments: {} })).error).toEqual({
      code: -32602,
      message: 'Unknown tool: "other"; the only one is run_python.',
    });
    expect((await client.request(4, 'tools/call')).error.code).toBe(-32602);
  });

  test.each([
    ['no arguments', undefined, '`code` is missing'],
    ['arguments that are not an object', 'x', "The arguments are 'x'"],
    ['an empty object', {}, '`code` is missing'],
    ['a prototype in disguise', JSON.parse('{"__proto__":{"code":"x"}}'), "There is no argument '__proto__'"],
  ])('%s: a result with our message', async (_name, args, sentence) => {
    const client = await connected();
    const { result } = await client.run(1, args);
    expect(result).toMatchObject({ isError: true, structuredContent: { status: 'validation_error' } });
    expect(result.content[0].text).toContain(sentence);
  });

  test('12 MB of code, which is refused while the connection stays open', async () => {
    const client = await connected();
    const { result } = await client.run(1, { code: 'x'.repeat(12 * 1024 * 1024) });
    expect(result.structuredContent.error).toContain('`code` has 12,582,912 bytes');
    expect((await client.run(2, { code: '1' })).result.isError).toBe(false);
  });

  test('1,000 concurrent calls, without a warning from Node', async () => {
    const client = await connected();
    const ids = Array.from({ length: 1000 }, (_, index) => index);
    const answers = await Promise.all(ids.map((id) => client.run(id, { code: String(id) })));
    expect(answers.map(({ result }) => result.structuredContent.result)).toEqual(ids.map(String));
    expect(client.log).not.toContain('Warning');
  });

  test('a cancellation: the cell is cancelled, and no answer is sent', async () => {
    const client = await connected();
    client.write({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'run_python', arguments: { code: 'wait' } },
    });
    await client.untilLog('event: waiting');
    client.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await client.untilLog('event: cancelled');
    await client.request(2, 'ping');
    expect(client.messages.map(({ id }) => id)).toEqual(['init', 2]);
  });

  test('no progress token: no progress', async () => {
    const client = await connected();
    const progress = client.run(1, { code: 'progress' });
    await client.run(2, { code: 'release' });
    await progress;
    expect(client.messages.filter(({ method }) => method === 'notifications/progress')).toEqual([]);
  });
});

describe('failures of the bridge', () => {
  test('an unexpected exception becomes a result, and its stack is in the log', async () => {
    const client = await connected();
    const { result } = await client.run(1, { code: 'crash' });
    expect(result.isError).toBe(true);
    expect(result.content[0].text).toContain('INTERNAL: a fault in the bridge');
    expect(client.log).toMatch(/TypeError: a fault in the bridge.* at crash/);
  });

  test('an uncaught exception ends the process cleanly', async () => {
    const client = await connected();
    await client.run(1, { code: 'uncaught' });
    expect(await client.exited).toEqual([70, null]);
    expect(client.log).toContain('nobody caught this');
    expect(client.log).toContain('event: closed');
  });
});

test('a client that closes our stderr loses only log lines', async () => {
  const client = await connected();
  client.child.stderr.destroy();
  expect((await client.run(1, { code: 'crash' })).result.isError).toBe(true);
  await client.run(2, { code: 'crash' });
  expect((await client.run(3, { code: '1' })).result.isError).toBe(false);
});

test('an unknown resource is refused with its URI', async () => {
  const client = await connected();
  const { error } = await client.request(1, 'resources/read', { uri: 'test://none' });
  expect(error).toEqual({
    code: -32602,
    message: expect.stringContaining('"test://none"'),
    data: { uri: 'test://none' },
  });
});

describe('the start', () => {
  test('creates no bridge before the first cell', async () => {
    const client = await connected();
    await client.request(1, 'resources/list');
    await client.request(2, 'resources/read', { uri: 'resource://mcp-server-code-execution-mode/capabilities' });
    expect(client.log).not.toContain('event: created');
    await client.run(3, { code: '1' });
    await client.untilLog('event: created');
  });

  test('loads modules for the first cell after the tools were listed', async () => {
    const client = await connected();
    await client.request(1, 'tools/list');
    expect(await client.untilLog('event: preloaded')).toBe(true);
  });
});

describe('the end', () => {
  test('comes at the end of stdin', async () => {
    const client = await connected();
    await client.run(1, { code: '1' });
    client.child.stdin.end();
    expect(await client.exited).toEqual([0, null]);
    expect(client.log).toContain('event: closed');
  });

  test('answers requests sent just before the end of stdin', async () => {
    const client = await connected();
    client.write({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    client.child.stdin.end();
    await client.exited;
    expect(client.messages.map(({ id }) => id)).toEqual(['init', 1]);
  });

  test('stops a cell whose client has disconnected', async () => {
    const client = await connected();
    client.write({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'run_python', arguments: { code: 'wait' } },
    });
    await client.untilLog('event: waiting');
    client.child.stdin.end();
    expect(await client.exited).toEqual([0, null]);
    expect(client.log).toContain('event: cancelled');
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
    ['SIGHUP', 129],
  ] as const)('comes on %s; a running cell is answered first', async (signal, exitCode) => {
    const client = await connected();
    const running = client.run(1, { code: 'wait' });
    await client.untilLog('event: waiting');
    client.child.kill(signal);
    expect((await running).result.content[0].text).toContain('SESSION_LOST');
    expect(await client.exited).toEqual([exitCode, null]);
    expect(client.log).toContain('event: closed');
  });

  test('does not come on SIGUSR1, and no debugger opens', async () => {
    const client = await connected();
    client.child.kill('SIGUSR1');
    expect((await client.request(1, 'ping')).result).toEqual({});
    expect(client.log).not.toContain('Debugger');
  });

  test('comes when the client stops reading and closes its side', async () => {
    const client = await connected();
    await client.run(1, { code: '1' });
    client.child.stdout.destroy();
    client.write({ jsonrpc: '2.0', id: 2, method: 'tools/list' });
    expect(await client.exited).toEqual([0, null]);
    expect(client.log).toContain('event: closed');
  });

  test('comes even if a session does not end', async () => {
    const client = await connected();
    await client.run(1, { code: 'stubborn' });
    client.child.stdin.end();
    expect(await client.exited).toEqual([0, null]);
    expect(client.log).toContain('shutdown took longer than');
  });

  test('comes even if output is not read', async () => {
    const client = await connected();
    client.child.stdout.pause();
    const code = `print ${'x'.repeat(30_000)}`;
    const call = (id: number) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'run_python', arguments: { code } },
    });
    client.write(...Array.from({ length: 100 }, (_, id) => call(id)));
    client.child.kill('SIGTERM');
    // Not `exited`, which waits until all output is read.
    expect(await once(client.child, 'exit')).toEqual([143, null]);
  });
});
