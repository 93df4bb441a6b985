/** What `install` and `uninstall` do besides: what is refused, what a user changed meanwhile, what is printed. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { messageOf } from '../../../src/base/errors.ts';
import { loadFormat } from '../../../src/clients/format.ts';
import { type ClientId, type ClientSystem, clientOf } from '../../../src/clients/table.ts';
import type { InstallCommand } from '../../../src/install/command-line.ts';
import { install } from '../../../src/install/run.ts';
import { existing, SECRET } from '../../support/client-homes.ts';

let home = '';
let stateDir = '';

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'install-'));
  stateDir = join(home, 'MCPs');
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
});

interface Call extends Partial<Omit<InstallCommand, 'clients'>> {
  readonly platform?: ClientSystem['platform'];
}

async function run(clients: ClientId | readonly ClientId[], call: Call = {}) {
  const { platform = 'linux', ...more } = call;
  const command: InstallCommand = {
    command: 'install',
    clients: [clients].flat(),
    scope: 'user',
    isDryRun: false,
    isImport: undefined,
    startCommand: undefined,
    isGlobal: false,
    isPrint: false,
    isJson: false,
    ...more,
  };
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

describe('what the user did meanwhile', () => {
  it('keeps a server that the client has anew, and says that the moved one of that name was not put back', async () => {
    const path = fileOf('cursor');
    put(path, '{"mcpServers": {"a": {"command": "old"}, "b": {"command": "b"}}}');
    await run('cursor', { isImport: true });
    writeFileSync(path, read(path).replace('"mcpServers": {', '"mcpServers": {"a": {"command": "new"}, '));
    const { out } = await run('cursor', { command: 'uninstall' });
    expect(JSON.parse(read(path))).toEqual({ mcpServers: { a: { command: 'new' }, b: { command: 'b' } } });
    const store = join(stateDir, 'cursor.json');
    expect(out).toContain(`'b': put back from ${store}.`);
    expect(out).toContain(`'a' of ${store} was not put back: ${path} already has a server of that name.`);
  });

  it('stays when the bridge goes, and moved servers come back as they were', async () => {
    const path = fileOf('cursor');
    put(path, existing('cursor'));
    await run('cursor', { isImport: true });
    writeFileSync(path, read(path).replace('"theme": "x"', '"theme": "y"'));
    const store = join(stateDir, 'cursor.json');
    writeFileSync(store, read(store).replace('xxxxx', 'edited'));
    const { out } = await run('cursor', { command: 'uninstall' });
    expect(out).toContain(`'files' was changed in ${store}, and stays there too`);
    expect(out).toMatch(/'files'.*: put back from /);
    const format = await loadFormat('json');
    expect(format.parse(read(path))).toMatchObject({
      theme: 'y',
      mcpServers: { files: { command: 'files', args: ['xxxxx'] } },
    });
    expect(read(path)).toContain('// mine');
    expect(read(path)).not.toContain('mcp-server-code-execution-mode');
    expect(JSON.parse(read(store))).toMatchObject({ mcpServers: { files: { args: ['edited'] } } });
  });

  it('keeps an entry of the bridge under another name, and a server that has our name', async () => {
    const path = fileOf('cursor');
    const own = put(path, '{"mcpServers": {"py": {"command": "npx", "args": ["mcp-server-code-execution-mode@1"]}}}');
    expect((await run('cursor')).out).toContain('registered already');
    expect(read(path)).toBe(own);
    put(path, '{"mcpServers": {"code": {"command": "other"}}}');
    await run('cursor');
    expect(Object.keys(JSON.parse(read(path)).mcpServers)).toEqual(['code', 'mcp-server-code-execution-mode']);
  });
});

describe('moving', () => {
  it('says what stays, and overwrites nothing in the state directory', async () => {
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
    expect(out).toContain(`'taken' stays: it is not the server of that name in ${stateDir}/a.json`);
    expect(out).toContain(`'asks' stays: it contains ${asked}, which only its client can fill in.`);
    expect(out).toContain("'here' stays: it names its program by a path that counts from where the client runs.");
    expect(out).toContain("'odd' stays: it is no object.");
    expect(out).toContain(`'same': moved to ${stateDir}/vscode.json.`);
    expect(Object.keys(JSON.parse(read(fileOf('vscode'))).servers)).toEqual(['taken', 'asks', 'here', 'odd', 'code']);
    expect(read(join(stateDir, 'a.json'))).toContain('mine');
  });

  it('gives servers of a project its folder', async () => {
    const path = join(home, 'project/.mcp.json');
    const before = put(path, '{"mcpServers": {"x": {"command": "node", "args": ["s.js"]}}}');
    await run('claude-code', { scope: 'project', isImport: true });
    expect(JSON.parse(read(join(stateDir, 'claude-code.json'))).mcpServers.x.cwd).toBe(join(home, 'project'));
    await run('claude-code', { scope: 'project', command: 'uninstall' });
    expect(read(path)).toBe(before);
  });
});

describe('what is refused', () => {
  const refused = (ids: ClientId | readonly ClientId[], call: Call = {}) => run(ids, call).catch(messageOf);

  it('names the place in a broken file, and leaves all clients alone', async () => {
    const broken = put(fileOf('gemini'), '{\n  "a": 1,\n  b\n}');
    const before = put(fileOf('cursor'), '{}');
    expect(await refused(['cursor', 'gemini'])).toBe(
      `${fileOf('gemini')}:3:3 is not JSON: invalid symbol; nothing was changed`,
    );
    expect([read(fileOf('gemini')), read(fileOf('cursor'))]).toEqual([broken, before]);
    expect(backupsOf(fileOf('gemini'))).toEqual([]);
  });

  it('leaves read-only files, dangling links, folders and other encodings alone', async () => {
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
    expect(await refused('windsurf', { scope: 'project' })).toContain('no file for one project');
  });

  it('refuses a key that holds something else', async () => {
    put(fileOf('cursor'), '{"mcpServers": []}');
    expect(await refused('cursor')).toContain('"mcpServers" is not an object of servers');
  });
});

describe('files that are special', () => {
  it('keeps a byte order mark, and takes the older file of Cline when only that is there', async () => {
    const [, older = ''] = clientOf('cline').userFiles({ platform: 'linux', home, env: {} });
    const before = put(older, '\uFEFF{"mcpServers": {}}');
    await run('cline');
    expect(read(older).startsWith('\uFEFF{')).toBe(true);
    expect(existsSync(fileOf('cline'))).toBe(false);
    await run('cline', { command: 'uninstall' });
    expect(read(older)).toBe(before);
  });

  it('prints the entry, and reads nothing', async () => {
    put(fileOf('codex'), 'broken');
    expect((await run('codex', { isPrint: true })).out).toBe(
      `Codex reads this from ${fileOf('codex')}\n[mcp_servers.code]\ncommand = "npx"\nargs = ["-y", "mcp-server-code-execution-mode"]\n`,
    );
  });
});

describe('with --json', () => {
  const json = async (clients: ClientId | readonly ClientId[], call: Call = {}) =>
    JSON.parse((await run(clients, { ...call, isJson: true })).out) as unknown;

  it('tells of each client what was written and where the copy of the file before is', async () => {
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

  it('tells what a dry run would change, and gives the entry', async () => {
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
