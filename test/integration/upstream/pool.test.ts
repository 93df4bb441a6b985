// Tags: full, user-release
/** The pool with real processes: starts, calls, failures, changes, ends. */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonObject } from '../../../src/edges/upstream/pool.ts';
import {
  callText,
  definitions,
  failureOf,
  fixtureServer,
  isRunning,
  npmServer,
  startPool,
  until,
} from '../../support/upstream.ts';

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'upstream-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('real servers', () => {
  it('lists and calls the tools of server-everything', async () => {
    const pool = startPool({ everything: npmServer('@modelcontextprotocol/server-everything') });
    const { tools } = await pool.describe('everything');
    expect(tools.map((tool) => tool.name)).toContain('echo');
    expect(await callText(pool, 'everything', 'echo', { message: 'hello' })).toBe('Echo: hello');
    expect(pool.serverInfo('everything')?.capabilities).toHaveProperty('tools');
  });

  it('reads a folder through server-filesystem', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'a.txt'), 'TODO: write');
    const pool = startPool({ files: npmServer('@modelcontextprotocol/server-filesystem', folder) });
    expect(await callText(pool, 'files', 'list_directory', { path: folder })).toBe('[FILE] a.txt');
    expect(await callText(pool, 'files', 'read_text_file', { path: join(folder, 'a.txt') })).toBe('TODO: write');
  });

  it('passes variables of the entry to a server: server-memory keeps its file there', async () => {
    const file = join(temporaryFolder(), 'memory.jsonl');
    const pool = startPool({
      memory: { ...npmServer('@modelcontextprotocol/server-memory'), env: { MEMORY_FILE_PATH: file } },
    });
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['likes engines'] }];
    await pool.callTool({ server: 'memory', tool: 'create_entities', arguments: { entities } });
    expect(readFileSync(file, 'utf8')).toContain('Ada');
  });
});

