// Tags: anywhere, full
/** The bridge over Streamable HTTP: the built command, real clients of both protocol eras, real sandboxes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { findExecutable } from '../../src/edges/engines/executable.ts';
import { type Asked, ERAS, type PersonReply } from '../support/asking-bridge.ts';
import { fixtureServer, ROOT } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { readFences } from '../support/documented-samples.ts';
import { type ConnectOptions, type HttpBridge, type HttpClient, startHttpBridge } from '../support/http-bridge.ts';
import { runPython, type SentRequest, sendTo } from '../support/http-front.ts';

// No engine knows how its cells arrive, so one is enough.
const engines = (await coverEngines()).slice(0, 1);
const POLICY = { rules: [{ effect: 'ask', server: 'echo', tool: 'echo' }] };
const SERVERS = { echo: fixtureServer('echo.mjs') };
/** Says in the state directory that it runs: the test then knows that the cell does. */
const ENDLESS = 'kept = 7\nruntime.save_artifact("began.txt", "yes")\nprint("before")\nwhile True:\n    pass';

const open: { close?: () => Promise<unknown>; remove?: () => Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) {
    await (one.close?.() ?? one.remove?.());
  }
});

type Started = Awaited<ReturnType<typeof startHttpBridge>>;

async function start(options: Parameters<typeof startHttpBridge>[0]): Promise<Started> {
  const bridge = await startHttpBridge(options);
  open.push(bridge);
  return bridge;
}

async function connect(bridge: HttpBridge, options: ConnectOptions): Promise<HttpClient> {
  const client = await bridge.connect(options);
  open.push(client);
  return client;
}

/** Where a cell of a principal has saved a file. */
function artifact(bridge: HttpBridge, name: string | undefined, session: string, file: string): string {
  const own = name === undefined ? [] : ['http', 'principals', `of-${name}`];
  return join(bridge.folder, ...own, 'artifacts', session, file);
}

async function until(holds: () => boolean): Promise<void> {
  await expect.poll(holds).toBe(true);
}

