/** `install` and `uninstall`: refusals, changes that the user made in the meantime, and the output. */
import {
  chmodSync,
  existsSync,
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
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { InstallCommand, InstallLine } from '../../../src/app/install/command.ts';
import { install } from '../../../src/app/install/run.ts';
import { messageOf } from '../../../src/core/base/errors.ts';
import type { ClientId } from '../../../src/edges/clients/client-ids.ts';
import { loadFormat } from '../../../src/edges/clients/format.ts';
import { type ClientSystem, clientOf } from '../../../src/edges/clients/table.ts';
import { existing, SECRET } from '../../support/client-homes.ts';

let home = '';
let stateDir = '';

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'install-'));
  stateDir = join(home, 'MCPs');
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
});

interface Call extends Partial<Omit<InstallLine, 'clients' | 'command'>> {
  readonly command?: InstallCommand['command'];
  readonly platform?: ClientSystem['platform'];
}

async function run(clients: ClientId | readonly ClientId[], call: Call = {}) {
  const { platform = 'linux', ...more } = call;
  const command = {
    command: 'install',
    clients: [clients].flat(),
    scope: 'user',
    isDryRun: false,
    isImport: undefined,
    startCommand: undefined,
    variables: {},
    isGlobal: false,
    isPrint: false,
    isJson: false,
    ...more,
  } as InstallCommand;
  let out = '';
  const exitCode = await install(command, {
    settings: { stateDir },
    system: { platform, home, env: {} },
    cwd: join(home, 'project'),
    start: ['npx', '-y', 'mcp-server-code-execution-mode'],
    writeOut: (text) => (out += text),
    writeError: (text) => (out += text),
  });
  return { out, exitCode };
}

function fileOf(id: ClientId, platform: ClientSystem['platform'] = 'linux'): string {
  return clientOf(id).userFiles({ platform, home, env: {} })[0] ?? '';
}

function put(path: string, text: string, mode = 0o644): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
  return text;
}

const read = (path: string): string => readFileSync(path, 'utf8');
const backupsOf = (path: string): string[] => readdirSync(dirname(path)).filter((name) => name.includes('.backup-'));

it.skipIf(process.platform === 'win32')(
  'creates folders that only the owner can enter, as the entries in them hold secrets',
  async () => {
    const path = fileOf('cursor');
    put(path, existing('cursor'));
    const before = process.umask(0o022);
    onTestFinished(() => void process.umask(before));
    await run('cursor', { isImport: true });
    expect([statSync(stateDir).mode & 0o777, statSync(join(stateDir, 'cursor.json')).mode & 0o777]).toEqual([
      0o700, 0o600,
    ]);
  },
);

describe('changes that the user made in the meantime', () => {
  it('keep a new server of the client, and the moved one of the same name is not moved back', async () => {
    const path = fileOf('cursor');
    put(path, '{"mcpServers": {"a": {"command": "old"}, "b": {"command": "b"}}}');
    await run('cursor', { isImport: true });
    writeFileSync(path, read(path).replace('"mcpServers": {', '"mcpServers": {"a": {"command": "new"}, '));
    const { out } = await run('cursor', { command: 'uninstall' });
    expect(JSON.parse(read(path))).toEqual({ mcpServers: { a: { command: 'new' }, b: { command: 'b' } } });
    const store = join(stateDir, 'cursor.json');
    expect(out).toContain(`'b': moved back from ${store}.`);
    expect(out).toContain(`'a' was not moved back from ${store}: ${path} already has a server with that name.`);
  });

  it('survive uninstall, and moved servers come back as they were', async () => {
    const path = fileOf('cursor');
    put(path, existing('cursor'));
    await run('cursor', { isImport: true });
    writeFileSync(path, read(path).replace('"theme": "x"', '"theme": "y"'));
    const store = join(stateDir, 'cursor.json');
    writeFileSync(store, read(store).replace('xxxxx', 'edited'));
    const { out } = await run('cursor', { command: 'uninstall' });
    expect(out).toContain(`'files' was changed in ${store} and also stays there`);
    expect(out).toMatch(/'files'.*: moved back from /);
    const format = await loadFormat('json');
    expect(format.parse(read(path))).toMatchObject({
      theme: 'y',
      mcpServers: { files: { command: 'files', args: ['xxxxx'] } },
    });
    expect(read(path)).toContain('// mine');
    expect(read(path)).not.toContain('mcp-server-code-execution-mode');
    expect(JSON.parse(read(store))).toMatchObject({ mcpServers: { files: { args: ['edited'] } } });
  });

  it('keep an entry of the bridge under another name, and another server with our name', async () => {
    const path = fileOf('cursor');
    const own = put(path, '{"mcpServers": {"py": {"command": "npx", "args": ["mcp-server-code-execution-mode@1"]}}}');
    expect((await run('cursor')).out).toContain('already registered');
    expect(read(path)).toBe(own);
    put(path, '{"mcpServers": {"code": {"command": "other"}}}');
    await run('cursor');
    expect(Object.keys(JSON.parse(read(path)).mcpServers)).toEqual(['code', 'mcp-server-code-execution-mode']);
  });
});

