/** `install` and `uninstall` on real files in homes of their own, for every client. */
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
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { loadFormat } from '../../../src/clients/format.ts';
import { register, unregister } from '../../../src/clients/registration.ts';
import { CLIENT_IDS, type ClientId, type ClientSystem, clientOf, startCommand } from '../../../src/clients/table.ts';
import type { InstallCommand } from '../../../src/commands/cli/install.ts';
import { install } from '../../../src/commands/install.ts';
import { findSelfReference } from '../../../src/config/self.ts';
import { messageOf } from '../../../src/errors.ts';

const SECRET = 'sk-0123456789abcdef';
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
    isImport: false,
    isPrint: false,
    isJson: false,
    ...more,
  };
  let out = '';
  const exitCode = await install(command, {
    settings: { stateDir },
    system: { platform, home, env: {} },
    cwd: join(home, 'project'),
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

/** Whether `lines` has all of `part`, in that order. */
function isPartOf(part: readonly string[], lines: readonly string[]): boolean {
  let next = 0;
  for (const line of lines) {
    next += line === part[next] ? 1 : 0;
  }
  return next === part.length;
}

/** A file as a user of the client may have it: with comments where the format has them, and an own server. */
function existing(id: ClientId): string {
  const { format, keys } = clientOf(id);
  if (format === 'toml') {
    return `# mine\nmodel = "o3" # fast\n\n[mcp_servers.files]\ncommand = "files"\nargs = ["${'x'.repeat(5)}"]\n\n[mcp_servers.files.env]\nAPI_KEY = "${SECRET}"\n\n# last\n[profiles.a]\nmodel = 'x'\n`;
  }
  if (format === 'yaml') {
    return `# mine\nGOOSE_MODEL: x # m\nextensions:\n  files:   # about\n    enabled: true\n    type: stdio\n    cmd: files\n    args: [xxxxx]\n    envs: {API_KEY: ${SECRET}}\n  developer:\n    type: builtin\n    enabled: true\nother: 1\n`;
  }
  const entry =
    id === 'opencode'
      ? `{ "type": "local", "command": ["files", "xxxxx"], "environment": { "API_KEY": "${SECRET}" } }`
      : `{ "command": "files", "args": ["xxxxx"], "env": { "API_KEY": "${SECRET}" } }`;
  return `{\n\t// mine\n\t"theme": "x",\n\t"${keys[0]}": {\n\t\t/* one */ "files": ${entry}, // about\n\t},\n\t"z": [1,2 ,3],\n}`;
}

const POSIX = ['linux', 'darwin'] as const;
const everywhere = CLIENT_IDS.flatMap((id) => POSIX.map((platform) => [id, platform] as const));

describe.each(everywhere)('%s on %s', (id, platform) => {
  it('comes into a file that is there, changes nothing the second time, and goes without a trace', async () => {
    const path = fileOf(id, platform);
    const before = put(path, existing(id), 0o640);
    const shown = await run(id, { platform, isDryRun: true });
    expect(read(path)).toBe(before);
    expect((await run(id, { platform })).out).toContain(shown.out.split('\n')[1]);
    const after = read(path);
    expect(after).toContain('mcp-server-code-execution-mode');
    expect(after.split('\n')).toSatisfy((lines: string[]) => isPartOf(before.split('\n'), lines));
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(backupsOf(path).map((name) => read(join(dirname(path), name)))).toEqual([before]);
    expect((await run(id, { platform })).out).toContain('nothing to change');
    expect(read(path)).toBe(after);
    expect(backupsOf(path)).toHaveLength(1);
    await run(id, { platform, command: 'uninstall' });
    expect(read(path)).toBe(before);
    expect((await run(id, { platform, command: 'uninstall' })).out).toContain('is not registered');
  });

  it('makes the file where there is none, for the user alone, and takes it away', async () => {
    const path = fileOf(id, platform);
    await run(id, { platform });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await run(id, { platform, command: 'uninstall' });
    expect(existsSync(path)).toBe(false);
  });

  it('moves the servers of the client, and puts them back', async () => {
    const path = fileOf(id, platform);
    const before = put(path, existing(id));
    const { out } = await run(id, { platform, isImport: true });
    expect(out).toContain('***');
    expect(out).not.toContain(SECRET);
    expect(read(path)).not.toContain(SECRET);
    const store = JSON.parse(read(join(stateDir, `${id}.json`))) as { mcpServers: unknown };
    expect(store.mcpServers).toMatchObject({
      files: { command: 'files', args: ['xxxxx'], env: { API_KEY: SECRET } },
    });
    expect(statSync(join(stateDir, `${id}.json`)).mode & 0o777).toBe(0o600);
    expect((await run(id, { platform, isImport: true })).out).toContain('nothing to change');
    await run(id, { platform, command: 'uninstall' });
    expect(read(path)).toBe(before);
    expect(existsSync(join(stateDir, `${id}.json`))).toBe(false);
  });
});

describe.each(CLIENT_IDS)('%s on win32', (id) => {
  it('registers the command of that system, recognises it, and takes it out', async () => {
    const client = clientOf(id);
    const format = await loadFormat(client.format);
    const start = startCommand(client, 'win32');
    const text = existing(id).replaceAll('\n', '\r\n');
    const options = {
      format,
      keys: client.keys,
      entry: (name: string) => client.entry(start, name),
      isOwn: (name: string) => name === 'code',
    };
    expect(findSelfReference({ name: 'code', ...start }, {})).toBe('its arguments start this bridge');
    const registered = register(text, options);
    expect(registered).not.toMatch(/(?<!\r)\n/);
    expect(register(registered, options)).toBe(registered);
    expect(unregister(registered, options)).toBe(text);
  });
});

describe('what the user did meanwhile', () => {
  it('stays when the bridge goes, and moved servers come back as they were', async () => {
    const path = fileOf('cursor');
    put(path, existing('cursor'));
    await run('cursor', { isImport: true });
    writeFileSync(path, read(path).replace('"theme": "x"', '"theme": "y"'));
    const store = join(stateDir, 'cursor.json');
    writeFileSync(store, read(store).replace('xxxxx', 'edited'));
    const { out } = await run('cursor', { command: 'uninstall' });
    expect(out).toContain(`'files' was changed in ${store}, and stays there too`);
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
    expect(out).toContain(`'asks' stays: it holds ${asked}, which only its client can fill in.`);
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
    expect(await refused('zed')).toContain('is a link to something that is not there');
    mkdirSync(fileOf('gemini'), { recursive: true });
    expect(await refused('gemini')).toContain('is no file');
    mkdirSync(dirname(fileOf('windsurf')), { recursive: true });
    writeFileSync(fileOf('windsurf'), Buffer.from([0x7b, 0xff, 0x7d]));
    expect(await refused('windsurf')).toContain('is not text in UTF-8');
    expect(await refused('windsurf', { scope: 'project' })).toContain('no file for one project');
  });

  it('refuses a key that holds something else', async () => {
    put(fileOf('cursor'), '{"mcpServers": []}');
    expect(await refused('cursor')).toContain('"mcpServers" holds something else than servers');
  });
});

describe('files that are special', () => {
  it('follows a link, and keeps it', async () => {
    const real = join(home, 'dotfiles/zed.json');
    const before = put(real, '{"theme": 1}\n');
    mkdirSync(dirname(fileOf('zed')), { recursive: true });
    symlinkSync(real, fileOf('zed'));
    await run('zed');
    expect(lstatSync(fileOf('zed')).isSymbolicLink()).toBe(true);
    expect(read(real)).toContain('context_servers');
    await run('zed', { command: 'uninstall' });
    expect(read(real)).toBe(before);
  });

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
      { client: 'zed', changes: [{ path: fileOf('zed'), action: 'create', backup: null }], notes: [], isWritten: true },
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