describe.each(engines.map((engine) => ({ engine, name: engine.label })))('over HTTP on $name', ({ engine }) => {
  describe.each(ERAS)('a client of %s', (era) => {
    it('runs cells in sessions, and calls a tool that the person allows', async () => {
      const bridge = await start({ engine, servers: SERVERS, policy: POLICY });
      const asked: Asked[] = [];
      const replies: PersonReply[] = [{ action: 'accept', content: { answer: 'Allow once' } }, { action: 'decline' }];
      const person = (question: Asked): PersonReply => {
        asked.push(question);
        return replies[asked.length - 1] ?? { action: 'cancel' };
      };
      const client = await connect(bridge, { era, person });
      expect(await client.run('x = 20\nx + 1')).toContain('21');
      expect(await client.run('x * 2', { session: 'default' })).toContain('40');
      expect(await client.run('"x" in globals()', { session: 'other' })).toContain('False');
      const call = 'print(await mcp_echo.echo(text="over http"))';
      expect(await client.run(call, { servers: ['echo'] })).toContain('over http');
      expect(await client.run(call)).toContain('APPROVAL_DENIED');
      expect(asked).toHaveLength(2);
      expect(client.sessionId() === undefined).toBe(era === '2026-07-28');
    });

    it('that cancels a cell interrupts it, and variables stay', async () => {
      const bridge = await start({ engine });
      const client = await connect(bridge, { era });
      const cancel = new AbortController();
      const answer = client.run(ENDLESS, {}, { signal: cancel.signal }).catch(() => 'cancelled');
      await until(() => existsSync(artifact(bridge, undefined, 'default', 'began.txt')));
      cancel.abort();
      expect(await answer).toBe('cancelled');
      const text = await client.run('print(kept)\nprint(runtime.last_answer())');
      expect(text).toContain('7');
      expect(text).toMatch(/before[^]*CELL_CANCELLED|CELL_CANCELLED[^]*before|cancelled[^]*before/);
    });
  });

  it('a client of 2026-07-28 that vanishes in the middle of a cell interrupts it, and the next one finds what was lost', async () => {
    const bridge = await start({ engine });
    const first = await bridge.connect({ era: '2026-07-28' });
    // The SDK's client waits on, although its connection is gone.
    void first.run(ENDLESS, { session: 'work' }).catch(() => undefined);
    await until(() => existsSync(artifact(bridge, undefined, 'work', 'began.txt')));
    first.vanish();
    const second = await connect(bridge, { era: '2026-07-28' });
    expect(await second.run('print(kept, "before" in runtime.last_answer())', { session: 'work' })).toContain('7 True');
  });

  it('a client of 2025-11-25 that vanishes does not stop its cell, and the next one gets the answer', async () => {
    const bridge = await start({ engine });
    const first = await bridge.connect({ era: '2025-11-25' });
    const code =
      'import asyncio\nruntime.save_artifact("began.txt", "yes")\nawait asyncio.sleep(1)\nprint("done" + " anyway")';
    void first.run(code, { session: 'work' }).catch(() => undefined);
    await until(() => existsSync(artifact(bridge, undefined, 'work', 'began.txt')));
    first.vanish();
    const second = await connect(bridge, { era: '2025-11-25' });
    expect(await second.run('print(runtime.last_answer())', { session: 'work' })).toContain('done anyway');
  });

  it('a sandbox that was started ahead serves the first session', async () => {
    const bridge = await start({ engine, env: { MCP_BRIDGE_PREWARM: '1', MCP_BRIDGE_LOG_LEVEL: 'DEBUG' } });
    // It lists the tools.
    const client = await connect(bridge, { era: '2026-07-28' });
    const [, id] = await bridge.untilLog(/sandbox (\S+) on \S+ was started ahead/);
    expect(await client.run('print("here")', { session: 'first' })).toContain('here');
    expect(bridge.log()).toContain(`session first: sandbox ${id} on`);
  });

  it('two principals have sessions, files, functions and records of their own', async () => {
    const bridge = await start({ engine, tokens: ['alice', 'bob@example.com'] });
    const [alice, bob] = await Promise.all(
      bridge.tokens.map((token, index) => connect(bridge, { era: ERAS[index] ?? ERAS[0], token })),
    );
    const keep = (whose: string): string => `
whose = ${JSON.stringify(whose)}
def greet():
    """Greets."""
    return ${JSON.stringify(`I belong to ${whose}`)}
runtime.save_tool(greet)
runtime.save_artifact("notes.txt", whose)`;
    const [keptByAlice, keptByBob] = await Promise.all([
      alice?.run(keep('alice'), { session: 'shared' }),
      bob?.run(keep('bob'), { session: 'shared' }),
    ]);
    expect(keptByAlice).not.toContain('Error');
    expect(keptByBob).not.toContain('Error');
    const look =
      'print(whose, greet(), runtime.load_artifact("notes.txt"), [a.session for a in runtime.list_artifacts()])';
    expect(await alice?.run(look, { session: 'shared' })).toContain("alice I belong to alice b'alice' ['shared']");
    expect(await bob?.run(look, { session: 'shared' })).toContain("bob I belong to bob b'bob' ['shared']");
    // A new session has the functions of its principal.
    expect(await bob?.run('print(greet())', { session: 'new' })).toContain('I belong to bob');
    const uri = (await alice?.resources())?.find((one) => one.includes('notes.txt')) ?? '';
    expect(await bob?.read(uri)).toBe('bob');
    expect(await alice?.read(uri)).toBe('alice');
    expect(readFileSync(artifact(bridge, 'alice', 'shared', 'notes.txt'), 'utf8')).toBe('alice');
    expect(await bridge.stop()).toBe(143);
    const records = await bridge.command('audit', '--json');
    expect(records).toMatch(/"principal": ?"alice"/);
    expect(records).toMatch(/"principal": ?"bob@example\.com"/);
  });

  it('a token has at most its own number of sessions and cells, and the refusals say so', async () => {
    const env = { MCP_BRIDGE_MAX_SESSIONS: '3', MCP_BRIDGE_HTTP_MAX_CELLS: '2' };
    const bridge = await start({ engine, env, tokens: ['bob'] });
    await bridge.untilLog(/3 sessions may use 1\.5 GiB of memory together/);
    const token = await bridge.command('tokens', 'add', 'alice', '--max-sessions', '1');
    const alice = await connect(bridge, { era: '2026-07-28', token });
    const bob = await connect(bridge, { era: '2026-07-28', token: bridge.tokens[0] ?? '' });
    const done = new AbortController();
    const wait = 'import asyncio\nruntime.save_artifact("began.txt", "yes")\nawait asyncio.sleep(60)';
    const running = [alice, bob].map((client) =>
      client.run(wait, {}, { signal: done.signal }).catch(() => 'cancelled'),
    );
    await until(() => existsSync(artifact(bridge, 'alice', 'default', 'began.txt')));
    expect(await alice.run('1', { session: 'other' })).toMatch(
      /SESSION_LIMIT: 1 sessions are running cells[^]*default/,
    );
    const waiting = alice.run('"waited"');
    expect(await alice.run('1')).toMatch(/SESSION_LIMIT: 2 cells of this token[^]*MCP_BRIDGE_HTTP_MAX_CELLS/);
    // Half of 3, rounded up: others leave room for it.
    expect(await bob.run('6 * 7', { session: 'other' })).toContain('42');
    done.abort();
    expect(await Promise.all(running)).toEqual(['cancelled', 'cancelled']);
    expect(await waiting).toContain('waited');
  });

  it('outside of a profile nothing exists, however it is chosen', async () => {
    const policy = { profiles: { talk: { servers: 'echo', tools: 'echo' }, other: { servers: 'ledger' } } };
    const servers = { ...SERVERS, ledger: fixtureServer('ledger.mjs') };
    const bridge = await start({ engine, servers, policy, tokens: ['bob'] });
    const [bob = ''] = bridge.tokens;
    const alice = await bridge.command('tokens', 'add', 'alice', '--profile', 'talk');
    const clients = [
      await connect(bridge, { era: '2026-07-28', token: alice }),
      await connect(bridge, { era: '2025-11-25', token: bob, path: '/mcp/p/talk' }),
    ];
    const look = `
print(await mcp_echo.echo(text="in it"))
print(runtime.discovered_servers(), sorted(name for name in dir(mcp_echo)))
print([hit.name for hit in await runtime.search_tool_docs("structured")])
for tool in ("structured", "no_such"):
    try:
        await mcp_echo[tool]()
    except Exception as error:
        print("without", str(error).replace(tool, "TOOL"))`;
    for (const client of clients) {
      const text = await client.run(look, { servers: ['echo'] });
      expect(text).toMatch(/in it\n\('echo',\) \['echo'\]\n\[[^\]]*\]\n/);
      expect(text).not.toMatch(/ledger|\['structured/);
      const [known, unknown] = text.split('\n').filter((line) => line.startsWith('without'));
      expect([known, known]).toEqual([unknown, expect.stringContaining("has no tool 'TOOL'")]);
      const refused = await Promise.all(
        ['ledger', 'no-such'].map(async (name) =>
          (await client.run('1', { servers: [name] })).replaceAll(name, 'NAME'),
        ),
      );
      expect(refused[0]).toContain('NAME');
      expect(refused[0]).toBe(refused[1]);
    }
    const everything = await connect(bridge, { era: '2026-07-28', token: bob });
    expect(await everything.run('print(runtime.discovered_servers())', { servers: ['ledger'] })).toContain('ledger');
    // A token with a profile cannot have another, and learns nothing about others.
    const statusOf = async (path: string, token: string): Promise<[number, string]> => {
      const response = await fetch(new URL(path, bridge.url), { headers: { Authorization: `Bearer ${token}` } });
      return [response.status, await response.text()];
    };
    expect(await statusOf('/mcp/p/other', alice)).toEqual(await statusOf('/mcp/p/no-such', alice));
    expect((await statusOf('/mcp/p/other', alice))[0]).toBe(404);
    expect((await statusOf('/mcp/p/no-such', bob))[0]).toBe(404);
    expect((await statusOf('/mcp/p/talk', alice))[0]).not.toBe(404);
  });

  it('a token has only the servers that it was added with, also within a profile', async () => {
    const policy = { profiles: { all: { servers: ['echo', 'ledger'] }, other: { servers: 'ledger' } } };
    const servers = { ...SERVERS, ledger: fixtureServer('ledger.mjs') };
    const bridge = await start({ engine, servers, policy, tokens: ['bob'] });
    const alice = await bridge.command('tokens', 'add', 'alice', '--servers', 'echo,no-such');
    expect(await bridge.command('tokens', 'list')).toMatch(/alice .*servers echo, no-such/);
    const look = 'print(runtime.discovered_servers(), await runtime.search_tool_docs("record"))';
    for (const path of ['/mcp', '/mcp/p/all', '/mcp/p/other']) {
      const client = await connect(bridge, { era: '2026-07-28', token: alice, path });
      const text = await client.run(look);
      expect(text).not.toContain('ledger');
      expect(text.includes('echo')).toBe(path !== '/mcp/p/other');
      const refused = await Promise.all(
        ['ledger', 'no-such'].map(async (name) =>
          (await client.run('1', { servers: [name] })).replaceAll(name, 'NAME'),
        ),
      );
      expect(refused[0]).toContain('NAME');
      expect(refused[0]).toBe(refused[1]);
    }
  });

  it('is stopped with SIGTERM: running cells end, new ones are refused, and sessions continue with the next process', async () => {
    const bridge = await start({ engine, tokens: ['alice'] });
    const [token = ''] = bridge.tokens;
    const client = await bridge.connect({ era: '2026-07-28', token });
    const code =
      'import asyncio\nkept = 41\nruntime.save_artifact("began.txt", "yes")\nawait asyncio.sleep(2)\nprint("finished")';
    const running = client.run(code, { session: 'lasting' });
    await until(() => existsSync(artifact(bridge, 'alice', 'lasting', 'began.txt')));
    bridge.child.kill('SIGTERM');
    await bridge.untilLog('Shutting down: SIGTERM');
    expect((await fetch(new URL('/readyz', bridge.url))).status).toBe(503);
    expect((await fetch(new URL('/healthz', bridge.url))).status).toBe(200);
    await expect(client.run('1')).rejects.toThrow(/shutting down/);
    expect(await running).toContain('finished');
    expect(await bridge.stop()).toBe(143);
    const next = await start({ engine, folder: bridge.folder });
    const again = await connect(next, { era: '2025-11-25', token });
    expect(await again.run('kept + 1', { session: 'lasting' })).toContain('42');
  });

  it('a token that is removed is refused at once, and what it has open ends', async () => {
    const bridge = await start({ engine, tokens: ['alice', 'bob'] });
    const [alice, bob] = await Promise.all(bridge.tokens.map((token) => connect(bridge, { era: '2026-07-28', token })));
    void alice?.run(ENDLESS).catch(() => undefined);
    await until(() => existsSync(artifact(bridge, 'alice', 'default', 'began.txt')));
    await bridge.command('tokens', 'remove', 'alice');
    await expect(alice?.run('1')).rejects.toThrow(/not valid|401|[Uu]nauthorized/);
    await bridge.untilLog('The token of alice is no longer valid');
    expect(await bob?.run('6 * 7')).toContain('42');
    const headers = { Authorization: `Bearer ${bridge.tokens[1]}` };
    const readMetrics = async () => (await fetch(new URL('/metrics', bridge.url), { headers })).text();
    await expect.poll(readMetrics).toMatch(/^mcp_bridge_cells_total\{status="(?!success).*"\} 1$/m);
  });

  it('counts what it does, for those with a token', async () => {
    const bridge = await start({ engine, servers: SERVERS, tokens: ['alice'] });
    const [token = ''] = bridge.tokens;
    const client = await connect(bridge, { era: '2026-07-28', token });
    await client.run('await mcp_echo.echo(text="x")', { servers: ['echo'] });
    await client.run('1 / 0');
    const metricsUrl = new URL('/metrics', bridge.url);
    expect((await fetch(metricsUrl)).status).toBe(401);
    const metrics = await fetch(metricsUrl, { headers: { Authorization: `Bearer ${token}` } });
    const lines = (await metrics.text()).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'mcp_bridge_cells_total{status="success"} 1',
        'mcp_bridge_cells_total{status="error"} 1',
        'mcp_bridge_calls_total{outcome="ok"} 1',
        'mcp_bridge_http_refusals_total{reason="token"} 1',
        'mcp_bridge_sessions{state="idle"} 1',
        'mcp_bridge_principals 1',
      ]),
    );
    expect(lines.join('\n')).not.toContain('alice');
  });
});

