/** The opening and the hand-over, compared with the SDK's server alone: every byte that a client reads must be the same. */
import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { MAX_CLIENT_LINE_BYTES } from '../../../src/core/base/limits.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { LazyBridge } from '../../../src/core/session/lazy-bridge.ts';
import type { ClientFacts } from '../../../src/front/server/client-facts.ts';
import { FrontConnection } from '../../../src/front/server/front-connection.ts';
import type { Introduction } from '../../../src/front/server/introduction.ts';
import { OPENING_VERSIONS } from '../../../src/front/server/opening.ts';
import { type FrontOptions, serveClient } from '../../../src/front/server/server.ts';
import { StdioServerTransport } from '../../../src/front/server/stdio-transport.ts';
import { showRunPython } from '../../../src/front/server/tool-definition.ts';

/** What a client and the rest of the program see of one connection. */
interface Seen {
  readonly output: string;
  readonly errors: readonly string[];
  readonly clients: readonly string[];
  readonly listedTo: readonly ClientFacts[];
  readonly isClosed: boolean;
}

interface Connection {
  readonly input: PassThrough;
  readonly output: () => string;
  /** Lets the server take over. Does nothing if there is no opening. */
  readonly prepare: () => Promise<void>;
  readonly loads: () => number;
  readonly seen: () => Seen;
}

const SETTINGS = { defaultTimeoutSeconds: 30, maxTimeoutSeconds: 120, apps: true } as const;

function connect(hasOpening: boolean): Connection {
  const [input, wire] = [new PassThrough(), new PassThrough()];
  const [chunks, errors, clients, listedTo] = [[] as string[], [] as string[], [] as string[], [] as ClientFacts[]];
  let isClosed = false;
  let loads = 0;
  wire.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
  const transport = new StdioServerTransport(input, wire, () => {
    isClosed = true;
  });
  const introduction: Introduction = {
    version: '1.2.3',
    tools: [showRunPython(SETTINGS)],
    onClient: (name) => clients.push(name),
    onToolsListed: (client) => listedTo.push(client),
  };
  const rest: Omit<FrontOptions, keyof Introduction> = {
    bridge: new LazyBridge(() => Promise.reject(new BridgeError('ENGINE_UNAVAILABLE', 'no engine'))),
    resources: { list: async () => [], read: async () => undefined },
    outputMode: 'compact',
    maxOutputChars: 10_000,
    ...SETTINGS,
    logger: { ...silentLogger, debug: (message) => errors.push(message) },
  };
  const base = {
    input,
    output: () => chunks.join(''),
    loads: () => loads,
    seen: () => ({ output: chunks.join(''), errors, clients: [...new Set(clients)], listedTo, isClosed }),
  };
  if (!hasOpening) {
    const { tools: _tools, ...hooks } = introduction;
    serveClient(transport, { ...hooks, ...rest });
    return { ...base, prepare: async () => undefined };
  }
  const connection = new FrontConnection(transport, {
    introduction,
    loadServer: async () => {
      loads += 1;
      return (relay, { tools: _tools, ...hooks }) => serveClient(relay, { ...hooks, ...rest });
    },
    onerror: (error) => errors.push(`MCP: ${error.message}`),
  });
  void connection.start();
  return { ...base, prepare: () => connection.prepare() };
}

type Line = object | string;
const END = { jsonrpc: '2.0', id: 'end', method: 'no/such/method' };

const bytesOf = (lines: readonly Line[]): Buffer =>
  Buffer.from(lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''));

/** Everything here is answered without waiting for anything outside this process. */
async function settle(connection: Connection): Promise<void> {
  for (let turns = 0; turns < 30 || (turns < 3_000 && !connection.output().includes('"id":"end"')); turns += 1) {
    // biome-ignore lint/performance/noAwaitInLoops: one turn after the other.
    await turn();
  }
}

interface Exchange {
  /** The lines are written one by one, each as a whole unless this says otherwise. */
  readonly isOneChunk?: boolean;
  /** The background takes over after so many lines. */
  readonly prepareAfter?: number;
}

