/** What `install` registers, when it asks about the client's other servers, and which servers it lists as callable. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { examineClients } from '../../../src/app/install/doctor-check.ts';
import type { Person, Question, Reply } from '../../../src/core/base/cell.ts';
import { messageOf } from '../../../src/core/base/errors.ts';
import type { ClientId } from '../../../src/edges/clients/client-ids.ts';
import { type Home, makeHome, put, read } from '../../support/client-homes.ts';

let home: Home;
beforeEach(() => {
  home = makeHome();
});

/** Answers every question with `answer`, and records it. */
function personWho(answer: Reply): Person & { readonly asked: Question[] } {
  const asked: Question[] = [];
  return { opensPages: false, asked, ask: async (question) => (asked.push(question), answer) };
}

const NPX = ['npx', '-y', 'mcp-server-code-execution-mode'];
const CHECKOUT = ['/usr/bin/node', '/src/mcp-server-code-execution-mode/dist/cli.js'];

describe('the registered command', () => {
  const serversOf = (id: ClientId) => JSON.parse(read(home.fileOf(id))).mcpServers as Record<string, unknown>;

  it('is the one that started the program, and replaces that of an earlier start', async () => {
    const before = put(home.fileOf('cursor'), '{\n  // mine\n  "mcpServers": {"a": {"command": "a"}}\n}\n');
    await home.run('cursor');
    expect(read(home.fileOf('cursor'))).toContain('npx');
    const out = await home.run('cursor', { start: CHECKOUT });
    expect(out).toMatch(/^-.*npx.*\n\+.*dist\/cli\.js/m);
    const text = read(home.fileOf('cursor')).replace('// mine', '');
    expect(JSON.parse(text).mcpServers).toEqual({
      a: { command: 'a' },
      code: { command: CHECKOUT[0], args: [CHECKOUT[1]] },
    });
    expect(await home.run('cursor', { start: CHECKOUT })).toContain('nothing to change');
    // The default start differs from the registered one.
    await home.run('cursor', { command: 'uninstall' });
    expect(read(home.fileOf('cursor'))).toBe(before);
  });

  it.each([
    ['npx on Windows', { command: 'cmd', args: ['/c', ...NPX] }],
    ['a version', { command: 'npx', args: ['-y', 'mcp-server-code-execution-mode@0.1.0'] }],
    ['an archive', { command: 'npx', args: ['-y', '--package=/b.tgz', 'mcp-server-code-execution-mode'] }],
    ['a checkout that is gone', { command: '/usr/bin/node', args: ['/gone/bridge/dist/cli.js'] }],
  ])('replaces %s, and keeps keys that the user added', async (_what, entry) => {
    put(
      home.fileOf('cursor'),
      JSON.stringify({ mcpServers: { code: { ...entry, env: { MCP_BRIDGE_TIMEOUT: '60' } } } }),
    );
    await home.run('cursor', { start: CHECKOUT });
    expect(serversOf('cursor')).toEqual({
      code: { command: CHECKOUT[0], args: [CHECKOUT[1]], env: { MCP_BRIDGE_TIMEOUT: '60' } },
    });
    await home.run('cursor', { command: 'uninstall' });
    expect(serversOf('cursor')).toEqual({});
  });

  it('does not replace an entry that the user wrote, and reports what it runs', async () => {
    const args = ['run', '-i', 'mcp-server-code-execution-mode:1'];
    const before = put(home.fileOf('cursor'), JSON.stringify({ mcpServers: { code: { command: 'docker', args } } }));
    const out = await home.run('cursor', { start: CHECKOUT });
    expect(out).toContain(
      `'code' in ${home.fileOf('cursor')} was not written by install and is left unchanged (it runs docker). To replace it, first run: mcp-server-code-execution-mode uninstall cursor`,
    );
    expect(read(home.fileOf('cursor'))).toBe(before);
  });

  it('is the one that the user gives, even if it does not reveal what it starts', async () => {
    await home.run('cursor', { startCommand: "/opt/run-bridge --name 'my bridge'" });
    const name = 'mcp-server-code-execution-mode';
    expect(serversOf('cursor')).toEqual({ [name]: { command: '/opt/run-bridge', args: ['--name', 'my bridge'] } });
    await home.run('cursor', { startCommand: 'other' });
    expect(serversOf('cursor')).toEqual({ [name]: { command: 'other', args: [] } });
    await home.run('cursor', { command: 'uninstall' });
    expect(existsSync(home.fileOf('cursor'))).toBe(false);
    await home.run('cursor');
    await home.run('cursor', { startCommand: 'other' });
    expect(Object.keys(serversOf('cursor'))).toEqual([name]);
    expect(await home.run('cursor', { startCommand: "open 'quote" }).catch(messageOf)).toContain(
      '--command is empty or has an unclosed quote',
    );
  });

  it('may be a global package, which uninstall leaves and says how to remove', async () => {
    await home.run('cursor', { start: CHECKOUT });
    const remove = 'npm uninstall --global mcp-server-code-execution-mode';
    expect(await home.run('cursor', { command: 'uninstall' })).not.toContain(remove);
    await home.run('cursor', {
      start: ['/usr/bin/node', '/usr/lib/node_modules/mcp-server-code-execution-mode/dist/cli.js'],
    });
    expect(await home.run('cursor', { command: 'uninstall' })).toContain(remove);
  });

  it.each(['npx -y', '/usr/bin/npx', 'npx.cmd --yes', 'uv tool run', 'pnpm dlx'])(
    'cannot be %s, which starts nothing',
    async (startCommand) => {
      expect(await home.run('cursor', { startCommand }).catch(messageOf)).toContain(
        `--command does not say which package or file ${startCommand.split(' ')[0]} should run: ${startCommand}`,
      );
      expect(existsSync(home.fileOf('cursor'))).toBe(false);
    },
  );

  it('comes with a warning about a client that is not installed, and a note about paths in the file of a project', async () => {
    expect(await home.run('zed')).toContain('Warning: Zed was not found on this machine');
    put(join(home.path, '.cursor/other'), '');
    expect(await home.run('cursor')).not.toContain('Warning');
    const out = await home.run('cursor', { scope: 'project', start: CHECKOUT });
    expect(out).toContain('use --command mcp-server-code-execution-mode, which works for everyone who has installed');
    expect(out).not.toContain('Warning');
  });
});

