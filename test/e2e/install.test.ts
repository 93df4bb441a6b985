// Tags: anywhere, full
/** `install` and `uninstall` of the built command, in an empty home: what it registers starts, and only a user at a terminal is asked. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { CLI, ROOT } from '../support/bridge-client.ts';
import { hasLocalPython } from '../support/local-python.ts';
import { CTRL_C, runOnTerminal } from '../support/terminal.ts';

const NAME = 'mcp-server-code-execution-mode';
/** npm packs and installs several times, which takes 20 s, or minutes on a busy machine. */
const NPM_TIMEOUT_MS = 300_000;
let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'bridge-install-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
});

interface Output {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
}

async function start(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Output> {
  const [command = '', ...args] = words;
  const child = spawn(command, args, {
    cwd: home,
    env: { PATH: process.env['PATH'], HOME: home, npm_config_cache: join(home, 'npm-cache'), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { stdout, stderr, exitCode };
}

const run = (...args: string[]) => start([process.execPath, CLI, ...args]);

/** The command in Cursor's file. */
function registeredWords(): string[] {
  const { mcpServers } = JSON.parse(readFileSync(join(home, '.cursor/mcp.json'), 'utf8')) as {
    mcpServers: Record<string, { command: string; args: string[] }>;
  };
  const [entry] = Object.values(mcpServers);
  return entry === undefined ? [] : [entry.command, ...entry.args];
}

/** Whether a client that runs this command finds the bridge. */
async function isStarting(words: readonly string[]): Promise<boolean> {
  return /^\d+\.\d+\.\d+\n$/.test((await start([...words, '--version'], { PATH: '/nothing' })).stdout);
}

it('registers the bridge in one file of each format, moves servers, and leaves everything as it was', async () => {
  const before =
    '{\n  // mine\n  "mcpServers": { "files": { "command": "true", "env": { "API_KEY": "sk-0123456789" } } }\n}\n';
  writeFileSync(join(home, '.mcp.json'), before);

  expect((await run('install', 'cursr')).stderr).toContain("Did you mean 'cursor'?");
  expect(await run('install', 'codex', 'goose')).toMatchObject({ exitCode: 0, stderr: '' });
  expect(readFileSync(join(home, '.codex/config.toml'), 'utf8')).toContain('[mcp_servers.code]');
  expect(readFileSync(join(home, '.config/goose/config.yaml'), 'utf8')).toContain(`cmd: ${process.execPath}`);
  const moved = await run('install', 'claude-code', '--scope', 'project', '--import');
  expect(moved.exitCode).toBe(0);
  expect(moved.stdout).not.toContain('sk-0123456789');
  expect(moved.stdout).toContain('Code can call: files.');
  expect(moved.stdout).toContain('whether to use the servers of .mcp.json');
  expect((await run('servers')).stdout).toMatch(/^files +not started yet .*claude-code.json$/m);

  expect(await run('uninstall', 'codex', 'goose')).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await run('uninstall', 'claude-code', '--scope', 'project')).toMatchObject({ exitCode: 0, stderr: '' });
  expect(readFileSync(join(home, '.mcp.json'), 'utf8')).toBe(before);
  expect(existsSync(join(home, '.codex/config.toml'))).toBe(false);
  // The command in the hint can be typed as shown.
  const [, command = ''] = /MCP client: +(.*) install CLIENT/.exec((await run('servers')).stdout) ?? [];
  expect((await start(['sh', '-c', `${command} --version`])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

describe('the registered command', () => {
  it('is this Node with the file of a checkout, which starts with any PATH', async () => {
    await run('install', 'cursor');
    expect(registeredWords()).toEqual([process.execPath, join(ROOT, 'dist/cli.js')]);
    expect(await isStarting(registeredWords())).toBe(true);
  });

  it('is the archive given to npx, or with --global a copy that needs neither archive nor network', {
    timeout: NPM_TIMEOUT_MS,
  }, async () => {
    const packed = await start(['npm', 'pack', '--ignore-scripts', '--pack-destination', home, ROOT]);
    const archive = join(home, packed.stdout.trim().split('\n').at(-1) ?? '');
    // Nothing listens there: npx and npm need no registry for a package without dependencies.
    const offline = { npm_config_registry: 'http://127.0.0.1:9/', npm_config_prefix: join(home, 'global') };
    const npx = ['npx', '-y', `--package=./${archive.slice(home.length + 1)}`, NAME];
    mkdirSync(join(home, 'global'));
    mkdirSync(join(home, '.cursor'));

    const installed = await start([...npx, 'install', 'cursor'], offline);
    expect(installed).toMatchObject({ exitCode: 0 });
    expect(registeredWords()).toEqual(['npx', '-y', `--package=${archive}`, NAME]);
    expect(installed.stdout).toContain(`To add one: npx -y --package=${archive} ${NAME} servers add`);
    expect((await start([...registeredWords(), '--version'], offline)).exitCode).toBe(0);

    const globally = await start([...npx, 'install', 'cursor', '--global'], offline);
    expect(globally).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Running: npm pack ') });
    const file = join(home, 'global/lib/node_modules', NAME, 'dist/cli.js');
    expect(registeredWords()).toEqual([process.execPath, file]);
    rmSync(archive);
    rmSync(join(home, 'npm-cache'), { recursive: true });
    expect(await isStarting(registeredWords())).toBe(true);
    // Hints of the copy use its path as long as it is not on PATH, and its name if it is.
    const bin = join(home, 'global/bin');
    const hintOf = async (env: Record<string, string>) =>
      / ([^ ]*) install CLIENT/.exec((await start([...registeredWords(), 'servers'], env)).stdout)?.[1];
    expect(await hintOf({})).toBe(join(bin, NAME));
    expect(await hintOf({ PATH: `${bin}:${dirname(process.execPath)}` })).toBe(NAME);

    await start([...registeredWords(), 'uninstall', 'cursor']);
    expect(readdirSync(join(home, '.cursor')).filter((name) => !name.includes('.backup-'))).toEqual([]);
  });

  it('is missing if npm cannot install', async () => {
    writeFileSync(join(home, 'file'), '');
    const refused = await start([process.execPath, CLI, 'install', 'cursor', '--global'], {
      npm_config_prefix: join(home, 'file'),
    });
    expect(refused).toMatchObject({ exitCode: 73, stderr: expect.stringContaining('STATE_WRITE_FAILED') });
    expect(existsSync(join(home, '.cursor'))).toBe(false);
  });
});

const hasTerminals = hasLocalPython();
const notCovered = hasTerminals ? '' : 'not covered: a pseudo terminal needs python3: ';

describe.skipIf(!hasTerminals)('at a terminal', () => {
  const QUESTION = '(y or n; empty: y) ';
  const before = '{ "mcpServers": { "files": { "command": "true" } } }\n';
  const answering = (typed: string) => {
    mkdirSync(join(home, '.cursor'));
    writeFileSync(join(home, '.cursor/mcp.json'), before);
    return runOnTerminal([process.execPath, CLI, 'install', 'cursor'], {
      env: { PATH: process.env['PATH'] ?? '', HOME: home },
      types: [[QUESTION, typed]],
    });
  };

  it(`${notCovered}the user is asked whether to move the client's other servers`, async () => {
    const { exitCode, terminal } = await answering('y\r');
    expect(exitCode).toBe(0);
    expect(terminal).toContain('defines one other MCP server: files.');
    expect(terminal).toContain('Code can call: files.');
    expect(existsSync(join(home, 'MCPs/cursor.json'))).toBe(true);
  });

  it('an empty answer moves them, because uninstall restores the file', async () => {
    expect((await answering('\r')).exitCode).toBe(0);
    expect(existsSync(join(home, 'MCPs/cursor.json'))).toBe(true);
    expect(readFileSync(join(home, '.cursor/mcp.json'), 'utf8')).not.toContain('"files"');
  });

  it('no moves none', async () => {
    expect((await answering('n\r')).exitCode).toBe(0);
    expect(existsSync(join(home, 'MCPs'))).toBe(false);
    expect(readFileSync(join(home, '.cursor/mcp.json'), 'utf8')).toContain('"code"');
  });

  it.each([
    ['Ctrl-C', CTRL_C],
    ['the end of the input', '\u0004'],
  ])('%s changes nothing', async (_what, typed) => {
    const { exitCode, terminal } = await answering(typed);
    expect(exitCode).toBe(130);
    expect(terminal).toContain('nothing was changed');
    expect(readFileSync(join(home, '.cursor/mcp.json'), 'utf8')).toBe(before);
    expect(readdirSync(home)).toEqual(['.cursor']);
  });
});