async function exchange(connection: Connection, lines: readonly Line[], how: Exchange = {}): Promise<Seen> {
  if (how.isOneChunk === true) {
    connection.input.write(bytesOf([...lines, END]));
  } else {
    for (const [index, line] of lines.entries()) {
      if (index === how.prepareAfter) {
        await connection.prepare();
      }
      connection.input.write(bytesOf([line]));
      await turn();
    }
    connection.input.write(bytesOf([END]));
  }
  await settle(connection);
  return connection.seen();
}

async function expectSame(lines: readonly Line[], how: Exchange = {}): Promise<Seen> {
  const expected = await exchange(connect(false), lines, how);
  expect(expected.output).toContain('"id":"end"');
  const seen = await exchange(connect(true), lines, how);
  expect(how.isOneChunk === true ? inAnyOrder(seen) : seen).toEqual(
    how.isOneChunk === true ? inAnyOrder(expected) : expected,
  );
  return expected;
}

/**
 * For messages that are read together: the SDK answers some of them at once and others a moment later, so a refusal overtakes
 * the answers to what came before it. The opening answers in the order of the messages.
 */
function inAnyOrder(seen: Seen): Seen {
  return { ...seen, output: seen.output.split('\n').toSorted().join('\n'), errors: seen.errors.toSorted() };
}

const request = (id: unknown, method: string, params?: unknown): object => ({
  jsonrpc: '2.0',
  id,
  method,
  ...(params !== undefined && { params }),
});
const CLIENT = { name: 'test', version: '1' };
const initialize = (params: object = {}): object =>
  request(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT, ...params });
const INITIALIZED = { jsonrpc: '2.0', method: 'notifications/initialized' };
const LIST = request(1, 'tools/list');
const CALL = request(2, 'tools/call', { name: 'run_python', arguments: { code: 5 } });
const META = 'io.modelcontextprotocol/';
const envelope = (more: object = {}): object => ({
  _meta: {
    [`${META}protocolVersion`]: '2026-07-28',
    [`${META}clientInfo`]: CLIENT,
    [`${META}clientCapabilities`]: {},
    ...more,
  },
});
const DISCOVER = request('d', 'server/discover', envelope());
const MODERN_LIST = request('l', 'tools/list', envelope());
const MODERN_CALL = request('c', 'tools/call', { name: 'run_python', arguments: { code: 5 }, ...envelope() });
const OPENED = [initialize(), INITIALIZED];
const VIEWS = { extensions: { [`${META}ui`]: { mimeTypes: ['text/html;profile=mcp-app'] } } };
const VIEWS_LIST = request('v', 'tools/list', envelope({ [`${META}clientCapabilities`]: VIEWS }));

