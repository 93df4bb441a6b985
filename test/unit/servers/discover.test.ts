import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { renderIssue } from '../../../src/core/base/config-issue.ts';
import { createServerDiscovery, type DiscoveryOptions, discoverServers } from '../../../src/edges/servers/discover.ts';

let stateDir = '';

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'discover-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
});

function put(file: string, content: unknown): string {
  const path = join(stateDir, file);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

function discover(options: Partial<DiscoveryOptions> = {}) {
  return discoverServers({ stateDir, env: {}, ...options });
}

/** The issues as text, without the folder. */
function issues(options: Partial<DiscoveryOptions> = {}): string[] {
  return discover(options).issues.map((issue) => `${issue.level} ${renderIssue(issue).replace(`${stateDir}/`, '')}`);
}

const server = (command = 'run', more: object = {}) => ({ command, ...more });
const file = (mcpServers: object, more: object = {}) => ({ mcpServers, ...more });

describe('which files', () => {
  it('reads *.json sorted by name; the first definition of a name wins, and others are reported', () => {
    put('b.json', file({ both: server('from-b'), b: server() }));
    put('a.json', file({ both: server('from-a') }));
    expect([...discover().servers.keys()]).toEqual(['both', 'b']);
    expect(discover().servers.get('both')?.command).toBe('from-a');
    expect(issues()).toEqual([
      `warning b.json: mcpServers.both was left out, because ${stateDir}/a.json already defines that name; rename one of them`,
    ]);
  });

  // A state directory elsewhere hid these servers.
  it('reads ~/MCPs after a state directory elsewhere, unless a policy there would no longer apply', () => {
    put('a.json', file({ both: server('from-a') }));
    mkdirSync(join(stateDir, 'usual'));
    put('usual/z.json', file({ both: server('from-z'), z: server() }));
    const usualDir = join(stateDir, 'usual');
    expect([...discover({ usualDir }).servers.keys()]).toEqual(['both', 'z']);
    expect(discover({ usualDir }).servers.get('both')?.command).toBe('from-a');
    expect(discover({ usualDir: stateDir }).issues).toEqual([]);
    put('usual/policy.json', { default: 'deny' });
    expect([...discover({ usualDir }).servers.keys()]).toEqual(['both']);
    expect(issues({ usualDir })).toEqual([
      expect.stringMatching(/^warning usual\/policy\.json is not read, because the state directory is /),
    ]);
  });

  it('reads the extra file last, and only once if it is in the folder', () => {
    put('a.json', file({ a: server('first') }));
    const extra = join(stateDir, 'extra.txt');
    writeFileSync(extra, JSON.stringify(file({ a: server('second'), x: server() })));
    const found = discover({ extraFile: extra });
    expect([...found.servers.keys()]).toEqual(['a', 'x']);
    expect(found.servers.get('a')?.command).toBe('first');
    expect(discover({ extraFile: join(stateDir, 'a.json') }).issues).toEqual([]);
  });

  it('reports a missing extra file, but not a missing folder', () => {
    expect(discover({ stateDir: join(stateDir, 'none') })).toEqual({ servers: new Map(), issues: [] });
    expect(issues({ extraFile: join(stateDir, 'none.json') })).toEqual([
      'error none.json is named in MCP_SERVERS_CONFIG but does not exist',
    ]);
  });

  it('ignores hidden files, other extensions, folders, policy.json and languages.json', () => {
    for (const name of ['.hidden.json', 'a.json.bak', 'policy.json', 'languages.json', 'notes.md']) {
      put(name, file({ [name]: server() }));
    }
    mkdirSync(join(stateDir, 'folder.json'));
    expect(discover()).toEqual({ servers: new Map(), issues: [] });
  });

  it('accepts a byte order mark and CRLF', () => {
    put('windows.json', `\uFEFF${JSON.stringify(file({ w: server() }), null, 2).replaceAll('\n', '\r\n')}`);
    expect([...discover().servers.keys()]).toEqual(['w']);
  });

  it('follows links, and reports a dangling one', () => {
    const target = put('target.txt', file({ linked: server() }));
    symlinkSync(target, join(stateDir, 'link.json'));
    symlinkSync(join(stateDir, 'loop.json'), join(stateDir, 'loop.json'));
    expect([...discover().servers.keys()]).toEqual(['linked']);
    symlinkSync(join(stateDir, 'gone.json'), join(stateDir, 'dangling.json'));
    expect(issues()).toEqual([
      'error dangling.json is a link whose target does not exist',
      expect.stringMatching(/^error loop\.json cannot be read: ELOOP/),
    ]);
  });
});

describe('problems in them', () => {
  it('reports invalid files and entries with their path, keeps valid ones, and repeats no value', () => {
    put('a.json', '{"mcpServers": {"a": {"command": "run", "env": {"TOKEN": "hush"');
    put(
      'b.json',
      file({
        good: server(),
        bad: { command: 5, args: 'x', env: { A: { secret: 'hush' } }, cwd: '', timeout: '3 days' },
      }),
    );
    put('c.json', [1]);
    put('d.json', file({ none: 'text' }));
    put('e.json', { mcpServers: [] });
    expect([...discover().servers.keys()]).toEqual(['good']);
    expect(issues()).toEqual([
      'error a.json is not JSON (line 1, column 64): it ends too early',
      'error b.json: mcpServers.bad.command must be a string',
      'error b.json: mcpServers.bad.args must be a list of strings',
      'error b.json: mcpServers.bad.env.A must be a string',
      'error b.json: mcpServers.bad.cwd must name a folder',
      'error b.json: mcpServers.bad.timeout must be a number of seconds such as 30, or a duration such as "30s" or "2m", at most 24 days',
      'error c.json must be an object with the key "mcpServers"',
      'error d.json: mcpServers.none must be an object',
      'error e.json: mcpServers must be an object of servers by name',
    ]);
  });

  it('reports a missing command', () => {
    put('a.json', file({ empty: {} }));
    expect(issues()).toEqual(['error a.json: mcpServers.empty.command is missing; it must be a string']);
  });

  it.each(['comand', 'commands', 'Command', 'commnad'])('guesses what %s means', (key) => {
    put('a.json', file({ typo: { [key]: 'x' } }));
    expect(issues()).toEqual([`error a.json: mcpServers.typo.${key} is not a known key. Did you mean 'command'?`]);
  });

  it('warns about an entry with a command and an address', () => {
    put('a.json', file({ both: server('run', { url: 'https://example.org/mcp' }) }));
    expect(issues()).toEqual(['warning a.json: mcpServers.both has both "command" and "url"; "url" is ignored']);
  });

  it('helps with files for another program, and ignores unrelated ones', () => {
    put('a.json', { servers: { x: 'y' }, x: server() });
    put('b.json', { x: server() });
    put('c.json', server());
    put('d.json', { name: 'package', version: '1.0.0' });
    expect(issues().map((issue) => issue.slice(0, 49))).toEqual([
      'warning a.json has no key "mcpServers"; put the e',
      'warning b.json has no key "mcpServers"; put the e',
      'warning c.json has no key "mcpServers"; put the e',
      'debug d.json has no key "mcpServers" and was igno',
    ]);
  });

  // Each of these looks like a policy, and nothing said that it was never applied.
  it('warns about policies that do not apply', () => {
    const policy = { default: 'deny' };
    put('a.json', file({ a: server('run', { polcy: policy }), b: server() }, { policy }));
    put('b.json', file({ b: server('run', { policy }) }));
    put('c.json', { rules: [] });
    put('d.json', file({ d: server() }, { policies: 1 }));
    put('Policy.json', policy);
    put('policy.jsonc', policy);
    expect(issues().filter((issue) => !issue.startsWith('debug'))).toEqual([
      'warning Policy.json is not read: the policy for all servers must be named policy.json',
      'warning policy.jsonc is not read: the policy for all servers must be named policy.json',
      'warning a.json: policy is not applied here: it belongs in the entry of a server, or in policy.json',
      "warning a.json: mcpServers.a.polcy is not a known key, so it is not applied. Did you mean 'policy'?",
      `warning b.json: mcpServers.b is the same server as in ${stateDir}/a.json, and its policy here does not apply: move it there`,
      'warning c.json is not read: if it is the policy for all servers, it must be named policy.json',
    ]);
  });

  it('does not choose between two policies of an entry, and reports other keys that are repeated', () => {
    put('a.json', '{"mcpServers": {"a": {"command": "run", "policy": {"default": "deny"}, "policy": {}}}}');
    put('b.json', '{"mcpServers": {"b": {"command": "run"}, "b": {"command": "walk"}}}');
    expect([...discover().servers.keys()]).toEqual(['b']);
    expect(issues()).toEqual([
      'error a.json has the key "policy" more than once in one object',
      'warning b.json has the key "b" more than once in one object',
    ]);
  });

  it('reports unknown keys at debug level', () => {
    put('a.json', file({ a: server('run', { type: 'stdio', autoApprove: [] }) }));
    expect(issues()).toEqual(['debug a.json: mcpServers.a: unknown keys were ignored: type, autoApprove']);
  });

  it('refuses names that cannot be shown, but accepts names that only look dangerous', () => {
    put('a.json', '{"mcpServers": {"__proto__": {"command": "run"}, "constructor": {"command": "run"}}}');
    put(
      'b.json',
      file({ '': server(), 'a\nb': server(), 'a\0b': server(), ['x'.repeat(129)]: server(), '../x': server() }),
    );
    expect([...discover().servers.keys()]).toEqual(['__proto__', 'constructor', '../x']);
    expect(issues()).toHaveLength(4);
    expect(issues()[1]).toBe(
      'error b.json: mcpServers["a\\nb"]: a server name must have 1 to 128 characters and no control characters',
    );
  });

  it('refuses a file that is too long', () => {
    put('a.json', ' '.repeat(4 * 1024 * 1024 + 1));
    expect(issues()).toEqual(['error a.json has 4194305 bytes; the limit for server files is 4194304 bytes']);
  });
});

it('skips entries that start this bridge, unless allowed', () => {
  put('a.json', file({ me: server('npx', { args: ['-y', 'mcp-server-code-execution-mode'] }), other: server() }));
  expect([...discover().servers.keys()]).toEqual(['other']);
  expect(issues()).toEqual([
    'warning a.json: mcpServers.me was skipped, because its arguments start this bridge; MCP_BRIDGE_ALLOW_SELF_SERVER=on allows it',
  ]);
  put('wrapper.sh', '#!/bin/sh\nexec uvx mcp-server-code-execution-mode run\n');
  put('b.json', file({ wrapped: server('./wrapper.sh'), launched: server('sh', { args: ['${DIR}/wrapper.sh'] }) }));
  expect([...discover({ env: { DIR: stateDir } }).servers.keys()]).toEqual(['other']);
  rmSync(join(stateDir, 'b.json'));
  expect([...discover({ allowsSelf: true }).servers.keys()]).toEqual(['me', 'other']);
  // The message names the variable, and the entry is one place to set it.
  const env = { MCP_BRIDGE_ALLOW_SELF_SERVER: '1' };
  put('a.json', file({ me: server('npx', { args: ['-y', 'mcp-server-code-execution-mode'], env }) }));
  expect([...discover().servers.keys()]).toEqual(['me']);
});

describe('definitions', () => {
  it('reads every key, converts numbers to strings, and prefers the entry over the file', () => {
    const env = { PORT: 8080, DEBUG: true, EMPTY: '' };
    put(
      'a.json',
      file(
        {
          a: server('run', {
            args: ['--port', 8080],
            env,
            cwd: '/srv',
            timeout: '2m',
            description: 'mine',
            disabled: true,
          }),
          b: server(),
        },
        { description: 'of the file' },
      ),
    );
    const { a, b } = Object.fromEntries(discover().servers);
    expect(a).toMatchObject({
      command: 'run',
      args: ['--port', '8080'],
      env: { PORT: '8080', DEBUG: 'true', EMPTY: '' },
      cwd: '/srv',
      timeoutMs: 120_000,
      description: 'mine',
      disabled: true,
    });
    expect(b).toMatchObject({
      args: [],
      env: {},
      cwd: undefined,
      timeoutMs: undefined,
      description: 'of the file',
      disabled: false,
    });
    expect(b?.file).toBe(join(stateDir, 'a.json'));
  });

  it.each([
    [30, 30_000],
    [0.5, 500],
    ['45', 45_000],
    ['1500ms', 1_500],
  ])('reads a timeout of %s', (timeout, timeoutMs) => {
    put('a.json', file({ a: server('run', { timeout }) }));
    expect(discover().servers.get('a')?.timeoutMs).toBe(timeoutMs);
  });

  it.each([0, -1, 1e12, '1 week', null])('refuses a timeout of %s', (timeout) => {
    put('a.json', file({ a: server('run', { timeout }) }));
    expect(discover().servers.size).toBe(0);
  });

  it('expands ~ as a shell does, and paths from the folder of the file', () => {
    put(
      'a.json',
      file({
        a: server('~/bin/run', { args: ['~/notes', '~', 'a~/b', '~other/x'], cwd: 'work' }),
        b: server('./run.sh'),
      }),
    );
    const { a, b } = Object.fromEntries(discover({ env: { HOME: '/home/me' } }).servers);
    expect(a?.command).toBe('/home/me/bin/run');
    expect(a?.args).toEqual(['/home/me/notes', '/home/me', 'a~/b', '~other/x']);
    expect(a?.cwd).toBe(join(stateDir, 'work'));
    expect(b?.command).toBe(join(stateDir, 'run.sh'));
  });

  it('expands variables of the environment as other clients do', () => {
    const env = { TOKEN: 't-1', ROOT: '/srv', EMPTY: '', HOME: '/elsewhere' };
    const entry = {
      args: ['--root=${ROOT}/data', '${EMPTY:-none}', '${env:EMPTY}', '${UNSET:-}', '$ROOT', '${ROOT'],
      env: { TOKEN: 'Bearer ${env:TOKEN}', MISSING: '${UNSET}' },
      cwd: '${ROOT}',
    };
    put('a.json', file({ a: server('${ROOT}/run', entry) }));
    const found = discover({ env });
    expect(found.servers.get('a')).toMatchObject({
      command: '/srv/run',
      args: ['--root=/srv/data', 'none', '', '', '$ROOT', '${ROOT'],
      env: { TOKEN: 'Bearer t-1', MISSING: '${UNSET}' },
      cwd: '/srv',
    });
    expect(issues({ env })).toEqual(['warning a.json: mcpServers.a: the variable UNSET is not set']);
    expect(found.issues[0]?.hint).toMatch(/^Set UNSET in the environment of the bridge: /);
  });

  it('have the same hash if they start the same process', () => {
    put('a.json', file({ a: server('run', { env: { A: '1', B: '2' }, description: 'x' }) }));
    put(
      'b.json',
      file({
        b: server('run', { timeout: 3, env: { B: '2', A: '1' } }),
        c: server('run', { env: { A: '1', B: '3' } }),
      }),
    );
    const { a, b, c } = Object.fromEntries(discover().servers);
    expect(a?.definitionHash).toMatch(/^[0-9a-f]{64}$/);
    expect(b?.definitionHash).toBe(a?.definitionHash);
    expect(c?.definitionHash).not.toBe(a?.definitionHash);
  });

  // The search from each `${` went to the end of the text: a file of 1 MB kept the bridge busy for minutes.
  it('are read quickly, even with many unterminated variables', () => {
    put('a.json', file({ a: server('run', { args: ['${A:-'.repeat(200_000)] }) }));
    expect(discover().servers.get('a')?.args?.[0]).toHaveLength(1_000_000);
    put('a.json', file({ a: server('run', { args: [`${'${cmd:'.repeat(200_000)}x}`] }) }));
    expect(discover().servers.get('a')?.args?.[0]).toHaveLength(1_200_002);
  });
});

describe('changes', () => {
  // A folder that has not changed for a while is not listed again until it does.
  it('finds new files and misses removed ones in a folder that had not changed for a while', () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    const first = put('a.json', file({ a: server() }));
    const find = createServerDiscovery({ stateDir, env: {} });
    const names = () => [...find().servers.keys()];
    expect([names(), names()]).toEqual([['a'], ['a']]);
    put('b.json', file({ b: server() }));
    expect([names(), names()]).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
    rmSync(first);
    expect(names()).toEqual(['b']);
    rmSync(stateDir, { recursive: true });
    expect(names()).toEqual([]);
    mkdirSync(stateDir);
    put('c.json', file({ c: server() }));
    expect(names()).toEqual(['c']);
  });

  it('returns the same object until something changes, and sees each change', () => {
    const find = createServerDiscovery({ stateDir, env: {} });
    put('a.json', file({ a: server() }));
    const first = find();
    expect(find()).toBe(first);
    put('a.json', file({ a: server('other') }));
    expect(find().servers.get('a')?.command).toBe('other');
    put('b.json', file({ b: server() }));
    expect([...find().servers.keys()]).toEqual(['a', 'b']);
    rmSync(join(stateDir, 'a.json'));
    expect([...find().servers.keys()]).toEqual(['b']);
  });

  it('sees a change that kept the size and the modification time', () => {
    const find = createServerDiscovery({ stateDir, env: {} });
    const time = new Date('2026-01-01');
    utimesSync(put('a.json', file({ a: server('one') })), time, time);
    expect(find().servers.get('a')?.command).toBe('one');
    // First the same file is written, then it is replaced by another one.
    utimesSync(put('a.json', file({ a: server('two') })), time, time);
    expect(find().servers.get('a')?.command).toBe('two');
    rmSync(join(stateDir, 'a.json'));
    put('other', 'takes the inode');
    utimesSync(put('a.json', file({ a: server('six') })), time, time);
    expect(find().servers.get('a')?.command).toBe('six');
  });

  it('sees when the extra file is created', () => {
    const extraFile = join(stateDir, 'later.txt');
    const find = createServerDiscovery({ stateDir, extraFile, env: {} });
    expect(find().issues).toHaveLength(1);
    put('later.txt', file({ a: server() }));
    expect(find()).toMatchObject({ issues: [] });
    expect([...find().servers.keys()]).toEqual(['a']);
  });
});
