import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { CancelSignal } from '../../../src/core/base/cancel.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { createHostCalls, type ToolPool } from '../../../src/core/calls/host-calls.ts';
import { LastAnswers } from '../../../src/core/calls/last-answers.ts';
import type { ListedTool } from '../../../src/core/catalog/intake.ts';
import { type CallableServer, createServerDirectory } from '../../../src/core/directory/server-directory.ts';
import { createMetadataSource, type Listing } from '../../../src/core/directory/server-metadata.ts';
import { CALL_METHODS } from '../../../src/core/protocol/frames.ts';
import { artifactMethods } from '../../../src/features/artifacts/calls.ts';
import { createArtifacts } from '../../../src/features/artifacts/index.ts';
import { programMethods } from '../../../src/features/languages/index.ts';
import { savedToolMethods } from '../../../src/features/saved-tools/index.ts';

const AT = { session: 'default', generation: 1, cell: 1, call: 1 };
const TOOLS: Readonly<Record<string, readonly { name: string; description?: string; inputSchema?: unknown }[]>> = {
  files: [
    { name: 'read-file', description: 'Read a file', inputSchema: { properties: { 'from-line': {}, path: {} } } },
    { name: 'List', description: 'List a directory', inputSchema: { type: 'object' } },
  ],
  'git-hub': [{ name: 'create_issue', description: 'Create an issue' }],
};
const SERVERS = new Map([
  ['files', { name: 'files', description: 'Reads files', cwd: '/srv' }],
  ['git-hub', { name: 'git-hub' }],
  ['old-one', { name: 'old-one', disabled: true, file: '/home/me/MCPs/old.json' }],
]);
const unused = { logger: silentLogger };

interface Setup {
  readonly list?: (server: string, signal: CancelSignal) => Promise<readonly ListedTool[]>;
  readonly notices?: readonly string[];
  readonly searchWaitMs?: number;
}

/** A directory of these servers, whose tools `list` gives. */
function directoryOf(
  servers: ReadonlyMap<string, CallableServer>,
  list: NonNullable<Setup['list']>,
  notices: readonly string[] = [],
) {
  const listings = new Map<string, Listing>();
  const source = createMetadataSource(
    {
      async describe(server, { signal }) {
        const tools = await list(server, signal);
        const info = { protocolVersion: '2025-11-25', instructions: 'Be kind.', capabilities: { tools: {} } };
        const listing = listings.get(server) ?? { info, tools, notices };
        listings.set(server, listing);
        return listing;
      },
    },
    undefined,
  );
  return createServerDirectory(source, () => servers, silentLogger);
}

/** Host calls to a pool of two servers that collects what reaches it. */
function setUp({ list, notices, searchWaitMs = 1_000 }: Setup = {}) {
  const called: unknown[] = [];
  const listed: string[] = [];
  const saved: unknown[] = [];
  const pool: ToolPool = {
    callTool: async ({ server, tool, arguments: given }) => {
      called.push([server, tool, given]);
      return { content: [] };
    },
    surface: async () => ({ result: {} }),
  };
  const directory = directoryOf(
    SERVERS,
    async (server, signal) => {
      listed.push(server);
      return list === undefined ? (TOOLS[server] ?? []) : list(server, signal);
    },
    notices,
  );
  const savedTools = {
    save: async (tool: unknown) => {
      saved.push(tool);
    },
    load: async (name: string) => ({ name, source: '' }),
  };
  const methods = [
    ...savedToolMethods(savedTools),
    ...artifactMethods(createArtifacts('/nonexistent')),
    ...new LastAnswers({ outputMode: 'compact', maxOutputChars: 1_000 }).methods,
    ...programMethods({ run: unexpected, handleCall: unexpected, directory }),
  ];
  const handle = createHostCalls({ pool, directory, ...unused, methods, searchWaitMs });
  const ask = (method: string, params: Record<string, unknown> = {}, signal = new AbortController().signal) =>
    handle({ method, params }, { ...AT, loaded: new Set(['files']), signal });
  const refusal = async (method: string, params: Record<string, unknown> = {}) =>
    ask(method, params).then(
      () => undefined,
      (error: unknown) => {
        if (!(error instanceof BridgeError)) {
          throw error;
        }
        return { code: error.code, message: error.message, hint: error.hint };
      },
    );
  return { ask, refusal, called, listed, saved };
}