describe('starting', () => {
  it('starts nothing before the first use, and one process for concurrent uses', async () => {
    const file = join(temporaryFolder(), 'starts');
    const pool = startPool({ ledger: fixtureServer('dies-on-probe', file), unused: fixtureServer('echo') });
    expect(pool.states().map((state) => state.state)).toEqual(['idle', 'idle']);
    const texts = await Promise.all(['a', 'b', 'c'].map((text) => callText(pool, 'ledger', 'echo', { text })));
    expect(texts).toEqual(['a', 'b', 'c']);
    expect(pool.states().map((state) => state.state)).toEqual(['ready', 'idle']);
  });

  it('restarts a server that dies on the probe with initialize, and remembers that', async () => {
    const file = join(temporaryFolder(), 'starts');
    const starts = () => readFileSync(file, 'utf8').trim().split('\n');
    const pool = startPool({ old: fixtureServer('dies-on-probe', file) });
    expect(await callText(pool, 'old', 'echo', { text: 'hi' })).toBe('hi');
    expect(pool.serverInfo('old')?.protocolVersion).toBe('2025-11-25');
    expect(starts()).toHaveLength(2);
    const pid = pool.serverInfo('old')?.pid ?? 0;
    process.kill(pid, 'SIGKILL');
    await until(() => pool.serverInfo('old') === undefined);
    expect(await callText(pool, 'old', 'echo', { text: 'again' })).toBe('again');
    expect(starts()).toHaveLength(3);
  });

  // chroma-mcp prints a banner on stdout and was taken for a program that is no server.
  it('restarts a server that has printed a banner before it dies on the probe', async () => {
    const file = join(temporaryFolder(), 'starts');
    const pool = startPool({ old: fixtureServer('dies-on-probe', file, 'Successfully initialized') });
    expect(await callText(pool, 'old', 'echo', { text: 'hi' })).toBe('hi');
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(2);
  });

  it('falls back to initialize for a server that ignores the probe', async () => {
    const pool = startPool({ quiet: fixtureServer('never-answers', 'discover') }, { probeTimeoutMs: 300 });
    expect(await callText(pool, 'quiet', 'echo', { text: 'hi' })).toBe('hi');
  });

  it('waits for a server that starts slowly and supports only 2026-07-28', async () => {
    const slow = fixtureServer('modern-loose', '1000');
    const pool = startPool({ slow }, { probeTimeoutMs: 300 });
    expect((await pool.describe('slow')).tools).toHaveLength(2);
    expect(pool.serverInfo('slow')?.protocolVersion).toBe('2026-07-28');
  });

  it('gives up on a server that never answers, and ends it', async () => {
    const pool = startPool({ silent: fixtureServer('never-answers', 'initialize') }, { startTimeoutMs: 700 });
    const error = await failureOf(pool.describe('silent'));
    expect(error.code).toBe('SERVER_START_FAILED');
    expect(error.message).toContain('no answer to initialize within 0.7 s');
    expect(pool.states()[0]?.state).toBe('failing');
  });

  it('mentions that npx may still be downloading a server that never answers', async () => {
    const npx = join(temporaryFolder(), 'npx');
    symlinkSync(process.execPath, npx);
    const silent = { ...fixtureServer('never-answers', 'initialize'), command: npx };
    const error = await failureOf(startPool({ silent }, { quietStartMs: 700 }).describe('silent'));
    expect(error.hint).toMatch(/^npx may still be downloading .*`npm ping`.* Run it by hand to see more: /);
  });

  it('explains what to do about a command that does not exist', async () => {
    const pool = startPool({ gone: { command: 'no-such-command-here' }, spaced: { command: 'npx -y server' } });
    const gone = await failureOf(pool.describe('gone'));
    expect(gone.code).toBe('SERVER_START_FAILED');
    expect(gone.message).toBe("server 'gone' could not be started: command 'no-such-command-here' not found");
    expect(gone.hint).toBe('Install it or give a full path in /home/me/MCPs/test.json.');
    expect((await failureOf(pool.describe('spaced'))).hint).toContain('word by word, into "args"');
  });

  // Each of these was started twice, and named as not ready after 5 to 60 s, or only as one that exited.
  it.each([
    ['exec cat', /^server 'x' is not an MCP server: it sends back what it receives$/],
    [
      'exec yes',
      /^server 'x' is not an MCP server: it wrote 1,000 lines to stdout, and none is a message; the first: y$/,
    ],
    [
      'echo Usage: prog FILE',
      /^server 'x' exited while it was starting \(exit code 0\); it is probably not an MCP server, because it wrote to stdout: Usage: prog FILE$/,
    ],
    [
      'echo Welcome; exec sleep 600',
      /^server 'x' started but cannot be used: no answer to initialize within 2 s; it is probably not an MCP server, because it wrote to stdout: Welcome$/,
    ],
  ])('names a program that is not an MCP server, and starts it once: %s', async (script, message) => {
    const file = join(temporaryFolder(), 'starts');
    const x = { command: 'sh', args: ['-c', `echo $$ >> "$0"; ${script}`, file] };
    const pool = startPool({ x }, { startTimeoutMs: 2_000 });
    const error = await failureOf(pool.describe('x'));
    expect(error.message).toMatch(message);
    expect(error.hint).toContain(`Check "command" and "args" of 'x' in /home/me/MCPs/test.json`);
    expect(readFileSync(file, 'utf8').match(/\d+/g)).toHaveLength(1);
  });

  it('starts a server that fails once for the check of a cell and its call', async () => {
    const file = join(temporaryFolder(), 'starts');
    const x = { command: 'sh', args: ['-c', 'echo $$ >> "$0"; echo "TOKEN is not set" >&2; exit 3', file] };
    const pool = startPool({ x });
    const error = await failureOf(pool.describe('x'));
    expect(error.message).toContain('TOKEN is not set');
    expect(await failureOf(callText(pool, 'x', 'echo'))).toBe(error);
    expect(readFileSync(file, 'utf8').match(/\d+/g)).toHaveLength(1);
  });

  it('quotes stderr of a server that exits at start, without its secrets, and backs off', async () => {
    const env = { SECRET_TOKEN: 'sk-12345678' };
    const pool = startPool({ broken: { ...fixtureServer('crashing', 'at-start'), env } });
    const error = await failureOf(pool.describe('broken'));
    expect(error.message).toBe(
      "server 'broken' exited while it was starting (exit code 3); last lines of its stderr:\n" +
        '  fatal: giving up, token ***',
    );
    expect(error.data).toMatchObject({ server: 'broken', exit_code: 3 });
    await until(() => {
      pool.describe('broken').catch(() => undefined);
      return pool.states()[0]?.failures === 2;
    });
    const waiting = await failureOf(pool.describe('broken'));
    expect(waiting.message).toMatch(
      /^server 'broken' failed 2 times in a row and can be started again in 1 s\. Last error: /,
    );
    expect(JSON.stringify(waiting)).not.toContain('sk-12345678');
  });
});