/** Each with the lines that a client sends. */
const SCRIPTS: Readonly<Record<string, readonly Line[]>> = {
  'a usual start': [...OPENED, LIST],
  'a usual start and a call': [...OPENED, LIST, CALL],
  'a call at once': [...OPENED, CALL],
  'a client that shows views': [initialize({ capabilities: VIEWS }), INITIALIZED, LIST, CALL],
  'a client that shows forms': [initialize({ capabilities: { elicitation: {} } }), INITIALIZED, LIST],
  'all capabilities': [
    initialize({
      capabilities: {
        experimental: { x: { y: [1, null] } },
        extensions: { 'a/b': {} },
        roots: { listChanged: true },
        sampling: { context: {}, tools: {} },
        elicitation: { form: { applyDefaults: true }, url: {} },
        tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
        own: 5,
      },
      clientInfo: { ...CLIENT, title: 't', description: 'd', websiteUrl: 'not a URL', own: [] },
    }),
    INITIALIZED,
    LIST,
  ],
  icons: [initialize({ clientInfo: { ...CLIENT, icons: [{ src: 'data:' }] } }), INITIALIZED, LIST],
  'a client without a name': [initialize({ clientInfo: { name: '', version: '' } }), LIST],
  'a long name': [initialize({ clientInfo: { name: 'n'.repeat(1_000), version: '1' } }), LIST],
  'a version of the future': [initialize({ protocolVersion: '2099-01-01' }), LIST],
  'a version without a handshake': [initialize({ protocolVersion: '2026-07-28' }), LIST],
  'no version': [initialize({ protocolVersion: undefined }), LIST],
  'a number as version': [initialize({ protocolVersion: 20251125 }), LIST],
  'no client': [initialize({ clientInfo: undefined }), LIST],
  'a client without a version': [initialize({ clientInfo: { name: 'x' } }), LIST],
  'capabilities that are no object': [initialize({ capabilities: [] }), LIST],
  'a capability that is null': [initialize({ capabilities: { roots: null } }), LIST],
  'a number that is too large': [
    JSON.stringify(initialize({ capabilities: { experimental: { a: { b: 0 } } } })).replace('"b":0', '"b":1e999'),
    LIST,
  ],
  'a member named __proto__': ['{"jsonrpc":"2.0","id":1,"method":"ping","__proto__":1}', ...OPENED, LIST],
  'a client named __proto__': [
    JSON.stringify(initialize()).replace('"name"', '"__proto__":{"name":"p"},"title":"x","name"'),
    LIST,
  ],
  'two handshakes': [initialize(), initialize({ protocolVersion: '2024-11-05' }), INITIALIZED, LIST],
  'a list before the handshake': [LIST, initialize(), INITIALIZED, LIST],
  'a ping before the handshake': [request(7, 'ping'), ...OPENED, LIST],
  'a list without notifications/initialized': [initialize(), LIST, CALL],
  pings: [
    ...OPENED,
    request(7, 'ping'),
    request('7', 'ping', {}),
    request(8, 'ping', { _meta: { progressToken: 5 } }),
    LIST,
  ],
  'a ping with something else': [
    ...OPENED,
    request(7, 'ping', { x: 1 }),
    request(8, 'ping', null),
    request(9, 'ping', []),
  ],
  'ids of every kind': [...OPENED, ...['', 'x', -1, 0, 2 ** 53 - 1].map((id) => request(id, 'tools/list'))],
  'ids that are none': [...OPENED, ...[null, 1.5, 2 ** 53, true, {}].map((id) => request(id, 'tools/list'))],
  'the same id twice': [...OPENED, LIST, LIST, request(1, 'ping')],
  'a cursor': [...OPENED, request(1, 'tools/list', { cursor: 'abc' }), request(2, 'tools/list', { cursor: 5 })],
  'a list with something else': [
    ...OPENED,
    request(1, 'tools/list', { more: 1, requestState: 'x', inputResponses: {} }),
  ],
  'a list with params that are no object': [...OPENED, request(1, 'tools/list', null), request(2, 'tools/list', [])],
  'a progress token': [...OPENED, request(1, 'tools/list', { _meta: { progressToken: 'p', other: {} } })],
  'a progress token that is none': [...OPENED, request(1, 'tools/list', { _meta: { progressToken: 1.5 } })],
  'related tasks': [...OPENED, request(1, 'tools/list', { _meta: { [`${META}related-task`]: { taskId: 't' } } })],
  'related tasks that are none': [...OPENED, request(1, 'tools/list', { _meta: { [`${META}related-task`]: 1 } })],
  '_meta that is no object': [...OPENED, request(1, 'tools/list', { _meta: 5 })],
  'another member of the message': [...OPENED, { ...LIST, extra: 1 }, LIST],
  'a notification with an id': [initialize(), { ...INITIALIZED, id: 5 }, LIST],
  'a notification with params': [initialize(), { ...INITIALIZED, params: { _meta: {} } }, LIST],
  'a notification before the handshake': [INITIALIZED, ...OPENED, LIST],
  'a request as a notification': [...OPENED, { jsonrpc: '2.0', method: 'tools/list' }, LIST],
  'a cancellation': [
    ...OPENED,
    LIST,
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    CALL,
  ],
  'changed roots': [...OPENED, { jsonrpc: '2.0', method: 'notifications/roots/list_changed' }, LIST],
  'a logging level': [...OPENED, request(5, 'logging/setLevel', { level: 'debug' }), LIST],
  'other lists': [
    ...OPENED,
    request(3, 'resources/list'),
    request(4, 'prompts/list'),
    request(5, 'resources/templates/list'),
  ],
  'unknown methods': [
    ...OPENED,
    request(3, 'x'),
    request(4, 'toString'),
    request(5, '__proto__'),
    request(6, 'initialise'),
  ],
  'a message without a method': [...OPENED, { jsonrpc: '2.0', id: 5 }, { jsonrpc: '2.0' }, LIST],
  'a response to nothing': [
    { jsonrpc: '2.0', id: 5, result: {} },
    ...OPENED,
    { jsonrpc: '2.0', id: 5, error: { code: 1, message: 'x' } },
    LIST,
  ],
  garbage: ['', '   ', 'npm warn', '{"half":', 'null', '17', '"text"', ...OPENED, '\u0000', LIST],
  'a batch': [[initialize(), LIST], ...OPENED, [LIST, CALL], LIST],
  'another version of JSON-RPC': [
    { ...initialize(), jsonrpc: '1.0' },
    ...OPENED,
    { id: 5, method: 'tools/list' },
    LIST,
  ],
  'deep nesting': [
    ...OPENED,
    `{"jsonrpc":"2.0","id":5,"method":"ping","params":${'['.repeat(2_000)}${']'.repeat(2_000)}}`,
    LIST,
  ],
  'a discovery': [DISCOVER, MODERN_LIST, MODERN_CALL],
  'a discovery by a client that shows views': [
    request('d', 'server/discover', envelope({ [`${META}clientCapabilities`]: VIEWS })),
    VIEWS_LIST,
    MODERN_LIST,
  ],
  'two discoveries': [DISCOVER, DISCOVER, MODERN_LIST, DISCOVER],
  'a discovery before a handshake': [DISCOVER, ...OPENED, LIST, CALL],
  'a list without a discovery': [MODERN_LIST, MODERN_LIST, MODERN_CALL, DISCOVER],
  'a call without a discovery': [MODERN_CALL, MODERN_LIST],
  'an envelope after a handshake': [...OPENED, MODERN_LIST, LIST],
  'a handshake after an envelope': [MODERN_LIST, initialize(), LIST],
  'a handshake with an envelope': [
    { ...initialize(), params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT, ...envelope() } },
    LIST,
  ],
  'no envelope after a list with one': [MODERN_LIST, LIST, request(7, 'ping'), request(8, 'ping', envelope())],
  'an envelope without a client': [
    request(1, 'tools/list', envelope({ [`${META}clientInfo`]: undefined })),
    MODERN_CALL,
  ],
  'an envelope without capabilities': [
    request(1, 'tools/list', envelope({ [`${META}clientCapabilities`]: undefined })),
    MODERN_LIST,
  ],
  'an envelope of another version': [
    request(1, 'tools/list', envelope({ [`${META}protocolVersion`]: '2099-01-01' })),
    MODERN_LIST,
  ],
  'an envelope of an older version': [
    request(1, 'tools/list', envelope({ [`${META}protocolVersion`]: '2025-11-25' })),
    MODERN_LIST,
  ],
  'an envelope with a logging level': [
    request(1, 'tools/list', envelope({ [`${META}logLevel`]: 'info' })),
    MODERN_LIST,
  ],
  'an envelope with an invalid level': [request(1, 'tools/list', envelope({ [`${META}logLevel`]: 5 })), MODERN_LIST],
  'an envelope with something else': [
    request(1, 'tools/list', envelope({ [`${META}x`]: 5, y: 1, progressToken: 1 })),
    MODERN_LIST,
  ],
  'a subscription': [DISCOVER, request('s', 'subscriptions/listen', { notifications: {}, ...envelope() }), MODERN_LIST],
  'a discovery with something else': [request(1, 'server/discover', { x: 1, ...envelope() }), DISCOVER, MODERN_LIST],
  'a discovery without an envelope': [request(1, 'server/discover'), DISCOVER, MODERN_LIST],
};

