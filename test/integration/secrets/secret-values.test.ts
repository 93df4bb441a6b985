// Tags: bubblewrap, user-release
/** Secrets from files and commands, with real files and processes. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { renderIssue } from '../../../src/core/base/config-issue.ts';
import { discoverServers } from '../../../src/edges/servers/discover.ts';
import { createSecretValues } from '../../../src/features/secrets/secret-values.ts';
import { isRunning, rejectionOf, until } from '../../support/upstream.ts';

const NODE = `"${process.execPath}"`;

/** A folder with a server file, and a function that resolves the references in its entries. */
function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-secrets-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'servers.json');
  const put = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const options = { home: folder, env: { PATH: process.env['PATH'], MINE: 'of the bridge' }, stateDir: folder };
  const prepare = createSecretValues(options);
  const entry = (env: Record<string, string>, more: object = {}) => ({
    name: 'x',
    file,
    command: 'run',
    args: [],
    env,
    ...more,
  });
  return { folder, file, put, options, prepare, entry };
}

/** A reference to a command that runs this script. */
function script(text: string): string {
  return `\${cmd:${NODE} -e '${text}'}`;
}

describe('a value', () => {
  it('is inserted in command, args, env, url and headers, and becomes a secret', async () => {
    const { put, prepare, entry } = setUp();
    put('key', 'of-the-file\r\n\n');
    const texts = {
      command: 'a-${file:key}',
      args: ['--key', 'x${file:key}y${cmd:echo one}'],
      url: 'http://h/?k=${file:key}',
    };
    const headers = { Authorization: 'Bearer ${cmd:echo two}' };
    expect(await prepare(entry({ KEY: '${file:~/key}' }, { ...texts, headers }))).toMatchObject({
      command: 'a-of-the-file',
      args: ['--key', 'xof-the-fileyone'],
      url: 'http://h/?k=of-the-file',
      headers: { Authorization: 'Bearer two' },
      env: { KEY: 'of-the-file' },
      secrets: expect.arrayContaining(['of-the-file', 'one', 'two']),
    });
  });

  it('leaves an entry without references unchanged', async () => {
    const { prepare, entry } = setUp();
    const plain = entry({ A: '$HOME ${NOT_SET} {file:x}' });
    expect(await prepare(plain)).toBe(plain);
  });

  it('from a file is read at each start, through links too, which is how containers mount secrets', async () => {
    const { folder, put, prepare, entry } = setUp();
    symlinkSync(put('target', 'one'), join(folder, 'link'));
    const values = async () => (await prepare(entry({ A: '${file:link}' }))).env['A'];
    expect(await values()).toBe('one');
    put('target', 'two');
    expect(await values()).toBe('two');
  });

  it('from a command is read once, without a shell, in the folder of the file, with the environment of the bridge', async () => {
    const { folder, prepare, entry } = setUp();
    const text = script('require("fs").appendFileSync("runs", "x"); process.stdout.write(process.env.MINE)');
    const both = [entry({ A: text, B: text }), entry({ C: text })];
    expect((await Promise.all(both.map((one) => prepare(one)))).map(({ env }) => env)).toEqual([
      { A: 'of the bridge', B: 'of the bridge' },
      { C: 'of the bridge' },
    ]);
    expect(readFileSync(join(folder, 'runs'), 'utf8')).toBe('x');
    expect((await prepare(entry({ A: '${cmd:echo $MINE; echo x > y}' }))).env['A']).toBe('$MINE; echo x > y');
  });

  it('may look like a reference or a replacement pattern', async () => {
    const { put, prepare, entry } = setUp();
    put('key', '${cmd:exit 1} $& $1 \\');
    expect((await prepare(entry({ A: '<${file:key}>' }))).env['A']).toBe('<${cmd:exit 1} $& $1 \\>');
  });
});

