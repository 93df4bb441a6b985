// Tags: full, user-release
/** `servers login` and `servers logout` as a person uses them, except for the browser. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { loadContext } from '../../../src/app/bridge/context.ts';
import { parseCommandLine } from '../../../src/app/cli/command-line.ts';
import { servers } from '../../../src/app/manage-servers/run.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { startOAuth } from '../../support/oauth-provider.ts';
import { failureOf, fixtureServer } from '../../support/upstream.ts';

/** A state directory with these servers. `run` runs a command and follows any printed address. */
function setUp(mcpServers: object) {
  // Each command adds listeners to the process, and here many run in one process.
  [process, process.stdout, process.stderr].forEach((emitter) => emitter.setMaxListeners(0));
  const stateDir = mkdtempSync(join(tmpdir(), 'login-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  writeFileSync(join(stateDir, 'servers.json'), JSON.stringify({ mcpServers }));
  return {
    stateDir,
    async run(...words: string[]) {
      const line = await parseCommandLine(['servers', ...words]);
      if (line.command !== 'servers' || 'isDryRun' in line || line.action === 'find' || line.action === 'update') {
        throw new Error(`${words.join(' ')} is not understood`);
      }
      let [out, errors] = ['', ''];
      const context = await loadContext({ MCP_BRIDGE_STATE_DIR: stateDir });
      const exitCode = await servers(line, {
        ...context,
        logger: silentLogger,
        input: process.stdin,
        isShown: false,
        terminal: undefined,
        writeOut: (text) => (out += text),
        writeError(text) {
          errors += text;
          void fetch(/http:\S+/.exec(text)?.[0] ?? '');
        },
      });
      return { exitCode, out, errors };
    },
  };
}

it('logs in, reports the tools of the server, and logs out', async () => {
  const server = await startOAuth();
  const { run, stateDir } = setUp({ tracker: { url: server.url } });
  expect(await failureOf(run('tools', 'tracker'))).toMatchObject({ code: 'LOGIN_REQUIRED' });
  const login = await run('login', 'tracker', '--no-browser');
  expect(login).toMatchObject({ exitCode: 0, out: "Logged in to server 'tracker', which has 1 tool.\n" });
  expect(login.errors).toMatch(/^Open this address:\nhttp:\/\/127\.0\.0\.1:\d+\/authorize\?\S+\n$/);
  expect((await run('tools', 'tracker')).out).toContain('act');
  expect((await run('logout', 'tracker', '--json')).out).toBe('{\n  "server": "tracker",\n  "removed": true\n}\n');
  expect(readdirSync(join(stateDir, '.logins'))).toEqual([]);
  expect((await run('logout', 'tracker')).out).toBe("There was no login for server 'tracker'.\n");
});

it('ignores a login that an earlier version encrypted with the keyring, until the next login', async () => {
  const server = await startOAuth();
  const { run, stateDir } = setUp({ tracker: { url: server.url } });
  await run('login', 'tracker', '--no-browser');
  const [name = ''] = readdirSync(join(stateDir, '.logins'));
  writeFileSync(join(stateDir, '.logins', name), '{"sealed":"b2xk"}');
  expect((await run('list')).exitCode).toBe(0);
  expect((await run('refresh', 'tracker')).out).toContain('requires a login');
  await run('login', 'tracker', '--no-browser');
  expect((await run('refresh', 'tracker')).exitCode).toBe(0);
});

it('shows a server that needs a login as such in lists and tests, and reports its login', async () => {
  const server = await startOAuth();
  const { run, stateDir } = setUp({ tracker: { url: server.url }, hidden: { url: '${file:address}' } });
  writeFileSync(join(stateDir, 'address'), server.url);
  const tested = await run('test', 'tracker', '--json');
  expect(tested.exitCode).toBe(69);
  expect(JSON.parse(tested.out)).toMatchObject([
    {
      steps: [
        { step: 'resolve', isDone: true },
        { step: 'connect', isDone: false },
      ],
      error: { code: 'LOGIN_REQUIRED', hint: expect.stringContaining('servers login tracker') },
    },
  ]);
  expect((await run('list')).out).toMatch(/^tracker +login needed +- +- +http /m);
  expect((await run('list')).out).toMatch(
    /^tracker: .*\n {2}Run: mcp-server-code-execution-mode servers login tracker$/m,
  );
  await run('login', 'tracker', '--no-browser');
  expect((await run('list')).out).toMatch(/^tracker +ready, logged in +1 +~\d+ +http /m);
  expect(JSON.parse((await run('list', '--json')).out)).toMatchObject({
    servers: [
      { hasLogin: true, failure: null },
      { state: 'never-started', hasLogin: null },
    ],
  });
});

it('explains which servers need no login', async () => {
  const { run } = setUp({
    here: fixtureServer('echo'),
    keyed: { url: 'http://127.0.0.1:9/mcp', headers: { authorization: 'Bearer x' } },
  });
  expect(await failureOf(run('login', 'here'))).toMatchObject({
    code: 'USAGE_INVALID',
    message: expect.stringContaining('runs on this machine'),
  });
  expect(await failureOf(run('login', 'keyed'))).toMatchObject({
    code: 'USAGE_INVALID',
    message: expect.stringContaining('uses the Authorization header of its entry'),
  });
});

it('resolves the address and the client from files, variables and commands, as calls do, and shows none of them', async () => {
  const server = await startOAuth({ clients: { 'by-hand': 'client-secret-12345' } });
  const { run, stateDir } = setUp({
    whole: { url: '${file:address}' },
    part: {
      url: server.url.replace('/mcp', '/mcp?key=${cmd:echo url-secret-12345}'),
      oauth: { clientId: 'by-hand', clientSecret: '${file:client}' },
    },
    wrong: { url: '${cmd:echo nowhere}' },
  });
  writeFileSync(join(stateDir, 'address'), `${server.url}?key=url-secret-12345\n`);
  writeFileSync(join(stateDir, 'client'), 'client-secret-12345\n');
  const said: unknown[] = [];
  for (const name of ['whole', 'part']) {
    said.push(await failureOf(run('tools', name)));
    expect(said.at(-1)).toMatchObject({ code: 'LOGIN_REQUIRED' });
    const login = await run('login', name, '--no-browser');
    expect(login.out).toBe(`Logged in to server '${name}', which has 1 tool.\n`);
    said.push(login.out, await run('show', name), await run('show', name, '--json'));
    expect((await run('tools', name)).out).toContain('act');
    expect((await run('logout', name)).out).toContain('Deleted the login for server');
  }
  expect(server.log).toContain('register');
  expect(JSON.stringify(said)).not.toMatch(/(?:url|client)-secret-12345/);
  expect(await failureOf(run('login', 'wrong'))).toMatchObject({
    code: 'SECRET_UNAVAILABLE',
    message: expect.stringMatching(
      /because url cannot be resolved: with its references resolved, the entry has a "url" that is not a full address/,
    ),
  });
});

it('does not repeat secrets of the entry if a login fails', async () => {
  const server = await startOAuth({ resource: () => ({ resource: 'https://example.org/mcp' }) });
  const { run } = setUp({ tracker: { url: `${server.url}?token=\${cmd:echo url-secret-12345}` } });
  const failure = await failureOf(run('login', 'tracker'));
  expect(failure).toMatchObject({ code: 'LOGIN_FAILED', message: expect.stringContaining('does not match') });
  expect(`${failure.message} ${failure.hint}`).not.toContain('url-secret-12345');
});