describe('moving', () => {
  it('lists what stays, and overwrites nothing in the state directory', async () => {
    put(join(stateDir, 'a.json'), '{"mcpServers": {"taken": {"command": "mine"}, "same": {"command": "same"}}}');
    const asked = ['$', '{input:key}'].join('');
    const servers = {
      taken: { command: 'theirs' },
      same: { command: 'same' },
      asks: { command: 'x', env: { KEY: asked } },
      here: { command: './run' },
      odd: 7,
    };
    put(fileOf('vscode'), JSON.stringify({ servers }));
    const { out } = await run('vscode', { isImport: true });
    expect(out).toContain(`'taken' stays: it has the same name as a different server in ${stateDir}/a.json`);
    expect(out).toContain(`'asks' stays: it contains ${asked}, which only its client can fill in.`);
    expect(out).toContain("'here' stays: it starts a program by a path relative to the client's working folder.");
    expect(out).toContain("'odd' stays: it is not an object.");
    expect(out).toContain(`'same': moved to ${stateDir}/vscode.json.`);
    expect(Object.keys(JSON.parse(read(fileOf('vscode'))).servers)).toEqual(['taken', 'asks', 'here', 'odd', 'code']);
    expect(read(join(stateDir, 'a.json'))).toContain('mine');
  });

  it('gives servers of a project the project folder', async () => {
    const path = join(home, 'project/.mcp.json');
    const before = put(path, '{"mcpServers": {"x": {"command": "node", "args": ["s.js"]}}}');
    await run('claude-code', { scope: 'project', isImport: true });
    expect(JSON.parse(read(join(stateDir, 'claude-code.json'))).mcpServers.x.cwd).toBe(join(home, 'project'));
    await run('claude-code', { scope: 'project', command: 'uninstall' });
    expect(read(path)).toBe(before);
  });
});

describe('a refusal', () => {
  const refused = (ids: ClientId | readonly ClientId[], call: Call = {}) => run(ids, call).catch(messageOf);

  it('names the position in a broken file, and leaves all clients unchanged', async () => {
    const broken = put(fileOf('gemini'), '{\n  "a": 1,\n  b\n}');
    const before = put(fileOf('cursor'), '{}');
    expect(await refused(['cursor', 'gemini'])).toBe(
      `${fileOf('gemini')}:3:3 is not JSON: invalid symbol; nothing was changed`,
    );
    expect([read(fileOf('gemini')), read(fileOf('cursor'))]).toEqual([broken, before]);
    expect(backupsOf(fileOf('gemini'))).toEqual([]);
  });

  it('covers read-only files, dangling links, folders and other encodings', async () => {
    put(fileOf('cursor'), '{}', 0o444);
    expect(await refused('cursor')).toContain('is read-only');
    mkdirSync(dirname(fileOf('zed')), { recursive: true });
    symlinkSync('gone.json', fileOf('zed'));
    expect(await refused('zed')).toContain('is a link whose target does not exist');
    mkdirSync(fileOf('gemini'), { recursive: true });
    expect(await refused('gemini')).toContain('is not a file');
    mkdirSync(dirname(fileOf('windsurf')), { recursive: true });
    writeFileSync(fileOf('windsurf'), Buffer.from([0x7b, 0xff, 0x7d]));
    expect(await refused('windsurf')).toContain('is not text in UTF-8');
    expect(await refused('windsurf', { scope: 'project' })).toContain('has no known configuration file for projects');
  });

  it('covers a key with an unexpected value', async () => {
    put(fileOf('cursor'), '{"mcpServers": []}');
    expect(await refused('cursor')).toContain('"mcpServers" is not an object of servers');
  });
});