describe('no value', () => {
  it.each<[string, string, string]>([
    ['a file that is missing', '${file:none}', 'none cannot be read: ENOENT'],
    ['a folder', '${file:.}', 'is not a file of at most 65,536 bytes'],
    ['an empty file', '${file:empty}', 'it is empty'],
    ['a binary file', '${file:binary}', 'it is not UTF-8 text'],
    [
      'a command that fails',
      script('console.log("canary"); console.error("canary"); process.exit(3)'),
      'ended with exit code 3',
    ],
    [
      'a command that is killed',
      script('console.log("canary"); process.kill(process.pid, "SIGTERM")'),
      'was ended by SIGTERM',
    ],
    [
      'a command that is missing',
      '${cmd:no-such-keyring canary}',
      "'no-such-keyring' could not be started: it was not found",
    ],
    [
      'a command with endless output',
      script('process.stdout.write("canary".repeat(20000))'),
      'printed more than 65,536 bytes',
    ],
    ['a command with an open quote', '${cmd:echo "canary}', 'a quote in it is not closed'],
    ['a command that prints nothing', '${cmd:true}', 'it is empty'],
  ])('from %s: the error names server, key and reason', async (_what, text, reason) => {
    const { put, prepare, entry, file } = setUp();
    put('empty', '\n');
    writeFileSync(put('binary', ''), Buffer.from([0xff, 0xfe]));
    const error = await rejectionOf(prepare(entry({ KEY: text })));
    expect(error).toMatchObject({
      code: 'SECRET_UNAVAILABLE',
      message: expect.stringContaining(reason),
      hint: `Check env.KEY of 'x' in ${file}: run its command yourself, or check its file.`,
      data: { server: 'x', key: 'env.KEY' },
    });
    expect(JSON.stringify([error, (error as Error).message])).not.toContain('canary');
  });

  it.each(['url', 'headers'])('with a line break is inserted in %s', async (place) => {
    const { put, prepare, entry } = setUp();
    put('key', 'canary\r\nX-Evil: 1');
    const more = place === 'url' ? { url: 'http://h/${file:key}' } : { headers: { A: '${file:key}' } };
    const error = await rejectionOf(prepare(entry({}, more)));
    expect(error).toMatchObject({ code: 'SECRET_UNAVAILABLE', message: expect.stringContaining('control character') });
    expect(String(error)).not.toContain('canary');
  });

  it('from a command that does not end, which is killed with its children', async () => {
    const { folder, put, options, entry } = setUp();
    const prepare = createSecretValues({ ...options, timeLimitMs: 2_000 });
    put('hang.sh', 'sleep 1000 & echo $$ $! > pids; wait');
    expect(await rejectionOf(prepare(entry({ A: '${cmd:sh hang.sh}' })))).toMatchObject({
      message: expect.stringContaining('did not end within 2 s'),
    });
    const pids = readFileSync(join(folder, 'pids'), 'utf8').trim().split(' ').map(Number);
    expect(pids).toHaveLength(2);
    await until(() => !pids.some(isRunning));
  });

  it('from a command that failed, which is run again at the next start', async () => {
    const { put, prepare, entry } = setUp();
    const locked = entry({ A: '${cmd:cat key}' });
    await rejectionOf(prepare(locked));
    put('key', 'unlocked');
    expect((await prepare(locked)).env['A']).toBe('unlocked');
  });
});

describe('discovery', () => {
  const MARK = 'touched';
  const touching = { command: 'run', env: { KEY: `\${cmd:touch ${MARK}}`, FILE: '${file:none}' } };

  it('runs no command and reads no file', () => {
    const { folder, put } = setUp();
    put('servers.json', JSON.stringify({ mcpServers: { x: touching } }));
    const { servers, issues } = discoverServers({ stateDir: folder, env: {} });
    expect(servers.get('x')?.env).toEqual(touching.env);
    expect(issues).toEqual([]);
    expect(() => readFileSync(join(folder, MARK))).toThrow('ENOENT');
  });

  it.each([0o620, 0o602, 0o666])('ignores entries with commands in a file of mode %o, but keeps the others', (mode) => {
    const { folder, file, put } = setUp();
    put(
      'servers.json',
      JSON.stringify({ mcpServers: { x: touching, y: { command: 'run', env: { A: '${file:k}' } } } }),
    );
    chmodSync(file, mode);
    const { servers, issues } = discoverServers({ stateDir: folder, env: {} });
    expect([...servers.keys()]).toEqual(['y']);
    expect(issues.map(renderIssue)).toEqual([
      `${file}: mcpServers.x was left out: commands ("\${cmd:…}") are not run from this file, because others can write to it (chmod go-w)`,
    ]);
  });

  it('distinguishes two entries whose references name different files', () => {
    const { folder, put } = setUp();
    const entry = { command: 'run', env: { A: '${file:k}' } };
    put('servers.json', JSON.stringify({ mcpServers: { x: entry } }));
    const hashOf = (stateDir: string) => discoverServers({ stateDir, env: {} }).servers.get('x')?.definitionHash;
    const other = setUp();
    other.put('servers.json', JSON.stringify({ mcpServers: { x: entry } }));
    expect(hashOf(folder)).toBe(hashOf(folder));
    expect(hashOf(folder)).not.toBe(hashOf(other.folder));
  });
});