describe('answers as the SDK alone does', () => {
  test.each(Object.entries(SCRIPTS))('%s', async (_name, lines) => {
    await expectSame(lines);
  });

  // A request that was answered at once can no longer be cancelled.
  test.each(Object.entries(SCRIPTS).filter(([name]) => name !== 'a cancellation'))(
    '%s, read together',
    async (_name, lines) => {
      await expectSame(lines, { isOneChunk: true });
    },
  );

  test.each(Object.entries(SCRIPTS))('%s, with the server taking over in between', async (_name, lines) => {
    for (const prepareAfter of lines.keys()) {
      await expectSame(lines, { prepareAfter });
    }
  });

  test.each([...OPENING_VERSIONS, '2024-10-08', ''])('version %j', async (protocolVersion) => {
    await expectSame([initialize({ protocolVersion }), INITIALIZED, LIST, CALL]);
  });

  test('lines that come byte by byte', async () => {
    const bytes = bytesOf([...OPENED, LIST, CALL, END]);
    const outputs: Seen[] = [];
    for (const connection of [connect(false), connect(true)]) {
      for (const byte of bytes) {
        connection.input.write(Buffer.from([byte]));
      }
      await settle(connection);
      outputs.push(connection.seen());
    }
    expect(outputs.map(inAnyOrder)[1]).toEqual(outputs.map(inAnyOrder)[0]);
  });

  test('a line that is too long', async () => {
    const long = JSON.stringify(request(9, 'tools/list', { cursor: 'x'.repeat(MAX_CLIENT_LINE_BYTES) }));
    await expectSame([initialize(), long, LIST, CALL], { isOneChunk: true });
  }, 120_000);

  test.each([
    ['a start', [...OPENED, LIST]],
    ['a request that the server must answer', [request(1, 'no/such/method')]],
    ['a handshake and such a request', [...OPENED, request(1, 'resources/templates/list')]],
  ])('%s right before the end of the input', async (_name, lines) => {
    const seen: Seen[] = [];
    for (const connection of [connect(false), connect(true)]) {
      connection.input.end(bytesOf(lines));
      await settle(connection);
      seen.push(connection.seen());
    }
    expect(seen[0]?.output).not.toBe('');
    expect(seen[0]?.isClosed).toBe(true);
    expect(seen[1]).toEqual(seen[0]);
  });

  test('whatever a message has in place of what it should have', async () => {
    const messages = [initialize(), INITIALIZED, LIST, DISCOVER, MODERN_LIST, request(3, 'ping', {})];
    const junk = fc.oneof(
      fc.constantFrom<unknown>(
        null,
        undefined,
        '',
        'x',
        0,
        1.5,
        -1,
        true,
        [],
        {},
        [{}],
        { form: 1 },
        { listChanged: 1 },
      ),
      fc.constantFrom<unknown>('2025-06-18', '2026-07-28', { name: 'a', version: 'b' }, { a: {} }, { a: { b: [] } }),
    );
    const names = fc.constantFrom(
      'roots',
      'sampling',
      'elicitation',
      'experimental',
      'extensions',
      'tasks',
      'form',
      'url',
      'list',
      'requests',
      'name',
      'version',
      'title',
      'icons',
      'websiteUrl',
      'progressToken',
      'cursor',
      '_meta',
      'params',
      'id',
      'method',
      ...['protocolVersion', 'clientInfo', 'clientCapabilities', 'logLevel'].map((name) => `${META}${name}`),
      'capabilities',
      'clientInfo',
      'protocolVersion',
    );
    const change = fc.record({ name: names, value: junk, depth: fc.nat(4) });
    const changed = fc
      .tuple(fc.constantFrom(...messages), fc.array(change, { maxLength: 2 }))
      .map(([message, changes]) => changes.reduce(withMember, message));
    await fc.assert(
      fc.asyncProperty(fc.array(changed, { minLength: 1, maxLength: 4 }), async (lines) => {
        await expectSame(lines);
      }),
      { numRuns: 150 },
    );
  }, 120_000);
});