const unexpected = async (): Promise<never> => {
  throw new Error('not expected');
};

test('every method of the protocol has an answer, except those of new servers, packages, steps and the session', async () => {
  const { refusal } = setUp();
  const refused = await Promise.all(CALL_METHODS.map(async (method) => (await refusal(method))?.message ?? ''));
  const unknown = CALL_METHODS.filter((_, index) => refused[index]?.startsWith('there is no method') === true);
  expect(unknown).toEqual([
    'find_new_servers',
    'propose_server',
    'fetch',
    'install_packages',
    'read_wheel',
    'begin_step',
    'kept_step',
    'end_step',
    'start_job',
    'reset',
    'checkpoint',
    'restore',
    'checkpoints',
  ]);
});

describe('call_tool', () => {
  test('resolves names and sends the exact original ones', async () => {
    const { ask, called } = setUp();
    await ask('call_tool', { server: 'FILES', tool: 'READ_FILE', arguments: { from_line: 1, path: 'a' } });
    await ask('call_tool', { server: 'files', tool: 'list' });
    expect(called).toEqual([
      ['files', 'read-file', { 'from-line': 1, path: 'a' }],
      ['files', 'List', {}],
    ]);
  });

  test('refuses a server that is not loaded before starting anything, with instructions to load it', async () => {
    const { refusal, called, listed } = setUp();
    expect(await refusal('call_tool', { server: 'git-hub', tool: 'create_issue' })).toEqual({
      code: 'SERVER_NOT_AVAILABLE',
      message: "Server 'git-hub' is not available: it is not loaded in this session",
      hint: "Call run_python again with servers=['git-hub'].",
    });
    expect([called, listed]).toEqual([[], []]);
  });

  test('suggests similar names for a server that is not configured', async () => {
    expect(await setUp().refusal('call_tool', { server: 'githbu', tool: 'x' })).toEqual({
      code: 'SERVER_UNKNOWN',
      message: "no server 'githbu' is configured",
      hint: "Did you mean 'git-hub'? Configured: files, git-hub.",
    });
  });

  test('says where a disabled server is disabled, and suggests it nowhere', async () => {
    const { ask, refusal, listed } = setUp();
    const message = "Server 'old-one' is not available: it is disabled in /home/me/MCPs/old.json";
    const disabled = { code: 'SERVER_NOT_AVAILABLE', message, hint: expect.stringMatching(/servers enable \S+\./) };
    expect(await refusal('call_tool', { server: 'old-one', tool: 'x' })).toEqual(disabled);
    // Like other servers, also by alias and in any case.
    expect(await refusal('list_tools', { server: 'OLD_one' })).toEqual(disabled);
    expect((await refusal('list_tools', { server: 'old-on' }))?.hint).not.toContain('old-one');
    await ask('search_tool_docs', { query: 'x' });
    expect(listed).not.toContain('old-one');
  });

  test('never sends a tool that the server does not list', async () => {
    const { refusal, called } = setUp();
    expect(await refusal('call_tool', { server: 'files', tool: 'reed_file' })).toEqual({
      code: 'TOOL_UNKNOWN',
      message: "server 'files' has no tool 'reed_file'",
      hint: "Did you mean 'read_file'? await runtime.query_tool_docs('files') lists its tools.",
    });
    expect(called).toEqual([]);
  });

  test.each(['__proto__', 'constructor', 'toString', '../files', 'files\0', 'fіles', 'a'.repeat(1_000)])(
    'the hostile server name %j is unknown, shown short and without control characters',
    async (server) => {
      const answer = await setUp().refusal('call_tool', { server, tool: 'List' });
      expect(answer?.code).toBe('SERVER_UNKNOWN');
      expect(answer?.message.length).toBeLessThan(130);
      expect(answer?.message).not.toContain('\0');
    },
  );

  test.each([
    [{ server: 'files' }, /tool/],
    [{ server: 5, tool: 'List' }, /server/],
    [{ server: '', tool: 'List' }, /server/],
    [{ server: 'a'.repeat(10_000), tool: 'List' }, /server/],
    [{ server: 'files', tool: 'List', arguments: [1] }, /arguments/],
    [{ server: 'files', tool: 'List', method: 'tools/list' }, /method/],
  ])('wrong parameters are refused: %j', async (params, place) => {
    const { refusal, called } = setUp();
    const answer = await refusal('call_tool', params);
    expect(answer?.code).toBe('CALL_REFUSED');
    expect(answer?.message).toMatch(place);
    expect(called).toEqual([]);
  });
});