const COMMANDS = readFences('docs/http.md', 'sh');
const [SERVE = '', ADD = ''] = COMMANDS;
const BEHIND_PROXY = COMMANDS.find((text) => /^\S+ serve .*--allow-host/.test(text)) ?? '';
const [NGINX = ''] = readFences('docs/http.md', 'nginx');
const nginx = findExecutable('nginx', { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` });

it('the commands in docs/http.md are what these tests use', () => {
  const words = [SERVE, ADD].map((line) => line.split(' ').slice(1));
  expect(words).toEqual([
    ['serve', '--http'],
    ['tokens', 'add', 'alice', '--expires', '30d', '--max-sessions', '4'],
  ]);
});

if (nginx === undefined) {
  it.skip('not covered: nginx is not installed', () => undefined);
}

describe.each(nginx === undefined ? [] : engines.map((engine) => ({ engine, name: engine.label })))(
  'behind nginx, as documented, on $name',
  ({ engine }) => {
    it('the bridge answers through TLS, and nothing but MCP is forwarded', async () => {
      const bridge = await start({
        engine,
        tokens: ['alice'],
        argv: BEHIND_PROXY.replace('127.0.0.1:7411', '127.0.0.1:0').split(' ').slice(1),
      });
      const proxy = await startNginx(new URL(bridge.url).host);
      open.push(proxy);
      const { body, headers } = runPython('print("through", "TLS")');
      const authorization = { Authorization: `Bearer ${bridge.tokens[0]}` };
      const answered = await proxy.send({ body, headers: { ...headers, ...authorization } });
      expect(answered).toMatchObject({ status: 200, text: expect.stringContaining('through TLS') });
      const { status } = await proxy.send({ body, headers: { ...headers } });
      expect(status).toBe(401);
      const wrongHost = await proxy.send({ body, headers: { ...headers, ...authorization, Host: 'evil.example' } });
      expect(wrongHost.status).toBe(421);
      expect((await proxy.send({ method: 'GET', path: '/metrics', headers: authorization })).status).toBe(404);
      // Of the bridge, which has no such link; the page of nginx is HTML.
      const login = await proxy.send({ method: 'GET', path: '/login/nobody' });
      expect(login.text).not.toContain('nginx');
    });
  },
);

/** The documented server block with other ports and the certificate of the tests. */
async function startNginx(upstream: string) {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'));
  // If root starts it, its workers are someone else.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const tls = join(ROOT, 'test/fixtures/tls');
  const block = NGINX.replace('listen 443', `listen 127.0.0.1:${port}`)
    .replaceAll('127.0.0.1:7411', upstream)
    .replace('/etc/ssl/mcp.example.com.pem', join(tls, 'mcp.test.crt'))
    .replace('/etc/ssl/mcp.example.com.key', join(tls, 'mcp.test.key'));
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join('\n');
  const file = join(folder, 'nginx.conf');
  const http = `http {\naccess_log off;\n${places}\n${block}\n}`;
  writeFileSync(file, `daemon off;\npid ${join(folder, 'pid')};\nerror_log stderr;\nevents {}\n${http}\n`);
  const child = spawn(nginx ?? '', ['-p', folder, '-c', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  const exited = once(child, 'close');
  const send = (request: SentRequest) =>
    sendTo(
      { port, tls: { rejectUnauthorized: false } },
      { ...request, headers: { Host: 'mcp.example.com', ...request.headers } },
    );
  await expect
    .poll(async () =>
      send({ method: 'GET', path: '/' }).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(404);
  return {
    send,
    async close() {
      child.kill('SIGQUIT');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
