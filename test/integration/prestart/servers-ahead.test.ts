// Tags: full, user-release
/** Servers that are started before any call: real processes and files, but no sandbox and no client. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createConfiguredServers } from '../../../src/app/bridge/build-servers.ts';
import { createLogger } from '../../../src/core/base/log.ts';
import { BridgeEvents } from '../../../src/core/calls/events.ts';
import { createObservedResults } from '../../../src/core/calls/observed-results.ts';
import { createCallPipeline } from '../../../src/core/calls/pipeline.ts';
import { createCallTool } from '../../../src/core/calls/tool-calls.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import { login } from '../../../src/edges/upstream/oauth/login.ts';
import type { RemoteDefinition } from '../../../src/edges/upstream/pool.ts';
import { examinePrestart } from '../../../src/features/prestart/names.ts';
import { createServersAhead } from '../../../src/features/prestart/servers-ahead.ts';
import { browse } from '../../support/logins.ts';
import { startOAuth } from '../../support/oauth-provider.ts';
import { failureOf, fixtureServer, isRunning, until } from '../../support/upstream.ts';

type Entries = Readonly<Record<string, object>>;

/** A state directory with these servers, and bridges that use it one after another. */
function setUp(entries: Entries) {
  const stateDir = mkdtempSync(join(tmpdir(), 'bridge-ahead-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const configure = (mcpServers: Entries): void =>
    writeFileSync(join(stateDir, 'servers.json'), JSON.stringify({ mcpServers }));
  configure(entries);
  let runs = 0;

  const open = async (value = 'recent', env: Record<string, string> = {}) => {
    const log: string[] = [];
    const logger = createLogger('DEBUG', (line) => log.push(line.trimEnd()));
    const settings = loadSettings({ ...env, MCP_BRIDGE_STATE_DIR: stateDir, MCP_BRIDGE_PRESTART: value });
    const servers = await createConfiguredServers(settings, logger, { hidesDenied: true });
    runs += 1;
    const { prestart: mode } = settings;
    const ahead = createServersAhead({
      mode: mode === 'off' ? [] : mode,
      servers,
      stateDir,
      user: () => ({ folder: '/project', client: 'client' }),
      run: `run ${runs}`,
      closeLimitMs: 60_000,
      logger,
    });
    const { known, pool } = servers;
    const callTool = createCallTool({
      directory: known,
      pool,
      observed: createObservedResults(),
      logger,
      calls: createCallPipeline({ events: new BridgeEvents([ahead.watch]) }),
    });
    const close = async (): Promise<void> => {
      ahead.stop();
      await pool.close();
      await Promise.all([known.close(), ahead.close()]);
    };
    onTestFinished(close);
    return {
      ...servers,
      ahead,
      settings,
      close,
      /** Without the lines about starting, and about the protocol. */
      log: (level: string) => log.filter((line) => line.includes(` ${level} `)),
      async call(server: string, tool: string, given: Record<string, unknown> = {}): Promise<string> {
        servers.refresh();
        const { signal } = new AbortController();
        const found = await known.find(server);
        const wanted = { server: found, tool: await known.findToolToCall(found, tool, signal), arguments: given };
        const context = { session: 's', generation: 1, cell: 1, loaded: new Set<string>(), signal };
        const result = await callTool(wanted, context as never);
        return (result as { content: { text: string }[] }).content[0]?.text ?? '';
      },
      pidOf: (name: string) => pool.states().find((state) => state.name === name)?.pid,
      stateOf: (name: string) => pool.states().find((state) => state.name === name)?.state,
      startedAhead: () =>
        pool
          .states()
          .filter(({ state }) => state === 'ready')
          .map(({ name }) => name),
    };
  };

  /** A run that calls the tool of each server. */
  const use = async (...calls: readonly (readonly [server: string, tool: string])[]): Promise<void> => {
    const run = await open();
    for (const [server, tool] of calls) {
      await run.call(server, tool);
    }
    await run.close();
  };
  return { stateDir, configure, open, use };
}

const echo = (...args: string[]) => fixtureServer('echo', ...args);
const crashing = (...args: string[]) => fixtureServer('crashing', ...args);

describe('servers started ahead', () => {
  it('are those that the last run used, and a call finds them ready with their tools', async () => {
    const { open, use } = setUp({ a: crashing(), b: crashing('b'), unused: echo() });
    await use(['a', 'pid'], ['b', 'pid']);
    const next = await open();
    await next.ahead.start();
    expect(next.startedAhead()).toEqual(['a', 'b']);
    const pid = next.pidOf('a');
    expect(next.known.metadata(await next.known.find('a'))?.tools.map(({ name }) => name)).toContain('pid');
    expect(await next.call('a', 'pid')).toBe(String(pid));
    await next.close();
    await until(() => !isRunning(pid ?? 0));
  });

  it('are none, and nothing is read or written, if no server was used', async () => {
    const { open, stateDir } = setUp({ a: echo() });
    const run = await open();
    await run.ahead.start();
    await run.close();
    expect(run.pool.states()).toEqual([]);
    expect(readdirSync(stateDir)).toEqual(['servers.json']);
  });

  it('are not those whose calls failed', async () => {
    const { open } = setUp({ a: crashing(), b: echo() });
    const run = await open();
    expect(await failureOf(run.call('a', 'crash'))).toMatchObject({ code: 'SERVER_EXITED' });
    await run.call('b', 'fails', { text: 'no' });
    await run.close();
    const next = await open();
    await next.ahead.start();
    expect(next.startedAhead()).toEqual([]);
  });

  it('are the named ones, in any spelling of the name, and a wrong name is a warning', async () => {
    const { open } = setUp({ 'My-Files': echo(), other: echo('other'), idle: { ...echo(), disabled: true } });
    const run = await open('my_files,othr,idle');
    await run.ahead.start();
    expect(run.startedAhead()).toEqual(['My-Files']);
    expect(run.log('WARNING')).toEqual([
      expect.stringMatching(/MCP_BRIDGE_PRESTART names 'othr', but there is no such server\. .*other.* → /),
      expect.stringMatching(/MCP_BRIDGE_PRESTART names 'idle', but it is disabled → /),
    ]);
    expect(await examinePrestart({ env: {}, settings: run.settings, servers: run })).toMatchObject([
      { level: 'warning', text: expect.stringContaining("names 'othr', but there is no such server") },
      { level: 'warning', text: expect.stringContaining("names 'idle', but it is disabled") },
    ]);
    const recent = await open();
    expect(await examinePrestart({ env: {}, settings: recent.settings, servers: recent })).toEqual([]);
  });

  it('are started two at a time', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const { open } = setUp(Object.fromEntries(names.map((name) => [name, echo(name)])));
    const run = await open(names.join(','));
    let most = 0;
    const { startAhead } = run.pool;
    run.pool.startAhead = async (name) => {
      const outcome = startAhead.call(run.pool, name);
      await Promise.resolve();
      most = Math.max(most, run.pool.states().filter(({ state }) => state === 'starting').length);
      return outcome;
    };
    await run.ahead.start();
    expect(run.startedAhead()).toEqual(names);
    expect(most).toBe(2);
  });

  it('wait for their first call if their entry has changed since the last one', async () => {
    const { configure, open, use } = setUp({ a: crashing(), b: crashing('b') });
    await use(['a', 'pid'], ['b', 'pid']);
    configure({ a: crashing('changed'), b: crashing('b') });
    for (const value of ['recent', 'a,b']) {
      const next = await open(value);
      await next.ahead.start();
      expect(next.startedAhead()).toEqual(['b']);
      expect(next.log(value === 'recent' ? 'DEBUG' : 'INFO').join('\n')).toContain(
        "Server 'a' is not started ahead: its entry has changed since it was last used",
      );
      await next.close();
    }
    await use(['a', 'pid']);
    const last = await open();
    await last.ahead.start();
    expect(last.startedAhead()).toEqual(['a', 'b']);
  });

  it('wait if their secrets come from a command, which is not run', async () => {
    const { open, stateDir } = setUp({});
    const mark = join(stateDir, 'asked');
    writeFileSync(
      join(stateDir, 'servers.json'),
      JSON.stringify({ mcpServers: { a: { ...echo(), env: { KEY: `\${cmd:touch ${mark}}` } }, b: echo() } }),
    );
    const run = await open('a,b');
    await run.ahead.start();
    expect(run.startedAhead()).toEqual(['b']);
    expect(readdirSync(stateDir)).not.toContain('asked');
  });

  it('wait if a policy allows no call to them', async () => {
    const { open, stateDir } = setUp({ a: echo(), b: echo('b') });
    writeFileSync(join(stateDir, 'policy.json'), JSON.stringify({ rules: [{ effect: 'deny', server: 'a' }] }));
    const run = await open('a,b');
    await run.ahead.start();
    expect([run.startedAhead(), run.log('WARNING'), run.log('ERROR')]).toEqual([['b'], [], []]);
  });

  it('wait if their tools have changed and no one has accepted that', async () => {
    const { open, stateDir } = setUp({});
    const state = join(stateDir, 'state');
    writeFileSync(
      join(stateDir, 'servers.json'),
      JSON.stringify({ mcpServers: { cat: fixtureServer('turncoat', state) } }),
    );
    const first = await open();
    await first.call('cat', 'look');
    await first.call('cat', 'become', { announce: true, look: { description: 'Looks, and tells others.' } });
    const cat = await first.known.find('cat');
    await until(() => first.known.metadata(cat)?.tools.some(({ change }) => change !== undefined) === true);
    await first.close();
    const next = await open();
    await next.ahead.start();
    expect(next.startedAhead()).toEqual([]);
    expect(next.log('DEBUG').join('\n')).toContain("Server 'cat' is not started ahead: its tools have changed");
  });

  it('are stopped if they ask the person before a call, and wait from then on', async () => {
    const { open, stateDir } = setUp({});
    const asked = join(stateDir, 'asked.txt');
    writeFileSync(
      join(stateDir, 'servers.json'),
      JSON.stringify({ mcpServers: { a: { ...fixtureServer('asks', 'first'), env: { ASKED_FILE: asked } } } }),
    );
    const first = await open();
    await first.call('a', 'capabilities');
    await first.close();
    const second = await open();
    second.pool.offerElicitation({ form: {} });
    await second.ahead.start();
    expect(second.startedAhead()).toEqual([]);
    const notice = "Server 'a' is not started ahead: it asks you something before its first call";
    expect(second.log('INFO').filter((line) => line.includes(notice))).toHaveLength(1);
    expect(second.log('WARNING')).toEqual([]);
    // The first call starts it again, as it does without any of this.
    expect(await second.call('a', 'ask_and_answer')).toBe('answered');
    await second.close();
    const third = await open();
    await third.ahead.start();
    expect(third.pool.states()).toMatchObject([{ state: 'idle' }]);
    expect(third.log('DEBUG').join('\n')).toContain(notice);
    expect(readFileSync(asked, 'utf8')).not.toContain('accept');
  });
});

describe('a server that cannot be started ahead', () => {
  it('is one line at info level, and its first call fails as it would otherwise', async () => {
    const entries = { a: { ...crashing('at-start'), env: { SECRET_TOKEN: 'sk-1234567890' } } };
    const plain = await setUp(entries).open('off');
    const expected = await failureOf(plain.call('a', 'pid'));
    const run = await setUp(entries).open('a');
    const before = run.log('INFO').length;
    await run.ahead.start();
    expect(run.log('INFO').slice(before)).toEqual([
      expect.stringMatching(
        /INFO Not started ahead, so the first call tries again: server 'a' exited while it was starting \(exit code 3\)$/,
      ),
    ]);
    expect([run.log('WARNING'), run.log('ERROR')]).toEqual([[], []]);
    expect(run.pool.states()).toMatchObject([{ state: 'idle', failures: 0, lastError: undefined }]);
    expect(
      await run.failures.load({ name: 'a', definitionHash: run.definitions().get('a')?.definitionHash ?? '' }),
    ).toBe(undefined);
    const failure = await failureOf(run.call('a', 'pid'));
    expect([failure.code, failure.message, failure.hint]).toEqual([expected.code, expected.message, expected.hint]);
    expect(run.pool.states()).toMatchObject([{ state: 'failing', failures: 1 }]);
  });

  it('does not restart when it crashes before its first call, which starts it at once', async () => {
    const { open } = setUp({ a: crashing() });
    const run = await open('a');
    await run.ahead.start();
    const pid = run.pidOf('a') ?? 0;
    process.kill(pid, 'SIGKILL');
    await until(() => run.stateOf('a') === 'idle');
    expect(run.log('WARNING')).toEqual([]);
    expect(run.log('INFO').filter((line) => line.includes('SERVER_EXITED'))).toHaveLength(1);
    expect(run.pool.states()).toMatchObject([{ failures: 0 }]);
    expect(Number(await run.call('a', 'pid'))).not.toBe(pid);
  });

  it('leaves the others alone', async () => {
    const { open } = setUp({ a: crashing('at-start'), b: { command: '/no/such/program' }, c: echo() });
    const run = await open('a,b,c');
    await run.ahead.start();
    expect(run.startedAhead()).toEqual(['c']);
  });
});

describe('a call meanwhile', () => {
  it('waits for the start of its server, and for no other', async () => {
    const { open } = setUp({
      never: fixtureServer('never-answers', 'initialize', '1'),
      silent: fixtureServer('never-answers', 'initialize', '2'),
      waiting: crashing(),
      slow: fixtureServer('slow-start', '300'),
    });
    const run = await open('slow,never,silent,waiting');
    const starting = run.ahead.start();
    await until(() => run.pool.states().some(({ state }) => state === 'starting'));
    // Both turns are taken by servers that never answer.
    expect(await run.call('slow', 'ping')).toBe('pong');
    await until(() => run.stateOf('never') === 'starting' && run.stateOf('silent') === 'starting');
    expect(run.stateOf('waiting')).toBe('idle');
    expect(await run.call('waiting', 'pid')).toBe(String(run.pidOf('waiting')));
    await run.close();
    await starting;
    expect(run.log('INFO').filter((line) => line.includes("'slow' started"))).toHaveLength(1);
    expect(run.log('INFO').filter((line) => line.includes('Not started ahead'))).toEqual([]);
  });

  it('gets the failure of a start that it waited for, which then counts', async () => {
    const { open } = setUp({ a: crashing('at-start') });
    const run = await open('a');
    run.refresh();
    const starting = run.pool.startAhead('a');
    const failure = await failureOf(run.pool.callTool({ server: 'a', tool: 'pid', arguments: {} }));
    expect(failure.code).toBe('SERVER_START_FAILED');
    expect(await starting).toBe('wanted');
    expect(run.pool.states()).toMatchObject([{ state: 'failing', failures: 1, lastError: failure }]);
    expect(run.log('WARNING')).toHaveLength(1);
  });
});

describe('a remote server that needs a login', () => {
  it('is not asked if its last answer was that, and is named as such if it is found out', async () => {
    const server = await startOAuth();
    const { open } = setUp({ tracker: { url: server.url } });
    const first = await open('tracker');
    await first.ahead.start();
    expect(first.log('INFO').filter((line) => line.includes('Not started ahead'))).toHaveLength(1);
    await first.close();
    const before = server.mcp.requests.length;
    expect(before).toBeGreaterThan(0);
    const next = await open('tracker');
    await next.ahead.start();
    expect(server.mcp.requests).toHaveLength(before);
    expect(next.log('INFO')).toEqual([expect.stringContaining("'tracker' is not started ahead: it needs a login")]);
  });

  it('is started with its login, and not asked when that was removed or has expired for good', async () => {
    const server = await startOAuth();
    const { open } = setUp({ tracker: { url: server.url } });
    const key = { name: 'tracker', url: server.url };
    const first = await open();
    first.refresh();
    await login(first.definitions().get('tracker') as RemoteDefinition, {
      store: first.logins,
      env: {},
      timeoutMs: 20_000,
      onAddress: async (address) => void browse(address),
    });
    await first.call('tracker', 'act');
    const record = await first.logins.load(key);
    await first.close();

    const second = await open();
    await second.ahead.start();
    expect(second.startedAhead()).toEqual(['tracker']);
    await second.close();
    const before = server.mcp.requests.length;

    await second.logins.remove(key);
    const third = await open();
    await third.ahead.start();
    if (record !== undefined) {
      const tokens = { access_token: record.tokens.access_token, token_type: 'Bearer', expires_in: 0 };
      await third.logins.save(key, { ...record, tokens });
    }
    const fourth = await open();
    await fourth.ahead.start();
    const reason = "Server 'tracker' is not started ahead: it needs a login";
    expect([third, fourth].map((run) => run.log('DEBUG').some((line) => line.includes(reason)))).toEqual([true, true]);
    expect(server.mcp.requests).toHaveLength(before);
  });

  it('is not asked if its entry has what a login needs, and there is none', async () => {
    const server = await startOAuth();
    const { open } = setUp({ tracker: { url: server.url, oauth: { clientId: 'me' } } });
    const run = await open('tracker');
    await run.ahead.start();
    expect(server.mcp.requests).toEqual([]);
  });
});