describe('the finding of doctor about', () => {
  it.each([
    ['an existing file', [process.execPath, 'BRIDGE/dist/cli.js'], 'ok', ''],
    ['a missing file', [process.execPath, '/gone/dist/cli.js'], 'warning', ', but /gone/dist/cli.js does not exist'],
    ['a missing Node', ['/gone/node', 'BRIDGE/dist/cli.js'], 'warning', ', but /gone/node does not exist'],
    ['npx', NPX, 'ok', '; npx contacts the registry at every start, and waits more than a minute without a network'],
  ])('%s', async (_what, start, level, words) => {
    const folder = join(home.path, 'mcp-server-code-execution-mode');
    put(join(folder, 'dist/cli.js'), '');
    await home.run('cursor', { start: start.map((word) => word.replace('BRIDGE', folder)) });
    const [finding] = await examineClients(home);
    expect(finding).toMatchObject({ level, text: `Cursor: registered in ${home.fileOf('cursor')}${words}` });
    expect(finding?.hint === undefined).toBe(words === '');
  });
});

describe('variables for one client', () => {
  const variables = { MCP_BRIDGE_TIMEOUT: '90s', HTTPS_PROXY: 'http://proxy' };

  it.each([
    ['cursor', '"env": {'],
    ['opencode', '"environment": {'],
    ['goose', 'envs:'],
    ['codex', '[mcp_servers.code.env]'],
  ] as const)('are written for %s as %s, and removed with the entry', async (id, words) => {
    await home.run(id, { variables });
    expect(read(home.fileOf(id))).toContain(words);
    expect(read(home.fileOf(id))).toMatch(/MCP_BRIDGE_TIMEOUT"?( =|:) "?90s/);
    await home.run(id, { command: 'uninstall' });
    expect(existsSync(home.fileOf(id))).toBe(false);
  });

  it('are added to those that an entry of install has', async () => {
    await home.run('cursor', { variables: { MCP_BRIDGE_TIMEOUT: '30s', MCP_BRIDGE_PIN: 'off' } });
    await home.run('cursor', { variables });
    const { code } = JSON.parse(read(home.fileOf('cursor'))).mcpServers;
    expect(code.env).toEqual({ ...variables, MCP_BRIDGE_PIN: 'off' });
    await home.run('cursor');
    expect(JSON.parse(read(home.fileOf('cursor'))).mcpServers.code).toEqual(code);
  });

  it('are not written into an entry of someone else, which is said', async () => {
    const entry = '{"mcpServers": {"py": {"command": "npx", "args": ["mcp-server-code-execution-mode@1"]}}}';
    put(home.fileOf('cursor'), entry);
    expect(await home.run('cursor', { variables })).toContain(
      "'py' in FILE was not written by install, so MCP_BRIDGE_TIMEOUT and HTTPS_PROXY were not added.".replace(
        'FILE',
        home.fileOf('cursor'),
      ),
    );
    expect(read(home.fileOf('cursor'))).toBe(entry);
  });

  it.each([
    [{ MCP_BRIDGE_TIMEOUT: 'soon' }, "--env: MCP_BRIDGE_TIMEOUT is 'soon'; allowed: "],
    [{ MCP_BRIDGE_TIMOUT: '5' }, '--env: MCP_BRIDGE_TIMOUT is set, but there is no such setting. Did you mean'],
  ])('%j are refused', async (wrong, message) => {
    expect(await home.run('cursor', { variables: wrong }).catch(messageOf)).toContain(message);
    expect(existsSync(home.fileOf('cursor'))).toBe(false);
  });

  it('are checked by doctor, except those that the client fills in', async () => {
    const env = {
      MCP_BRIDGE_TIMEOUT: 'soon',
      MCP_BRIDGE_TIMOUT: '5',
      MCP_BRIDGE_MEMORY: ['$', '{input:memory}'].join(''),
      MCP_BRIDGE_PIN: 'strict',
    };
    put(home.fileOf('cursor'), JSON.stringify({ mcpServers: { code: { command: NPX[0], args: NPX.slice(1), env } } }));
    const where = `Cursor, in ${home.fileOf('cursor')}: `;
    expect((await examineClients(home)).slice(1)).toEqual([
      expect.objectContaining({
        level: 'problem',
        text: expect.stringContaining(`${where}MCP_BRIDGE_TIMEOUT is 'soon'; allowed: `),
      }),
      expect.objectContaining({
        level: 'warning',
        text: expect.stringContaining(`${where}MCP_BRIDGE_TIMOUT is set, but there is no such setting`),
      }),
    ]);
  });
});

