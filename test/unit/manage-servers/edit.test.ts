/** What `servers add`, `remove`, `enable` and `disable` write, refuse and print, with real files. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { parseCommandLine } from '../../../src/app/cli/command-line.ts';
import { editServers } from '../../../src/app/manage-servers/edit.ts';
import { renderError, toBridgeError } from '../../../src/core/base/errors.ts';
import { silentLogger } from '../../../src/core/base/log.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';
import { createLoginStore } from '../../../src/edges/upstream/oauth/login-store.ts';

const SECRET = 'sk-0123456789abcdef';
const LOGIN = {
  url: 'https://a.example/mcp',
  redirectUrl: 'http://127.0.0.1:1/callback',
  tokens: { access_token: 'x', token_type: 'bearer' },
  client: { client_id: 'x' },
  authorizationServer: 'https://a.example',
};
let home = '';
let stateDir = '';
let env: Record<string, string> = {};

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'edit-servers-'));
  stateDir = join(home, 'MCPs');
  env = { MCP_BRIDGE_STATE_DIR: stateDir };
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
});

/** Runs `servers` with these arguments. Returns the output, or the rendered error. */
async function run(argv: readonly string[], input = ''): Promise<string> {
  let out = '';
  try {
    const command = await parseCommandLine(['servers', ...argv]);
    if (command.command !== 'servers' || !('isDryRun' in command)) {
      return `another command: ${command.command}`;
    }
    await editServers(command, {
      settings: loadSettings(env),
      cwd: home,
      input: Readable.from([input]),
      writeOut: (text) => (out += text),
    });
    return out;
  } catch (error) {
    return renderError(toBridgeError(error));
  }
}

const servers = (...argv: string[]): Promise<string> => run(argv);