describe('documents', () => {
  test('describe_server gives the tools and the working directory of a loaded server', async () => {
    const { ask } = setUp();
    expect(await ask('describe_server', { server: 'Files' })).toMatchObject({
      server: 'files',
      name: 'files',
      alias: 'files',
      loaded: true,
      cwd: '/srv',
      tool_count: 2,
      tools: [{ name: 'read-file', alias: 'read_file', input_schema: { properties: { path: {} } } }, { name: 'List' }],
    });
  });

  test('describe_server says that a server is not loaded and how to load it, and starts nothing', async () => {
    const { ask, refusal, listed } = setUp();
    expect(await ask('describe_server', { server: 'git_hub' })).toEqual({
      server: 'git-hub',
      serverAlias: 'git_hub',
      name: 'git-hub',
      alias: 'git_hub',
      description: '',
      loaded: false,
      cwd: null,
      tool_count: null,
      last_error: null,
      load: "call run_python again with servers=['git-hub']",
    });
    expect(listed).toEqual([]);
    await ask('list_tools', { server: 'git-hub' });
    expect(await ask('describe_server', { server: 'git-hub' })).toMatchObject({ tool_count: 1 });
    expect((await refusal('describe_server', { server: 'old-one' }))?.code).toBe('SERVER_NOT_AVAILABLE');
    expect((await refusal('describe_server', { server: 'nope' }))?.code).toBe('SERVER_UNKNOWN');
  });

  test('describe_server without a name describes all loaded servers, even one that does not start', async () => {
    const failing = setUp({
      list: async () => {
        throw new BridgeError('SERVER_START_FAILED', 'no such program');
      },
    });
    expect(await failing.ask('describe_server')).toEqual([
      {
        server: 'files',
        serverAlias: 'files',
        name: 'files',
        alias: 'files',
        description: 'Reads files',
        loaded: true,
        cwd: '/srv',
        tool_count: null,
        tools: [],
        error: 'SERVER_START_FAILED: no such program',
      },
    ]);
  });

  test('documents exist for servers that are not loaded, and say so', async () => {
    const answer = await setUp().ask('query_tool_docs', { server: 'git_hub', tool: 'CREATE_ISSUE', detail: 'full' });
    expect(answer).toEqual({
      documents: [
        {
          server: 'git-hub',
          serverAlias: 'git_hub',
          tool: 'create_issue',
          toolAlias: 'create_issue',
          description: 'Create an issue',
          signature: 'create_issue(**kwargs)',
          inputSchema: {},
          loaded: false,
          load: "call run_python again with servers=['git-hub']",
        },
      ],
      notices: [],
    });
  });

  test('every list of tools and servers has the same keys', async () => {
    const { ask } = setUp();
    const tool = { server: 'files', serverAlias: 'files', tool: 'read-file', toolAlias: 'read_file', loaded: true };
    const described = { ...tool, signature: 'read_file(from_line=..., path=...)', description: 'Read a file' };
    const [first] = (await ask('list_tools', { server: 'files' })) as unknown[];
    const { tools } = (await ask('describe_server', { server: 'files' })) as { tools: unknown[] };
    const documents = ['summary', 'full'].flatMap((detail) => [
      ask('query_tool_docs', { server: 'files', tool: 'read-file', detail }),
      ask('search_tool_docs', { query: 'read a file', limit: 1, detail }),
    ]);
    expect([first, tools[0]]).toMatchObject([described, described]);
    for (const answer of await Promise.all(documents)) {
      expect(answer).toMatchObject({ documents: [described] });
    }
    const server = { server: 'files', serverAlias: 'files', description: 'Reads files', loaded: true, tool_count: 2 };
    expect(await ask('find_servers', { query: 'files' })).toMatchObject([server]);
    expect(await ask('discovered_servers')).toMatchObject([server, { server: 'git-hub', loaded: false }]);
    expect(await ask('describe_server', { server: 'files' })).toMatchObject(server);
  });

  test('list_tools gives names, aliases and schemas', async () => {
    expect(await setUp().ask('list_tools', { server: 'files' })).toMatchObject([
      { name: 'read-file', alias: 'read_file', parameter_aliases: { 'from-line': 'from_line' } },
      { name: 'List', alias: 'List' },
    ]);
  });
});

