/** `config …`, and the file that it keeps settings in. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { loadContext } from '../../../src/app/bridge/context.ts';
import type { ConfigCommand } from '../../../src/app/config/command.ts';
import { manageSettings } from '../../../src/app/config/run.ts';
import { examineSettings } from '../../../src/app/doctor/settings.ts';
import { toBridgeError } from '../../../src/core/base/errors.ts';
import { discoverServers } from '../../../src/edges/servers/discover.ts';
import { renderLine } from '../../../src/edges/terminal/finding.ts';

let stateDir: string;
let file: string;
let env: Record<string, string>;

beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'config-'));
  onTestFinished(() => rm(stateDir, { recursive: true }));
  file = join(stateDir, 'settings.json');
  env = { HOME: stateDir, MCP_BRIDGE_STATE_DIR: stateDir };
});

const CURSOR = { title: 'Cursor', path: '/home/ada/.cursor/mcp.json', variables: { MCP_BRIDGE_TIMEOUT: '5' } };

async function run(action: ConfigCommand['action'], names: readonly string[] = [], more: object = {}) {
  const written = { out: '', error: '' };
  const line = {
    command: 'config',
    action,
    name: names[0],
    names,
    isAll: false,
    isJson: false,
    ...more,
  } as ConfigCommand;
  await manageSettings(line, {
    env,
    listClients: async () => [CURSOR],
    writeOut: (text) => (written.out += text) !== '',
    writeError: (text) => (written.error += text) !== '',
  });
  return written;
}

const failureOf = async (work: Promise<unknown>) => toBridgeError(await work.catch((error: unknown) => error));
const kept = async () => JSON.parse(await readFile(file, 'utf8')) as unknown;

describe('config', () => {
  it('keeps a setting, which then applies unless the environment sets it', async () => {
    const { error, out } = await run('set', ['timeout'], { value: ' 60s ' });
    expect(out).toBe(`MCP_BRIDGE_TIMEOUT is kept in ${file}.\nBridges read it when their client starts them again.\n`);
    expect(error).toBe('Cursor sets MCP_BRIDGE_TIMEOUT, too, in /home/ada/.cursor/mcp.json, which wins there.\n');
    expect(await kept()).toEqual({ MCP_BRIDGE_TIMEOUT: '60s' });
    expect((await loadContext(env)).settings.timeoutSeconds).toBe(60);
    expect((await loadContext({ ...env, MCP_BRIDGE_TIMEOUT: '20' })).settings.timeoutSeconds).toBe(20);
    expect((await loadContext({ ...env, MCP_BRIDGE_TIMEOUT: '' })).settings.timeoutSeconds).toBe(60);
    expect(await run('get', ['MCP_BRIDGE_TIMEOUT'])).toMatchObject({ out: '60s\n' });
  });

  it('lists what is set, with where it is from, and everything with --all', async () => {
    await run('set', ['log-level'], { value: 'DEBUG' });
    env['MCP_BRIDGE_PIN'] = 'strict';
    expect((await run('list')).out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['MCP_BRIDGE_STATE_DIR', stateDir, 'environment'],
      ['MCP_BRIDGE_PIN', 'strict', 'environment'],
      ['MCP_BRIDGE_LOG_LEVEL', 'DEBUG'],
      [''],
    ]);
    expect((await run('list', [], { isAll: true })).out).toMatch(/^MCP_BRIDGE_MEMORY +1g +default$/m);
    const json = JSON.parse((await run('list', [], { isJson: true })).out) as unknown;
    expect(json).toContainEqual({ name: 'MCP_BRIDGE_LOG_LEVEL', value: 'DEBUG', from: 'file' });
    expect((await loadContext(env, { isQuiet: true })).settings.logLevel).toBe('DEBUG');
  });

  it('forgets settings', async () => {
    await run('set', ['timeout'], { value: '60s' });
    await run('set', ['memory'], { value: '2g' });
    expect((await run('unset', ['timeout', 'memory', 'pin'])).out).toContain('MCP_BRIDGE_PIN is no longer kept');
    expect(await kept()).toEqual({});
  });

  it.each([
    ['timeout', 'soon', /^MCP_BRIDGE_TIMEOUT is 'soon'; allowed: /],
    ['timeout', ' ', /^the value is empty/],
    // Valid for itself.
    ['timeout', '10m', /^MCP_BRIDGE_TIMEOUT is 600 seconds; allowed: at most MCP_BRIDGE_MAX_TIMEOUT/],
    ['timeut', '10', /^there is no setting 'timeut'\. Did you mean 'MCP_BRIDGE_TIMEOUT'/],
    ['keyring', 'on', /^there is no setting 'keyring'\. MCP_BRIDGE_KEYRING was removed/],
    ['state-dir', '/x', /^MCP_BRIDGE_STATE_DIR cannot be kept in the state directory/],
  ])('refuses %s = %j', async (name, value, message) => {
    await run('set', ['memory'], { value: '2g' });
    expect(await failureOf(run('set', [name], { value }))).toMatchObject({
      code: 'USAGE_INVALID',
      message: expect.stringMatching(message),
    });
    expect(await kept()).toEqual({ MCP_BRIDGE_MEMORY: '2g' });
  });

  it('corrects a file that is wrong elsewhere, and keeps what is no setting', async () => {
    await writeFile(file, '{"MCP_BRIDGE_PULL": "always", "MCP_BRIDGE_PIDS": 4, "mcpServers": {"a": {}}}');
    await run('set', ['pids'], { value: '64' });
    expect(await kept()).toEqual({ mcpServers: { a: {} }, MCP_BRIDGE_PULL: 'always', MCP_BRIDGE_PIDS: '64' });
  });
});

describe('settings.json', () => {
  it('prevents a start with an invalid value, and says where it is', async () => {
    await writeFile(file, '{"MCP_BRIDGE_TIMEOUT": "soon"}');
    expect(await failureOf(loadContext(env))).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`MCP_BRIDGE_TIMEOUT is 'soon' in ${file}; allowed`),
    });
  });

  // It sent people to the entry in their client, and `config list` showed the value like any other.
  it('says with which command to correct it, and config list marks it', async () => {
    const run1 = 'Run: mcp-server-code-execution-mode config set';
    const unset = ', or: mcp-server-code-execution-mode config unset';
    const inEnv = 'Correct or remove it where it is set, usually in the "env" of the entry that registers the bridge.';
    await writeFile(file, '{"MCP_BRIDGE_TIMEOUT": "sixty"}');
    expect((await failureOf(loadContext(env))).hint).toBe(`${run1} timeout 30${unset} timeout`);
    const row = /^MCP_BRIDGE_TIMEOUT +sixty +invalid; allowed: whole seconds from 1s to 24h, such as 30, 30s or 2m\.$/m;
    expect((await run('list')).out).toMatch(row);
    expect(JSON.parse((await run('list', [], { isJson: true })).out)).toContainEqual({
      name: 'MCP_BRIDGE_TIMEOUT',
      value: 'sixty',
      from: 'file',
      invalid: expect.stringContaining('allowed: whole seconds'),
    });
    await writeFile(file, '{"MCP_BRIDGE_TIMEOUT": "10m"}');
    expect((await failureOf(loadContext(env))).hint).toBe(`${run1} timeout 30${unset} timeout`);
    expect((await run('list')).out).toMatch(/ 10m +invalid; allowed: at most MCP_BRIDGE_MAX_TIMEOUT/);
    await writeFile(file, '{"MCP_BRIDGE_TIMEOUT": "sixty", "MCP_BRIDGE_LOG_LEVEL": "loud"}');
    expect((await failureOf(loadContext(env))).hint).toBe(`${run1} NAME VALUE${unset} timeout log-level`);
    env['MCP_BRIDGE_PULL'] = 'always';
    expect((await failureOf(loadContext(env))).hint).toBe(`${inEnv} ${run1} NAME VALUE${unset} timeout log-level`);
    expect((await run('list')).out).toMatch(
      /^MCP_BRIDGE_PULL +always +environment, invalid; allowed: missing or never\.$/m,
    );
    env = { ...env, MCP_BRIDGE_TIMEOUT: '20', MCP_BRIDGE_LOG_LEVEL: 'INFO' };
    expect((await failureOf(loadContext(env))).hint).toBe(inEnv);
  });

  it.each([
    ['{"MCP_BRIDGE_TIMEOUT": 60,}', 'is not JSON (line 1, column 27): trailing commas are not allowed'],
    ['[]', 'is not an object of variables and values'],
    ['x'.repeat(300_000), 'it has 300,000 bytes; the limit is 262,144'],
  ])('prevents a start with the text %.30s', async (text, reason) => {
    await writeFile(file, text);
    const error = await failureOf(loadContext(env));
    expect(error.code).toBe('CONFIG_INVALID');
    expect(error.message).toContain(`${file} `);
    expect(error.message).toContain(reason);
  });

  it('cannot be a folder, but need not exist, nor the state directory', async () => {
    await mkdir(file);
    expect((await failureOf(loadContext(env))).code).toBe('CONFIG_INVALID');
    env['MCP_BRIDGE_STATE_DIR'] = join(stateDir, 'none');
    expect((await loadContext(env)).settings.timeoutSeconds).toBe(30);
  });

  it('takes numbers and switches as they are written in JSON', async () => {
    await writeFile(file, '{"MCP_BRIDGE_TIMEOUT": 45, "MCP_BRIDGE_AUDIT": false, "MCP_BRIDGE_APPS": true}');
    expect((await loadContext(env)).settings).toMatchObject({ timeoutSeconds: 45, audit: 'off', apps: true });
  });

  it('is no server file, and doctor says so for whoever had one of this name', async () => {
    await writeFile(
      file,
      JSON.stringify({
        mcpServers: { a: { command: 'x' } },
        MCP_BRIDGE_TIMOUT: '5',
        MCP_BRIDGE_STATE_DIR: '/x',
        MCP_BRIDGE_PULL: 'always',
        HOME: '/x',
        MCP_BRIDGE_PIN: 'off',
      }),
    );
    expect([...discoverServers({ stateDir, env }).servers]).toEqual([]);
    const { createContext } = await import('../../../src/app/bridge/context.ts');
    const { context, findings } = await examineSettings({
      env,
      createContext: async (given, stored) => createContext(given, stored),
    });
    expect(context.settings).toMatchObject({ stateDir, pin: 'off', pull: 'missing' });
    expect(findings.map((finding) => `${finding.level}: ${renderLine(finding)}`)).toEqual([
      expect.stringMatching(/^problem: MCP_BRIDGE_PULL is 'always' in .*settings\.json; allowed: missing or never/),
      'ok: set in the environment: MCP_BRIDGE_STATE_DIR',
      `ok: set in ${file}: MCP_BRIDGE_PIN`,
      expect.stringMatching(/^warning: MCP_BRIDGE_TIMOUT is set in .*, but there is no such setting\. Did you mean/),
      expect.stringMatching(/^warning: HOME is set in .*, but there is no such setting/),
      expect.stringMatching(/^warning: MCP_BRIDGE_STATE_DIR is set in .*, where it has no effect/),
      expect.stringMatching(/^warning: 'mcpServers' in .* is not a setting .* rename the file/),
    ]);
  });

  it('that cannot be read is a problem for doctor, which then looks at the rest', async () => {
    await writeFile(file, '{');
    const { createContext } = await import('../../../src/app/bridge/context.ts');
    const { context, findings } = await examineSettings({
      env,
      createContext: async (given, stored) => createContext(given, stored),
    });
    expect(context.settings.timeoutSeconds).toBe(30);
    expect(findings).toContainEqual(
      expect.objectContaining({ level: 'problem', text: expect.stringContaining('settings.json is not JSON') }),
    );
  });
});
