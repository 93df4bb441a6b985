/** What `install` registers, whom it asks about the client's other servers, and what it says that code can call. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Person, Question, Reply } from '../../../src/base/cell.ts';
import { messageOf } from '../../../src/base/errors.ts';
import type { ClientId } from '../../../src/clients/table.ts';
import { examineClients } from '../../../src/install/doctor-check.ts';
import { type Home, makeHome, put, read } from '../../support/client-homes.ts';

let home: Home;
beforeEach(() => {
  home = makeHome();
});

/** Answers a question and keeps it. */
function personWho(answer: Reply): Person & { readonly asked: Question[] } {
  const asked: Question[] = [];
  return { opensPages: false, asked, ask: async (question) => (asked.push(question), answer) };
}

const NPX = ['npx', '-y', 'mcp-server-code-execution-mode'];
const CHECKOUT = ['/usr/bin/node', '/src/mcp-server-code-execution-mode/dist/cli.js'];

describe('what is registered', () => {
  const serversOf = (id: ClientId) => JSON.parse(read(home.fileOf(id))).mcpServers as Record<string, unknown>;

  it('is what started the program, and what another start of it wrote is brought up to date', async () => {
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
    // By a program that was started in yet another way.
    await home.run('cursor', { command: 'uninstall' });
    expect(read(home.fileOf('cursor'))).toBe(before);
  });

  it.each([
    ['npx of Windows', { command: 'cmd', args: ['/c', ...NPX] }],
    ['a version', { command: 'npx', args: ['-y', 'mcp-server-code-execution-mode@0.1.0'] }],
    ['an archive', { command: 'npx', args: ['-y', '--package=/b.tgz', 'mcp-server-code-execution-mode'] }],
    ['a checkout that is gone', { command: '/usr/bin/node', args: ['/gone/bridge/dist/cli.js'] }],
  ])('replaces %s, and keeps what the user added', async (_what, entry) => {
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

  it('leaves an entry that the user wrote, and says what it runs', async () => {
    const args = ['run', '-i', 'mcp-server-code-execution-mode:1'];
    const before = put(home.fileOf('cursor'), JSON.stringify({ mcpServers: { code: { command: 'docker', args } } }));
    const out = await home.run('cursor', { start: CHECKOUT });
    expect(out).toContain(
      `'code' in ${home.fileOf('cursor')} was not written by install and stays as it is (it runs docker). To replace it, first run: mcp-server-code-execution-mode uninstall cursor`,
    );
    expect(read(home.fileOf('cursor'))).toBe(before);
  });

  it('is the command that the user gives, also when nothing in it shows what it starts', async () => {
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
      '--command holds no command',
    );
  });

  it('leaves a global package, and says how to remove that, too', async () => {
    await home.run('cursor', { start: CHECKOUT });
    const remove = 'npm uninstall --global mcp-server-code-execution-mode';
    expect(await home.run('cursor', { command: 'uninstall' })).not.toContain(remove);
    await home.run('cursor', {
      start: ['/usr/bin/node', '/usr/lib/node_modules/mcp-server-code-execution-mode/dist/cli.js'],
    });
    expect(await home.run('cursor', { command: 'uninstall' })).toContain(remove);
  });

  it.each(['npx -y', '/usr/bin/npx', 'npx.cmd --yes', 'uv tool run', 'pnpm dlx'])(
    'is not %s, which starts nothing',
    async (startCommand) => {
      expect(await home.run('cursor', { startCommand }).catch(messageOf)).toContain(
        `--command names no package or file for ${startCommand.split(' ')[0]} to run: ${startCommand}`,
      );
      expect(existsSync(home.fileOf('cursor'))).toBe(false);
    },
  );

  it('warns about a client that is not here, and about paths in the file of a project', async () => {
    expect(await home.run('zed')).toContain('Warning: Zed was not found on this machine');
    put(join(home.path, '.cursor/other'), '');
    expect(await home.run('cursor')).not.toContain('Warning');
    const out = await home.run('cursor', { scope: 'project', start: CHECKOUT });
    expect(out).toContain('add: --command mcp-server-code-execution-mode. It works for everyone who has installed');
    expect(out).not.toContain('Warning');
  });
});

describe('what doctor says of it', () => {
  it.each([
    ['a file that is there', [process.execPath, 'BRIDGE/dist/cli.js'], 'ok', ''],
    ['a file that is gone', [process.execPath, '/gone/dist/cli.js'], 'warning', ', but /gone/dist/cli.js is not there'],
    ['a Node that is gone', ['/gone/node', 'BRIDGE/dist/cli.js'], 'warning', ', but /gone/node is not there'],
    [
      'npx',
      NPX,
      'ok',
      '; npx asks the registry at each start, and waits over a minute for it when there is no network',
    ],
  ])('%s', async (_what, start, level, words) => {
    const folder = join(home.path, 'mcp-server-code-execution-mode');
    put(join(folder, 'dist/cli.js'), '');
    await home.run('cursor', { start: start.map((word) => word.replace('BRIDGE', folder)) });
    const [finding] = await examineClients(home);
    expect(finding).toMatchObject({ level, text: `Cursor: registered in ${home.fileOf('cursor')}${words}` });
    expect(finding?.hint === undefined).toBe(words === '');
  });
});

describe("the client's other servers", () => {
  const withTwo = () =>
    put(home.fileOf('cursor'), '{"mcpServers": {"files": {"command": "f"}, "git": {"command": "g"}}}');

  it('are named, with what moves them, where no one can be asked', async () => {
    withTwo();
    put(
      join(home.stateDir, 'mine.json'),
      '{"mcpServers": {"notes": {"command": "n"}, "old": {"command": "o", "disabled": true}}}',
    );
    const out = await home.run('cursor');
    expect(out.split('\n').at(-2)).toBe(
      'Code can call: notes. To move those of Cursor (files, git) here: mcp-server-code-execution-mode install cursor --import. ' +
        'To add one: mcp-server-code-execution-mode servers add NAME -- COMMAND ARG…',
    );
    const declined = await home.run('cursor', { isImport: false });
    expect(declined.split('\n').at(-2)).toBe(
      'Code can call: notes. To add one: mcp-server-code-execution-mode servers add NAME -- COMMAND ARG…',
    );
    expect(await home.run('zed')).toContain('Code can call: notes.');
  });

  it('move when the person wants that, and are callable then', async () => {
    withTwo();
    const person = personWho({ action: 'accept', content: { move: true } });
    const out = await home.run('cursor', { person });
    expect(person.asked).toMatchObject([
      {
        message: `In ${home.fileOf('cursor')} there are 2 other MCP servers: files, git. Code can call only servers that are moved to ${home.stateDir}.`,
      },
    ]);
    expect(out).toMatch(/\nCode can call: files, git\. To add one: .*\n$/);
    expect(Object.keys(JSON.parse(read(home.fileOf('cursor'))).mcpServers)).toEqual(['code']);
    expect(Object.keys(JSON.parse(read(join(home.stateDir, 'cursor.json'))).mcpServers)).toEqual(['files', 'git']);
  });

  it('stay when the person does not, and nothing at all is written when the question is closed', async () => {
    const before = withTwo();
    const closed = await home.install(['zed', 'cursor'], { person: personWho({ action: 'cancel' }) });
    expect(closed).toEqual({ out: 'Nothing was written.\n', exitCode: 130 });
    expect([read(home.fileOf('cursor')), existsSync(home.fileOf('zed')), existsSync(home.stateDir)]).toEqual([
      before,
      false,
      false,
    ]);
    await home.run('cursor', { person: personWho({ action: 'accept', content: { move: false } }) });
    expect(Object.keys(JSON.parse(read(home.fileOf('cursor'))).mcpServers)).toEqual(['files', 'git', 'code']);
  });

  it('are not asked about in a dry run, with an answer on the command line, and where there are none', async () => {
    withTwo();
    const person = personWho({ action: 'cancel' });
    for (const call of [{ isDryRun: true }, { isImport: false }, { isJson: true }, { isPrint: true }] as const) {
      expect((await home.install(['cursor'], { person, ...call })).exitCode).toBe(0);
    }
    expect((await home.install(['zed'], { person })).exitCode).toBe(0);
    expect(person.asked).toEqual([]);
  });
});