describe('calls', () => {
  it('returns results unchanged', async () => {
    const pool = startPool({ echo: fixtureServer('echo') });
    const call = (tool: string, args: JsonObject = {}) => pool.callTool({ server: 'echo', tool, arguments: args });
    expect(await call('fails', { text: 'no' })).toEqual({ content: [{ type: 'text', text: 'no' }], isError: true });
    expect(await call('unknown_content')).toEqual({ content: [{ type: 'hologram', depth: 3 }], extra: true });
    expect((await call('request', { a: 1 }))['structuredContent']).toEqual({ name: 'request', arguments: { a: 1 } });
  });

  it('passes a server the safe variables and its own, and counts nested bridges', async () => {
    const pool = startPool(
      { echo: { ...fixtureServer('echo'), env: { MINE: 'yes' }, cwd: '/' } },
      { env: { PATH: process.env['PATH'], AWS_SECRET_ACCESS_KEY: 'leak', LC_ALL: 'C' } },
    );
    const result = await pool.callTool({ server: 'echo', tool: 'process', arguments: {} });
    const { env, cwd } = result['structuredContent'] as { env: Record<string, string>; cwd: string };
    expect(Object.keys(env).toSorted()).toEqual(['LC_ALL', 'MCP_BRIDGE_DEPTH', 'MINE', 'PATH']);
    expect(env['MCP_BRIDGE_DEPTH']).toBe('1');
    expect(cwd).toBe('/');
  });

  it.each(['sampling/createMessage', 'elicitation/create', 'roots/list'])('offers no %s', async (method) => {
    const pool = startPool({ echo: fixtureServer('echo') });
    const result = await pool.callTool({ server: 'echo', tool: 'ask_client', arguments: { method } });
    expect(result['structuredContent']).toMatchObject({ error: { code: -32_601 } });
  });

  it('answers the ping of a server', async () => {
    const pool = startPool({ echo: fixtureServer('echo') });
    const result = await pool.callTool({ server: 'echo', tool: 'ask_client', arguments: { method: 'ping' } });
    expect(result['structuredContent']).toMatchObject({ result: {} });
  });

  it('names an unknown tool and an unknown server', async () => {
    const pool = startPool({ echo: fixtureServer('echo') });
    expect(await failureOf(callText(pool, 'echo', 'nothing'))).toMatchObject({ code: 'TOOL_UNKNOWN' });
    expect(await failureOf(callText(pool, '__proto__', 'echo'))).toMatchObject({ code: 'SERVER_UNKNOWN' });
  });

  it('ends a call at its deadline and notifies the server', async () => {
    const pool = startPool({ slow: fixtureServer('slow') });
    await pool.describe('slow');
    const call = pool.callTool({ server: 'slow', tool: 'sleep', arguments: { seconds: 60 }, timeoutMs: 200 });
    const error = await failureOf(call);
    expect(error.code).toBe('CALL_TIMEOUT');
    expect(error.message).toBe("server 'slow' did not answer 'sleep' after 0.2 s, the deadline of the call");
    expect(await callText(pool, 'slow', 'cancelled')).toBe('1');
  });

  it("uses the smaller of the caller's deadline and that of the entry", async () => {
    const pool = startPool({ hang: { ...fixtureServer('never-answers'), timeoutMs: 150 } });
    await pool.describe('hang');
    const error = await failureOf(pool.callTool({ server: 'hang', tool: 'hang', arguments: {}, timeoutMs: 60_000 }));
    expect(error.message).toContain('0.15 s');
  });

  it('includes the start of a server in the deadline', async () => {
    const pool = startPool({ silent: fixtureServer('never-answers', 'initialize') });
    const call = pool.callTool({ server: 'silent', tool: 'x', arguments: {}, timeoutMs: 300 });
    expect((await failureOf(call)).message).toBe(
      "server 'silent' did not answer 'x' after 0.3 s, the deadline of the call: it was still starting",
    );
  });

  it('cancels only the call that the caller gives up', async () => {
    const pool = startPool({ slow: fixtureServer('slow') });
    await pool.describe('slow');
    const controller = new AbortController();
    const { signal } = controller;
    const cancelled = pool.callTool({ server: 'slow', tool: 'sleep', arguments: { seconds: 60 }, signal });
    const other = callText(pool, 'slow', 'sleep', { seconds: 0.2 });
    await nextTurn();
    controller.abort();
    expect((await failureOf(cancelled)).code).toBe('CALL_CANCELLED');
    expect(await other).toBe('slept 0.2 s');
    expect(await callText(pool, 'slow', 'cancelled')).toBe('1');
    const late = pool.callTool({ server: 'slow', tool: 'sleep', arguments: { seconds: 60 }, signal });
    expect((await failureOf(late)).code).toBe('CALL_CANCELLED');
  });

  it('answers 1,000 concurrent calls that share one signal', async () => {
    const pool = startPool({ echo: fixtureServer('echo') });
    const { signal } = new AbortController();
    const calls = Array.from({ length: 1000 }, (_, index) =>
      pool.callTool({ server: 'echo', tool: 'echo', arguments: { text: String(index) }, signal }),
    );
    const texts = (await Promise.all(calls)).map(
      (result) => (result as { content: [{ text: string }] }).content[0].text,
    );
    expect(texts).toEqual(Array.from({ length: 1000 }, (_, index) => String(index)));
  });

  it('runs calls concurrently', async () => {
    const pool = startPool({ slow: fixtureServer('slow') });
    const calls = Array.from({ length: 10 }, () => callText(pool, 'slow', 'meet', { count: 10 }));
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['met']));
  });
});