interface Change {
  readonly name: string;
  readonly value: unknown;
  readonly depth: number;
}

/** The message with a member set in the first object at this depth, or as deep as there is one. */
function withMember(message: object, { name, value, depth }: Change): object {
  const inner = Object.entries(message).find(([, member]) => typeof member === 'object' && member !== null);
  return depth === 0 || inner === undefined
    ? { ...message, [name]: value }
    : { ...message, [inner[0]]: withMember(inner[1] as object, { name, value, depth: depth - 1 }) };
}

describe('the hand-over', () => {
  test('does not happen for a client that only lists the tools', async () => {
    for (const lines of [
      [...OPENED, request(5, 'ping'), LIST, LIST],
      [DISCOVER, MODERN_LIST, MODERN_LIST],
    ]) {
      const connection = connect(true);
      connection.input.write(bytesOf(lines));
      await turn();
      await turn();
      expect(connection.output().match(/"tools":\[/g)).toHaveLength(2);
      expect(connection.loads()).toBe(0);
    }
  });

  test('happens once', async () => {
    const connection = connect(true);
    await Promise.all([connection.prepare(), connection.prepare()]);
    await exchange(connection, [...OPENED, LIST, CALL, CALL]);
    expect(connection.loads()).toBe(1);
  });

  test('knows every version that the SDK can negotiate', () => {
    expect(OPENING_VERSIONS).toEqual(SUPPORTED_PROTOCOL_VERSIONS);
  });
});

describe('the page of the view is named', () => {
  const named = '"_meta":{"ui":{"resourceUri":"ui://mcp-server-code-execution-mode/cell.html"}}';

  test.each([
    ['after a handshake', [initialize({ capabilities: VIEWS }), INITIALIZED, LIST]],
    ['without one', [VIEWS_LIST]],
  ])('to a client that shows views, %s', async (_name, lines) => {
    expect((await exchange(connect(true), lines)).output).toContain(named);
  });

  test.each([
    ['no extension', {}],
    ['another extension', { extensions: { 'a/b': {} } }],
    ['the extension without a type', { extensions: { [`${META}ui`]: {} } }],
    ['another type', { extensions: { [`${META}ui`]: { mimeTypes: ['text/html'] } } }],
    ['a type that is no list', { extensions: { [`${META}ui`]: { mimeTypes: 'text/html;profile=mcp-app' } } }],
  ])('to no other client: %s', async (_name, capabilities) => {
    const modern = request(1, 'tools/list', envelope({ [`${META}clientCapabilities`]: capabilities }));
    const [legacy, without] = [await exchange(connect(true), [...OPENED, LIST]), initialize({ capabilities })];
    expect((await exchange(connect(true), [without, INITIALIZED, LIST])).output).toBe(legacy.output);
    expect((await exchange(connect(true), [modern])).output).toBe(
      (await exchange(connect(true), [request(1, 'tools/list', envelope())])).output,
    );
    expect(legacy.output).not.toContain('ui://');
  });
});

describe('those who must know the client hear of it', () => {
  const capabilities = { elicitation: { form: {} } };
  const modern = request('l', 'tools/list', envelope({ [`${META}clientCapabilities`]: capabilities }));

  test.each([
    ['from a handshake', [initialize({ capabilities }), INITIALIZED, LIST]],
    ['from an envelope', [modern]],
    ['from an envelope after a discovery', [DISCOVER, modern]],
  ])('%s, before anything else is loaded, and once', async (_name, lines) => {
    const connection = connect(true);
    connection.input.write(bytesOf(lines));
    await turn();
    const facts = {
      clients: ['test'],
      listedTo: [{ name: 'test', modes: { form: true, url: false }, showsViews: false, hasTasks: false }],
    };
    expect(connection.seen()).toMatchObject(facts);
    expect(connection.loads()).toBe(0);
    await connection.prepare();
    await exchange(connection, lines.slice(-1));
    expect(connection.seen()).toMatchObject(facts);
  });

  test('from the server, if the opening left the client to it', async () => {
    const icons = { ...CLIENT, icons: [] };
    const { clients, listedTo } = await exchange(connect(true), [
      initialize({ clientInfo: icons, capabilities }),
      LIST,
    ]);
    expect(clients).toEqual(['test']);
    expect(listedTo).toEqual([{ name: 'test', modes: { form: true, url: false }, showsViews: false, hasTasks: false }]);
  });
});