describe('search_tool_docs', () => {
  test('covers servers that were never started, loaded or not', async () => {
    const { ask } = setUp();
    expect(await ask('search_tool_docs', { query: 'create issue' })).toMatchObject({
      documents: [{ tool: 'create_issue', loaded: false }],
      not_searched: [],
    });
    expect(await ask('search_tool_docs', { query: 'read a file', limit: 1 })).toMatchObject({
      documents: [{ tool: 'read-file', loaded: true }],
    });
  });

  test('names words without any match; reads the start of a long query', async () => {
    const { ask } = setUp();
    expect(await ask('search_tool_docs', { query: 'teleport directry quasars' })).toMatchObject({
      documents: [{ tool: 'List' }],
      unmatched: [
        { word: 'teleport', nearest: [] },
        { word: 'quasars', nearest: [] },
      ],
    });
    expect(await ask('search_tool_docs', { query: 'create issue '.repeat(1_000) })).toMatchObject({
      documents: [{ tool: 'create_issue' }],
    });
  });

  test('names servers that fail, and answers with the others', async () => {
    const { ask } = setUp({
      list: async (server) => {
        if (server === 'files') {
          throw new BridgeError('SERVER_START_FAILED', 'no such program');
        }
        return TOOLS[server] ?? [];
      },
    });
    expect(await ask('search_tool_docs', { query: 'issue' })).toMatchObject({
      documents: [{ tool: 'create_issue' }],
      not_searched: [{ server: 'files', reason: 'no such program' }],
    });
  });

  test('does not wait for a hanging server, starts it once, and finds its tools when they arrive', async () => {
    let answer: (tools: readonly { name: string }[]) => void = () => undefined;
    const hanging = new Promise<readonly { name: string }[]>((resolve) => {
      answer = resolve;
    });
    const { ask, listed } = setUp({ list: async () => hanging, searchWaitMs: 1 });
    const search = () => ask('search_tool_docs', { query: 'late' });
    expect(await search()).toMatchObject({
      documents: [],
      not_searched: [
        { server: 'files', late: true },
        { server: 'git-hub', late: true },
      ],
    });
    await search();
    expect(listed).toEqual(['files', 'git-hub']);
    answer([{ name: 'late_tool' }]);
    await expect.poll(search).toMatchObject({ not_searched: [] });
  });

  test('find_servers names servers whose tools are unknown if nothing matches', async () => {
    const { ask } = setUp();
    const all = [
      { server: 'files', tool_count: null },
      { server: 'git-hub', tool_count: null },
    ];
    expect(await ask('find_servers', { query: 'quantum' })).toMatchObject(all);
    await ask('list_tools', { server: 'files' });
    expect(await ask('find_servers', { query: 'quantum' })).toMatchObject([{ server: 'git-hub' }]);
    expect(await ask('find_servers', { query: 'directory' })).toMatchObject([{ server: 'files', tool_count: 2 }]);
  });

  test('waits longer for a server while nothing matches, and not if something does', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let arrive: (tools: readonly { name: string }[]) => void = () => undefined;
    const late = new Promise<readonly { name: string }[]>((resolve) => {
      arrive = resolve;
    });
    const { ask } = setUp({ list: async (server) => (server === 'files' ? [{ name: 'read_file' }] : late) });
    const waits = () => expect.poll(() => vi.getTimerCount()).toBe(1);
    const read = ask('search_tool_docs', { query: 'read file' });
    await waits();
    await vi.advanceTimersByTimeAsync(1_000);
    await expect(read).resolves.toMatchObject({
      documents: [{ tool: 'read_file' }],
      not_searched: [{ server: 'git-hub', reason: 'it did not answer within 1 s; search again for its tools' }],
    });
    const search = ask('search_tool_docs', { query: 'issue' });
    await waits();
    await vi.advanceTimersByTimeAsync(1_000);
    await waits();
    arrive([{ name: 'create_issue' }]);
    await expect(search).resolves.toMatchObject({ documents: [{ tool: 'create_issue' }], not_searched: [] });
  });

  test('has waited long enough for a hanging server when another search has', async () => {
    const { ask } = setUp({ list: () => new Promise(() => undefined), searchWaitMs: 100 });
    const search = async () => {
      const since = performance.now();
      await ask('search_tool_docs', { query: 'issue' });
      return performance.now() - since;
    };
    expect(await search()).toBeGreaterThan(350);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const second = search();
    await expect.poll(() => vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(100);
    await second;
    expect(vi.getTimerCount()).toBe(0);
  });

  test('ends when it is cancelled, while the start continues', async () => {
    const signals: CancelSignal[] = [];
    const { ask } = setUp({
      list: async (_, signal) => {
        signals.push(signal);
        return new Promise<never>(() => undefined);
      },
      searchWaitMs: 60_000,
    });
    const controller = new AbortController();
    const search = ask('search_tool_docs', { query: 'x' }, controller.signal);
    controller.abort();
    await expect(search).resolves.toMatchObject({ documents: [] });
    expect(signals.map((signal) => signal.aborted)).toEqual([false, false]);
  });

  test('starts six servers at a time', async () => {
    let running = 0;
    let most = 0;
    const servers = new Map(Array.from({ length: 20 }, (_, index) => [`s${index}`, { name: `s${index}` }]));
    const handle = createHostCalls({
      pool: { callTool: async () => ({}), surface: async () => ({ result: {} }) },
      directory: directoryOf(servers, async () => {
        running += 1;
        most = Math.max(most, running);
        await setImmediate();
        running -= 1;
        return [{ name: 'tool' }];
      }),
      ...unused,
    });
    const { signal } = new AbortController();
    const context = { ...AT, loaded: new Set<string>(), signal };
    const answer = await handle({ method: 'search_tool_docs', params: { query: 'tool', limit: 20 } }, context);
    expect(answer).toMatchObject({ documents: { length: 20 }, not_searched: [] });
    expect(most).toBe(6);
  });

  test.each([{ query: 'x', limit: 0 }, { query: 'x', limit: 21 }, { query: 'x', detail: 'all' }, {}])(
    'wrong parameters are refused: %j',
    async (params) => {
      expect((await setUp().refusal('search_tool_docs', params))?.code).toBe('CALL_REFUSED');
    },
  );
});