describe('special files', () => {
  it('keep their byte order mark, and the older file of Cline is used if only that exists', async () => {
    const [, older = ''] = clientOf('cline').userFiles({ platform: 'linux', home, env: {} });
    const before = put(older, '\uFEFF{"mcpServers": {}}');
    await run('cline');
    expect(read(older).startsWith('\uFEFF{')).toBe(true);
    expect(existsSync(fileOf('cline'))).toBe(false);
    await run('cline', { command: 'uninstall' });
    expect(read(older)).toBe(before);
  });

  // The first one anywhere in the file was taken for a mark, and was missing after install and uninstall.
  it('keep the same character in their text', async () => {
    const path = join(home, '.claude.json');
    const text = '{\n  "history": ["pasted \uFEFFtext\uFEFF"]\n}\n';
    writeFileSync(path, text);
    await run('claude-code');
    expect(readFileSync(path, 'utf8')).toContain('pasted \uFEFFtext\uFEFF');
    await run('claude-code', { command: 'uninstall' });
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  it('are not read to print the entry', async () => {
    put(fileOf('codex'), 'broken');
    expect((await run('codex', { isPrint: true })).out).toBe(
      `Codex reads this from ${fileOf('codex')}\n[mcp_servers.code]\ncommand = "npx"\nargs = ["-y", "mcp-server-code-execution-mode"]\n`,
    );
  });
});

describe('with --json', () => {
  const json = async (clients: ClientId | readonly ClientId[], call: Call = {}) =>
    JSON.parse((await run(clients, { ...call, isJson: true })).out) as unknown;

  it('reports for each client what was written, and the backup file', async () => {
    put(fileOf('cursor'), JSON.stringify({ mcpServers: { own: { command: 'own', env: { KEY: SECRET } } } }));
    const reports = await json(['cursor', 'zed'], { isImport: true });
    expect(reports).toMatchObject([
      {
        client: 'cursor',
        changes: [
          { path: join(stateDir, 'cursor.json'), action: 'create', backup: null },
          { path: fileOf('cursor'), action: 'change', backup: expect.stringContaining(fileOf('cursor')) },
        ],
        notes: [expect.stringMatching(/^'own': moved to /)],
        isWritten: true,
      },
      {
        client: 'zed',
        changes: [{ path: fileOf('zed'), action: 'create', backup: null }],
        notes: [expect.stringContaining('Zed was not found on this machine')],
        isWritten: true,
      },
    ]);
    expect(JSON.stringify(reports)).not.toContain(SECRET);
    expect(await json('cursor')).toEqual([{ client: 'cursor', changes: [], notes: [], isWritten: false }]);
    expect(await json('zed', { command: 'uninstall' })).toMatchObject([
      { client: 'zed', changes: [{ action: 'remove' }], isWritten: true },
    ]);
  });

  it('reports what a dry run would change, and prints the entry', async () => {
    expect(await json('zed', { isDryRun: true })).toMatchObject([
      {
        client: 'zed',
        changes: [{ action: 'create', diff: expect.stringContaining('+'), backup: null }],
        isWritten: false,
      },
    ]);
    expect(existsSync(fileOf('zed'))).toBe(false);
    expect(await json('codex', { isPrint: true })).toEqual([
      { client: 'codex', path: fileOf('codex'), text: expect.stringContaining('[mcp_servers.code]') },
    ]);
  });
});

describe('several clients at once', () => {
  // Each was planned as if the other were not there, so that one of the two could no longer be called.
  it('keep apart two different servers of one name, and show everything before they write', async () => {
    put(fileOf('cursor'), '{"mcpServers": {"github": {"command": "one"}, "same": {"command": "same"}}}');
    put(fileOf('windsurf'), '{"mcpServers": {"github": {"command": "two"}, "same": {"command": "same"}}}');
    const { out } = await run(['cursor', 'windsurf'], { isImport: true });
    expect(out).toContain(
      `'github' stays: it has the same name as a different server in ${fileOf('cursor')}; rename one of them.`,
    );
    expect(JSON.parse(read(join(stateDir, 'cursor.json'))).mcpServers).toHaveProperty('github.command', 'one');
    expect(Object.keys(JSON.parse(read(join(stateDir, 'windsurf.json'))).mcpServers)).toEqual(['same']);
    expect(JSON.parse(read(fileOf('windsurf'))).mcpServers.github).toEqual({ command: 'two' });
    expect(out.indexOf("'github' stays")).toBeLessThan(out.indexOf('Wrote '));
  });
});

describe('what a client forbids', () => {
  const moved = (id: ClientId) => JSON.parse(read(join(stateDir, `${id}.json`))).mcpServers.a;

  // Code could call what the client did not let the agent call.
  it('becomes a policy of the server, which is shown before it is written', async () => {
    const before = put(
      fileOf('gemini'),
      JSON.stringify({ mcpServers: { a: { command: 'a', includeTools: ['x', 'y'], excludeTools: ['y', 'd.e'] } } }),
    );
    const { out } = await run('gemini', { isImport: true });
    const reason = 'its client forbids it';
    expect(moved('gemini').policy).toEqual({
      rules: [
        { effect: 'deny', tool: ['y', 'd?e'], reason },
        { effect: 'allow', tool: ['x', 'y'] },
      ],
      default: 'deny',
    });
    expect(out).toContain("'a': code may call only x, y, and not y, d.e, as in the client.\n");
    expect(out.indexOf('code may call only')).toBeLessThan(out.indexOf('Wrote '));
    await run('gemini', { command: 'uninstall' });
    expect(read(fileOf('gemini'))).toBe(before);
  });

  it.each<[ClientId, string, object]>([
    ['codex', '[mcp_servers.a]\ncommand = "a"\nenabled_tools = ["x"]\n', { default: 'deny' }],
    ['codex', '[mcp_servers.a]\ncommand = "a"\ndisabled_tools = ["x"]\n', { rules: [{ effect: 'deny', tool: ['x'] }] }],
    ['cursor', '{"mcpServers": {"a": {"command": "a", "disabledTools": ["x"]}}}', { rules: [{ tool: ['x'] }] }],
    ['gemini', '{"mcpServers": {"a": {"command": "a", "includeTools": []}}}', { default: 'deny' }],
  ])('is read from the file of %s: %s', async (id, text, policy) => {
    put(fileOf(id), text);
    await run(id, { isImport: true });
    expect(moved(id).policy).toMatchObject(policy);
  });

  it('stays in the client if it cannot be read, and an empty list of Goose forbids nothing', async () => {
    put(fileOf('cursor'), '{"mcpServers": {"a": {"command": "a", "includeTools": {"x": true}}}}');
    expect((await run('cursor', { isImport: true })).out).toContain(
      `'a' stays: it limits its tools by "includeTools", which is not a list of names.`,
    );
    put(fileOf('goose'), 'extensions:\n  a:\n    type: stdio\n    cmd: a\n    available_tools: []\n');
    await run('goose', { isImport: true });
    expect(moved('goose')).toEqual({ command: 'a' });
  });
});