describe('crashes', () => {
  it('fails the calls in flight with the end of stderr, and restarts at the next call', async () => {
    const env = { SECRET_TOKEN: 'sk-12345678' };
    const pool = startPool({ crashing: { ...fixtureServer('crashing'), env } });
    const hanging = failureOf(pool.callTool({ server: 'crashing', tool: 'hang', arguments: {} }));
    const before = await callText(pool, 'crashing', 'pid');
    const error = await failureOf(pool.callTool({ server: 'crashing', tool: 'crash', arguments: { code: 9 } }));
    expect(error.code).toBe('SERVER_EXITED');
    expect(error.message).toBe(
      "server 'crashing' exited before it answered (exit code 9); last lines of its stderr:\n" +
        '  fatal: giving up, token ***',
    );
    expect((await hanging).code).toBe('SERVER_EXITED');
    expect(await callText(pool, 'crashing', 'pid')).not.toBe(before);
    expect(pool.states()[0]).toMatchObject({ state: 'ready', failures: 0 });
  });

  it('notices a crash of an idle server, and a kill from outside', async () => {
    const pool = startPool({ crashing: fixtureServer('crashing') });
    await callText(pool, 'crashing', 'crash_soon', { after_ms: 1 });
    await until(() => pool.serverInfo('crashing') === undefined);
    expect(await callText(pool, 'crashing', 'echo', { text: 'back' })).toBe('back');
    const hanging = failureOf(pool.callTool({ server: 'crashing', tool: 'hang', arguments: {} }));
    process.kill(pool.serverInfo('crashing')?.pid ?? 0, 'SIGKILL');
    expect((await hanging).message).toContain('(killed by SIGKILL)');
  });
});

describe('a server that closes a pipe and keeps running', () => {
  it.each(['close_stdin', 'close_stdout'])('is restarted (%s)', async (tool) => {
    const pool = startPool({ crashing: fixtureServer('crashing') });
    const before = Number(await callText(pool, 'crashing', 'pid'));
    const hanging = failureOf(pool.callTool({ server: 'crashing', tool: 'hang', arguments: {} }));
    await pool.callTool({ server: 'crashing', tool, arguments: {} }).catch(() => undefined);
    // Only a write shows that stdin is closed. By then the other server is a new one, and answers.
    await pool.callTool({ server: 'crashing', tool: 'echo', arguments: {} }).catch(() => undefined);
    expect((await hanging).code).toBe('SERVER_EXITED');
    await until(() => !isRunning(before));
    expect(await callText(pool, 'crashing', 'echo', { text: 'back' })).toBe('back');
  });
});

describe('changes', () => {
  it('lists the tools again after list_changed, and keeps the list until then', async () => {
    const news: string[] = [];
    const pool = startPool({ changing: fixtureServer('changing-list') }, { onToolsChanged: (name) => news.push(name) });
    const first = await pool.describe('changing');
    expect(await pool.describe('changing')).toBe(first);
    await callText(pool, 'changing', 'add_tool', { name: 'fresh' });
    expect((await pool.describe('changing')).tools.map((tool) => tool.name)).toContain('fresh');
    expect(news).toEqual(['changing']);
  });

  it('survives a flood of list_changed', async () => {
    const news: string[] = [];
    const pool = startPool({ changing: fixtureServer('changing-list') }, { onToolsChanged: (name) => news.push(name) });
    await callText(pool, 'changing', 'announce', { times: 50_000 });
    expect(await callText(pool, 'changing', 'listings')).toBe('0');
    expect(news.length).toBeLessThan(5);
  });

  it('lets a changed server finish its calls, and starts the new one', async () => {
    const pool = startPool({ a: fixtureServer('slow'), b: fixtureServer('echo') });
    const slow = callText(pool, 'a', 'sleep', { seconds: 0.3 });
    await until(() => pool.serverInfo('a') !== undefined);
    await callText(pool, 'b', 'echo', { text: '' });
    const before = [pool.serverInfo('a')?.pid ?? 0, pool.serverInfo('b')?.pid ?? 0] as const;
    pool.update(definitions({ a: { ...fixtureServer('slow'), env: { NEW: '1' } }, b: fixtureServer('echo') }));
    expect(await slow).toBe('slept 0.3 s');
    await until(() => !isRunning(before[0]));
    await pool.describe('a');
    expect(pool.serverInfo('b')?.pid).toBe(before[1]);
    pool.update(definitions({ a: { ...fixtureServer('slow'), env: { NEW: '1' } } }));
    await until(() => !isRunning(before[1]));
    expect((await failureOf(pool.describe('b'))).code).toBe('SERVER_UNKNOWN');
  });
});