test('search finds what a feature provides beside the tools of servers, by the same score', async () => {
  const source = { name: 'user_tools', alias: 'user_tools', description: '' };
  const tool = { name: 'add_up', alias: 'add_up', description: 'Adds up invoices.', inputSchema: {} };
  const tools = [{ ...tool, signature: 'add_up(n: int)', isAsync: true }];
  const directory = directoryOf(SERVERS, async () => TOOLS['files'] ?? []);
  const pool: ToolPool = { callTool: async () => ({ content: [] }), surface: async () => ({ result: {} }) };
  const handle = createHostCalls({ pool, directory, ...unused, extraTools: async () => ({ source, tools }) });
  const ask = async (query: string) => {
    const at = { ...AT, loaded: new Set(['files']), signal: new AbortController().signal };
    return ((await handle({ method: 'search_tool_docs', params: { query } }, at)) as { documents: unknown[] })
      .documents;
  };
  expect(await ask('add up invoices')).toEqual([
    expect.objectContaining({
      server: 'user_tools',
      tool: 'add_up',
      signature: 'add_up(n: int)',
      description: 'Adds up invoices.',
      loaded: true,
      kind: 'function',
      awaited: true,
    }),
  ]);
  // The name of the module says nothing about its functions.
  expect(await ask('user tools')).not.toContainEqual(expect.objectContaining({ tool: 'add_up' }));
});

describe('save_tool', () => {
  test('passes name and source to the store; refuses a keyword as a name', async () => {
    const { ask, refusal, saved } = setUp();
    await ask('save_tool', { name: 'add', source: 'def add(): pass' });
    expect((await refusal('save_tool', { name: 'class', source: '' }))?.message).toMatch(/keyword/);
    expect(saved).toEqual([{ name: 'add', source: 'def add(): pass' }]);
  });
});