describe('backups', () => {
  it('are the last three of each file and the one that uninstall restores, and those with secrets are named', async () => {
    const path = home.fileOf('cursor');
    const original = '{"mcpServers": {"a": {"command": "a", "env": {"API_KEY": "sk-0123456789"}}}}';
    put(path, original);
    put(`${path}.backup-by-hand`, '');
    expect(await home.run('cursor', { variables: { MCP_BRIDGE_TIMEOUT: '1' } })).toContain(' (backup, with secrets: ');
    for (const seconds of ['2', '3', '4', '5']) {
      await home.run('cursor', { variables: { MCP_BRIDGE_TIMEOUT: seconds } });
    }
    const kept = home.backupsOf(path).filter((name) => !name.endsWith('by-hand'));
    expect(kept).toHaveLength(4);
    const timeouts = kept.map(
      (name) => JSON.parse(read(join(dirname(path), name))).mcpServers.code?.env.MCP_BRIDGE_TIMEOUT,
    );
    expect(new Set(timeouts)).toEqual(new Set(['2', '3', '4', undefined]));
    await home.run('cursor', { command: 'uninstall' });
    expect(read(path)).toBe(original);
  });
});

describe("the client's other servers", () => {
  const withTwo = () =>
    put(home.fileOf('cursor'), '{"mcpServers": {"files": {"command": "f"}, "git": {"command": "g"}}}');

  it.each([
    ['yes if uninstall restores the file byte for byte', [], true],
    ['no if it cannot', ['-y', '--quiet', 'mcp-server-code-execution-mode'], false],
  ])('are moved by default: %s', async (_what, own, isDefault) => {
    const code = own.length === 0 ? {} : { code: { command: 'npx', args: own } };
    put(home.fileOf('cursor'), JSON.stringify({ mcpServers: { files: { command: 'f' }, ...code } }));
    const person = personWho({ action: 'accept', content: { move: false } });
    await home.run('cursor', { person });
    const [question] = person.asked;
    expect(question).toMatchObject({ requestedSchema: { properties: { move: { default: isDefault } } } });
  });

  it('are listed with the command that moves them if no one can be asked', async () => {
    withTwo();
    put(
      join(home.stateDir, 'mine.json'),
      '{"mcpServers": {"notes": {"command": "n"}, "old": {"command": "o", "disabled": true}}}',
    );
    const out = await home.run('cursor');
    expect(out.split('\n').at(-2)).toBe(
      'Code can call: notes. To move those of Cursor (files, git) to the bridge: mcp-server-code-execution-mode install cursor --import. ' +
        'To add one: mcp-server-code-execution-mode servers add NAME -- COMMAND ARG…',
    );
    const declined = await home.run('cursor', { isImport: false });
    expect(declined.split('\n').at(-2)).toBe(
      'Code can call: notes. To add one: mcp-server-code-execution-mode servers add NAME -- COMMAND ARG…',
    );
    expect(await home.run('zed')).toContain('Code can call: notes.');
  });

  it('move if the person agrees, and are then callable', async () => {
    withTwo();
    const person = personWho({ action: 'accept', content: { move: true } });
    const out = await home.run('cursor', { person });
    expect(person.asked).toMatchObject([
      {
        message: `${home.fileOf('cursor')} defines 2 other MCP servers: files, git. Code can call them only after they are moved to ${home.stateDir}.`,
      },
    ]);
    // Nothing named a step after "restart Cursor", and servers that must be downloaded failed in the first cell.
    expect(out).toMatch(
      /\nCode can call: files, git\. To add one: .*\nNext: mcp-server-code-execution-mode servers test \(it starts each server once; .*\)\n$/,
    );
    expect(await home.run('cursor', { person })).not.toContain('Next: ');
    expect(Object.keys(JSON.parse(read(home.fileOf('cursor'))).mcpServers)).toEqual(['code']);
    expect(Object.keys(JSON.parse(read(join(home.stateDir, 'cursor.json'))).mcpServers)).toEqual(['files', 'git']);
  });

  it('stay if the person declines, and nothing at all is written if the person cancels', async () => {
    const before = withTwo();
    const closed = await home.install(['zed', 'cursor'], { person: personWho({ action: 'cancel' }) });
    expect(closed).toEqual({ out: 'Cancelled; nothing was changed.\n', exitCode: 130 });
    expect([read(home.fileOf('cursor')), existsSync(home.fileOf('zed')), existsSync(home.stateDir)]).toEqual([
      before,
      false,
      false,
    ]);
    await home.run('cursor', { person: personWho({ action: 'accept', content: { move: false } }) });
    expect(Object.keys(JSON.parse(read(home.fileOf('cursor'))).mcpServers)).toEqual(['files', 'git', 'code']);
  });

  it('cause no question in a dry run, with an answer on the command line, or if there are none', async () => {
    withTwo();
    const person = personWho({ action: 'cancel' });
    for (const call of [{ isDryRun: true }, { isImport: false }, { isJson: true }, { isPrint: true }] as const) {
      expect((await home.install(['cursor'], { person, ...call })).exitCode).toBe(0);
    }
    expect((await home.install(['zed'], { person })).exitCode).toBe(0);
    expect(person.asked).toEqual([]);
  });
});