function put(path: string, content: unknown, mode = 0o644): string {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  mkdirSync(join(path, '..'), { recursive: true });
  // A user other than root cannot overwrite a file that an earlier step made read-only.
  rmSync(path, { force: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
  return text;
}

const fileOf = (name = 'servers.json'): string => join(stateDir, name);
const read = (path = fileOf()): string => readFileSync(path, 'utf8');
const entries = (path = fileOf()) => JSON.parse(read(path)).mcpServers as Record<string, unknown>;

describe('add', () => {
  it('creates a file that only its owner can read, and prints one next step', async () => {
    expect(await servers('add', 'memory', '--', 'npx', '-y', '@modelcontextprotocol/server-memory')).toBe(
      `Added server 'memory' to ${fileOf()}.\nNext: mcp-server-code-execution-mode servers test memory\n`,
    );
    expect(entries()).toEqual({ memory: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory'] } });
    expect([statSync(stateDir).mode & 0o777, statSync(fileOf()).mode & 0o777]).toEqual([0o700, 0o600]);
    expect(readdirSync(stateDir)).toEqual(['servers.json']);
  });

  it('reads the JSON that READMEs show from standard input, with or without a name', async () => {
    const json = JSON.stringify({ mcpServers: { a: { command: 'a' }, b: { url: 'https://b.example/' } } });
    expect(await run(['add', '--json-entry', '-'], json)).toMatch(
      /^Added server 'a' .*\nAdded server 'b' .*\nNext: .* a b\n$/,
    );
    expect(await run(['add', 'c', '--json-entry', '-'], json)).toContain(
      "cannot tell which server to call 'c': there are 'a', 'b'",
    );
    await servers('remove', 'b');
    await run(['add', 'b', '--json-entry', '-', '--description', 'two'], json);
    expect(entries()).toEqual({ a: { command: 'a' }, b: { url: 'https://b.example/', description: 'two' } });
    expect(await run(['add', '--json-entry', `{"token": "${SECRET}"`])).toMatch(
      /is not JSON \(line 1, .*ends too early/,
    );
  });

  it('never repeats a secret', async () => {
    const argv = ['-e', `KEY=${SECRET}`, '--', 'srv', '--token', SECRET, `postgres://me:${SECRET}@db/`];
    const remote = [`https://x.example/mcp?api_key=${SECRET}`, '-H', `Authorization: Bearer ${SECRET}`];
    const said = [
      await servers('add', 'a', '--dry-run', ...argv),
      await servers('add', 'a', '--json', ...argv),
      await servers('add', 'b', '--dry-run', ...remote),
      await servers('add', 'b', ...remote),
      await servers('add', 'c', '-e', `=${SECRET}`, '--', 'srv'),
      await servers('add', 'c', 'https://x.example', '-H', SECRET),
      await servers('add', 'c', 'srv', `--token=${SECRET}`),
      await servers('remove', 'a', 'b', '--dry-run'),
      await servers('remove', 'a', 'b', '--json'),
    ].join('\n');
    expect(said).toContain('***');
    expect(said).not.toContain(SECRET.slice(3));
  });

  it('names variables that are not set in this shell', async () => {
    const reference = (name: string) => ['$', `{${name}}`].join('');
    const said = await servers(
      'add',
      'x',
      '-e',
      'NOT_SET_HERE',
      '--',
      'srv',
      reference('NOT_SET_2:-no'),
      reference('PATH'),
    );
    expect(said).toContain('\nNOT_SET_HERE is not set in this shell. Set it for the bridge');
    const address = await servers('add', 'y', '--url', `${reference('NOT_SET_HERE')}/mcp`);
    expect(address).toMatch(/is not a full address .*\nHint: Set NOT_SET_HERE in this shell too: .*$/);
  });
});

describe('examples', () => {
  it('are listed, and added by their name, by the name of one of their servers, or under a new name', async () => {
    expect(await servers('add', '--example')).toMatch(/^EXAMPLE +REQUIRES\n(.*\n)*github +A personal access token\.\n/);
    expect(await servers('add', '--example', 'git-and-fetch')).toMatch(
      /^Added server 'git' .*\nAdded server 'fetch' .*\nRequires: uv .*\nNext: .* servers test git\n$/,
    );
    expect(entries()).toMatchObject({ git: {}, fetch: { disabled: true, description: expect.any(String) } });
    await servers('remove', 'git', 'fetch');
    await servers('add', '--example', 'fetch');
    await servers('add', 'gh', '--example', 'github', '-e', `GITHUB_PERSONAL_ACCESS_TOKEN=${SECRET}`);
    expect(entries()).toMatchObject({
      fetch: { command: 'uvx' },
      gh: { command: 'npx', env: { GITHUB_PERSONAL_ACCESS_TOKEN: SECRET } },
    });
    expect(entries()['fetch']).not.toHaveProperty('disabled');
  });

  it('name the variables that they need, and an unknown name gets suggestions', async () => {
    expect(await servers('add', '--example', 'slack')).toContain(
      '\nSLACK_BOT_TOKEN, SLACK_TEAM_ID are not set in this shell.',
    );
    const unknown = await servers('add', '--example', 'githbu');
    expect(unknown).toMatch(/^USAGE_INVALID: there is no example 'githbu'\. Did you mean 'github'/);
  });
});

describe('add for a server that is there', () => {
  const there = `Server 'x' is already there (in `;
  const before = { command: 'npx', args: ['-y', 'srv'], env: { A: '1' }, policy: { deny: ['*'] } };

  // It was an error, also right after `install` had moved the very entry.
  it.each([
    [before, ['-e', 'A=1', '--', 'npx', '-y', 'srv']],
    [{ type: 'stdio', description: 'mine', env: {}, command: 'srv' }, ['srv']],
    [{ type: 'http', url: 'https://x.example/' }, ['-t', 'http', 'https://x.example/']],
  ])('%j has nothing to do', async (entry, argv) => {
    const cursor = fileOf('cursor.json');
    const text = put(cursor, { mcpServers: { x: entry } });
    expect(await servers('add', 'x', ...argv)).toBe(`${there}${cursor}); nothing to do.\n`);
    expect(await servers('add', 'x', '--dry-run', ...argv)).toBe(`${there}${cursor}); nothing to do.\n`);
    expect(JSON.parse(await servers('add', 'x', '--json', ...argv))).toMatchObject({
      servers: [{ name: 'x', file: cursor, outcome: 'present' }],
      isWritten: false,
      next: null,
    });
    expect([read(cursor), existsSync(fileOf())]).toEqual([text, false]);
  });

  it.each([
    [before, ['--', 'npx', '-y', 'srv']],
    [before, ['-e', 'A=2', '--', 'npx', '-y', 'srv']],
    [before, ['-e', 'A=1', '--timeout', '5', '--', 'npx', '-y', 'srv']],
    [{ ...before, disabled: true }, ['-e', 'A=1', '--', 'npx', '-y', 'srv']],
    [{ url: 'https://x.example/', headers: { A: '1' } }, ['https://x.example/']],
  ])('%j is not %j', async (entry, argv) => {
    put(fileOf('cursor.json'), { mcpServers: { x: entry } });
    expect(await servers('add', 'x', ...argv)).toMatch(
      /already exists in .*; nothing was changed\nHint: Choose another name, .* servers remove x$/,
    );
  });

  it('but cannot be used says why', async () => {
    put(fileOf('cursor.json'), { mcpServers: { x: { url: 'nowhere' } } });
    expect(await servers('add', 'x', '--url', 'nowhere')).toContain('its entry has a "url" that is not a full address');
  });
});

describe('what add refuses', () => {
  it.each([
    [['x'], 'no command or URL was given'],
    [[], 'no command or URL was given'],
    [
      ['x', '--url', 'https://x.example', '--', 'srv'],
      'more than one command, URL, description, example or entry was given',
    ],
    [['x', 'npx', 'srv'], "the command 'npx' has arguments, but there is no -- before it"],
    // `npx` used to be taken for the name, and `srv` for the program.
    [['--', 'npx', 'srv'], 'the name of the server is missing'],
    [['x', 'npx', '-y', 'srv'], "unknown option '-y'"],
    [['x', '-t', 'tcp', 'srv'], "--transport is 'tcp'; allowed: stdio, http, sse"],
    [['x', '-t', 'http', 'srv'], '--transport http needs a URL, not a command'],
    [['x', '-t', 'stdio', 'https://x.example'], '--transport stdio cannot be combined with a URL'],
    [['x', '--url', 'ftp://x.example'], 'its entry has a "url" with the scheme "ftp:"'],
    [['x', '--url', 'nowhere'], 'its entry has a "url" that is not a full address'],
    [['x', 'https://x.example', '-e', 'A=1'], '--env and --cwd do not apply to remote servers'],
    [['x', '-H', 'A: 1', '--', 'srv'], '--header applies only to remote servers'],
    [['x', 'https://x.example', '-H', 'A B: 1'], 'a value of --header is not a valid header'],
    [['x', '--timeout', 'soon', 'srv'], 'mcpServers.x.timeout must be a number of seconds'],
    [['x', '--json-entry', '[]'], '--json-entry is not a JSON object'],
    [['x', '--json-entry', '{"args": []}'], 'mcpServers.x.command is missing; it must be a string'],
    [['x'.repeat(129), 'srv'], 'a server name must have 1 to 128 characters'],
    [['a\nb', 'srv'], 'a server name must have 1 to 128 characters'],
    [[' x', 'srv'], "the name ' x' begins or ends with a space"],
    [['', 'srv'], 'a server name must have 1 to 128 characters'],
    [['mcp-server-code-execution-mode', 'srv'], 'its entry was skipped, because its name is that of this bridge'],
    [['x', '--', 'npx', '-y', 'mcp-server-code-execution-mode@1'], 'its arguments start this bridge'],
  ])('%j', async (argv, message) => {
    expect(await servers('add', ...argv)).toContain(message);
    expect(existsSync(fileOf())).toBe(false);
  });

  it('a name that is taken in any file, even by an invalid entry', async () => {
    const other = fileOf('other.json');
    const before = put(other, {
      mcpServers: { x: { command: 'old', policy: { deny: ['*'] }, pin: 'strict' }, bad: 5 },
    });
    const refused = await servers('add', 'x', 'srv');
    expect(refused).toContain(
      `CONFIG_INVALID: server 'x' already exists in ${other}; nothing was changed\nHint: Choose another name, add --force to replace it, or remove it first: mcp-server-code-execution-mode servers remove x`,
    );
    expect(await servers('add', 'bad', 'srv')).toContain(`server 'bad' already exists in ${other}`);
    expect([read(other), readdirSync(stateDir)]).toEqual([before, ['other.json']]);
    // The person's decisions about its calls survive the replacement.
    expect(await servers('add', 'x', '--force', '--', 'new')).toContain(
      `Replaced server 'x' in ${other}, keeping its policy and pin.`,
    );
    expect(entries(other)['x']).toEqual({ command: 'new', policy: { deny: ['*'] }, pin: 'strict' });
  });

  it('a name in the file of another client, and a state directory that is not a source', async () => {
    const theirs = join(home, 'theirs.json');
    const before = put(theirs, { mcpServers: { x: { command: 'srv' } } });
    env['MCP_BRIDGE_CONFIG_SOURCES'] = `mcps,${theirs}`;
    expect(await servers('add', 'x', '--force', 'srv')).toContain(`already exists in ${theirs}`);
    for (const action of ['remove', 'enable', 'disable']) {
      expect(await servers(action, 'x')).toContain(
        `server 'x' is defined in ${theirs}, which belongs to another program`,
      );
    }
    env['MCP_BRIDGE_CONFIG_SOURCES'] = theirs;
    expect(await servers('add', 'y', 'srv')).toContain('MCP_BRIDGE_CONFIG_SOURCES does not contain mcps');
    expect([read(theirs), existsSync(fileOf())]).toEqual([before, false]);
  });

  it('a file that is invalid or read-only, or whose commands would not be run', async () => {
    put(fileOf(), '{\n  // mine\n  "mcpServers": {}\n}');
    expect(await servers('add', 'x', 'srv')).toMatch(
      /servers\.json is not JSON \(line 2, column 3\): comments .*Correct the file/s,
    );
    put(fileOf(), { x: { command: 'srv' } });
    expect(await servers('add', 'x', 'srv')).toContain('has no key "mcpServers"');
    put(fileOf(), { servers: { x: { command: 'srv' } } });
    expect(await servers('add', 'y', 'srv')).toContain('has its servers under "servers"; nothing was changed');
    put(fileOf(), { mcpServers: {} }, 0o444);
    expect(await servers('add', 'x', 'srv')).toMatch(
      /is read-only; nothing was changed\nHint: Check that you own the file/,
    );
    put(fileOf(), { mcpServers: {} }, 0o666);
    const cmd = ['$', '{cmd:pass show x}'].join('');
    expect(await servers('add', 'x', '-e', `A=${cmd}`, '--', 'srv')).toContain('others can write to it (chmod go-w)');
    expect(entries()).toEqual({});
  });
});

describe('remove, enable and disable', () => {
  const two = '{\n\t"mcpServers": {\n\t\t"a-b": { "command": "a" },\n\t\t"c": { "command": "c" }\n\t}\n}\n';

  it('change the entry in the file that defines the server, and nothing else', async () => {
    const file = fileOf('mine.json');
    put(file, two, 0o640);
    expect(await servers('disable', 'A_B', 'c')).toBe(
      `Disabled server 'a-b' in ${file}.\nDisabled server 'c' in ${file}.\n`,
    );
    expect(entries(file)).toEqual({ 'a-b': { command: 'a', disabled: true }, c: { command: 'c', disabled: true } });
    expect(await servers('disable', 'c')).toBe(`Nothing to change for server 'c' in ${file}.\n`);
    await servers('enable', 'a-b', 'c');
    expect(read(file)).toBe(two);
    expect(await servers('remove', 'c', 'c', '--dry-run')).toMatch(
      /\n-\t\t"c": \{ "command": "c" \}\n(.*\n)*Nothing was written/,
    );
    expect(read(file)).toBe(two);
    await servers('remove', 'c');
    expect(read(file)).toBe('{\n\t"mcpServers": {\n\t\t"a-b": { "command": "a" }\n\t}\n}\n');
    expect(statSync(file).mode & 0o777).toBe(0o640);
    await servers('remove', 'a-b');
    expect(readdirSync(stateDir)).toEqual([]);
  });

  it('escape control characters in a dry run', async () => {
    put(fileOf(), '{\r\n "mcpServers": {\r\n  "a": { "command": "a", "description": "\u202E\u009B" }\r\n }\r\n}\r\n');
    const shown = await servers('disable', 'a', '--dry-run');
    expect(shown).toContain('"description": "\\x202e\\x9b", "disabled": true }\n');
  });

  it('change nothing if one of several names is unknown, and mention files that may define it', async () => {
    const before = put(fileOf(), two);
    expect(await servers('remove', 'a-b', 'd')).toBe(
      "SERVER_UNKNOWN: no server 'd' is configured\nHint: Configured: a-b, c.",
    );
    expect(read()).toBe(before);
    put(fileOf('broken.json'), '{');
    expect(await servers('remove', 'd')).toMatch(/broken\.json is not JSON/);
  });

  it('remove deletes every definition of the name, including invalid entries', async () => {
    put(fileOf('1.json'), { mcpServers: { a: { command: '1' } }, description: 'stays' });
    put(fileOf('2.json'), { mcpServers: { a: { command: '2' }, b: 5 } });
    const extra = join(home, 'extra.json');
    put(extra, { mcpServers: { a: { command: '3' } } });
    env['MCP_SERVERS_CONFIG'] = extra;
    await servers('remove', 'a', 'b');
    expect([entries(fileOf('1.json')), existsSync(fileOf('2.json')), entries(extra)]).toEqual([{}, false, {}]);
  });

  it('remove reports that another file still defines the server', async () => {
    const theirs = join(home, 'theirs.json');
    put(theirs, { mcpServers: { a: { command: 'theirs' } } });
    put(fileOf(), { mcpServers: { a: { command: 'ours' } } });
    env['MCP_BRIDGE_CONFIG_SOURCES'] = `mcps,${theirs}`;
    expect(await servers('remove', 'a')).toContain(`\nServer 'a' still exists: ${theirs} also defines it.\n`);
  });

  it('remove deletes the login for the address', async () => {
    put(fileOf(), { mcpServers: { a: { url: 'https://a.example/mcp' } } });
    const logins = createLoginStore(loadSettings(env).stateDir, silentLogger);
    const key = { name: 'a', url: 'https://a.example/mcp' };
    await logins.save(key, LOGIN);
    await servers('disable', 'a');
    expect(await logins.load(key)).toEqual(LOGIN);
    await servers('remove', 'a');
    expect(await logins.load(key)).toBeUndefined();
  });

  it('follow a symbolic link to the file, and keep the link', async () => {
    const real = join(home, 'dotfiles.json');
    put(real, { mcpServers: { a: { command: 'a' } } });
    mkdirSync(stateDir);
    symlinkSync(real, fileOf());
    await servers('add', 'b', 'srv');
    await servers('remove', 'a', 'b');
    expect([lstatSync(fileOf()).isSymbolicLink(), entries(real)]).toEqual([true, {}]);
    rmSync(real);
    expect(await servers('add', 'b', 'srv')).toContain('is a link whose target does not exist');
  });
});

describe('concurrent commands', () => {
  it('do not lose what another one wrote', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `server-${index}`);
    await Promise.all(names.map((name) => servers('add', name, 'srv')));
    expect(Object.keys(entries()).toSorted()).toEqual(names.toSorted());
    await Promise.all(names.map((name) => servers('remove', name)));
    expect(readdirSync(stateDir)).toEqual([]);
  });
});
