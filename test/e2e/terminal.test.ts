// Tags: anywhere, full
/** What people see at a terminal and programs do not: colors, and the line that says what is being waited for. */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { CLI, ROOT } from '../support/bridge-client.ts';
import { hasLocalPython } from '../support/local-python.ts';
import { runOnTerminal } from '../support/terminal.ts';

const ESCAPE = '\u001B';
const RED = `${ESCAPE}[31m`;
const HIDDEN_CURSOR = `${ESCAPE}[?25l`;
const SHOWN_CURSOR = `${ESCAPE}[?25h`;
let env: Readonly<Record<string, string>> = {};

beforeEach(async () => {
  const home = await mkdtemp(join(tmpdir(), 'terminal-'));
  onTestFinished(() => rm(home, { recursive: true }));
  await mkdir(join(home, 'MCPs'));
  const echo = { command: process.execPath, args: [join(ROOT, 'test/fixtures/servers/echo.mjs')] };
  await writeFile(join(home, 'MCPs', 'a.json'), JSON.stringify({ mcpServers: { echo } }));
  // No container engine: quick, and two problems to be colored.
  env = { HOME: home, PATH: process.env['PATH'] ?? '', MCP_BRIDGE_RUNTIME: 'embedded', MCP_BRIDGE_TIMEOUT: 'soon' };
});

const atTerminal = (argv: readonly string[], more: Record<string, string> = {}, pipesOut = false) =>
  runOnTerminal([process.execPath, CLI, ...argv], { env: { ...env, ...more }, pipesOut });

/** Everything that the command writes to pipes. */
async function atPipes(argv: readonly string[], more: Record<string, string> = {}): Promise<string> {
  const child = spawn(process.execPath, [CLI, ...argv], { env: { ...env, ...more } });
  const [out, error] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return out + error;
}

const hasTerminals = hasLocalPython();
const notCovered = hasTerminals ? '' : 'not covered: a pseudo terminal needs python3: ';

describe.skipIf(!hasTerminals)('at a terminal', () => {
  it(`${notCovered}doctor tells what it waits for, and its levels have colors`, async () => {
    const { exitCode, terminal } = await atTerminal(['doctor']);
    expect(terminal).toMatch(/Waiting for .*embedded.*echo/);
    expect(terminal).toContain(`${RED}problem${ESCAPE}[39m  MCP_BRIDGE_TIMEOUT is 'soon'`);
    // The line disappears before the result.
    expect(terminal.indexOf(SHOWN_CURSOR)).toBeLessThan(terminal.indexOf('mcp-server-code-execution-mode 0.'));
    expect(terminal.slice(terminal.indexOf(SHOWN_CURSOR))).not.toContain('Waiting');
    expect(exitCode).toBe(1);
  });

  it('colors and the line are no part of what goes to a pipe', async () => {
    const { stdout, terminal } = await atTerminal(['doctor'], {}, true);
    expect(stdout).toContain("  problem  MCP_BRIDGE_TIMEOUT is 'soon'");
    expect(stdout).not.toContain(ESCAPE);
    expect(terminal).toContain('Waiting for ');
    expect(terminal).not.toContain('MCP_BRIDGE_TIMEOUT');
  });

  it('help prints a page in lines that fit, and Markdown to a pipe', async () => {
    const { terminal } = await atTerminal(['help', 'LIMIT_CALLS']);
    expect(terminal).toContain(`- ${ESCAPE}[1mMeaning${ESCAPE}[22m: The cell made too many calls.\r\n`);
    expect((await atTerminal(['help', 'LIMIT_CALLS'], { NO_COLOR: '1' })).terminal).not.toContain(ESCAPE);
    expect(await atPipes(['help', 'LIMIT_CALLS'])).toContain('- **Meaning**: The cell made too many calls.\n');
  });

  it('servers refresh names the servers that have not answered yet', async () => {
    const { terminal } = await atTerminal(['servers', 'refresh'], { MCP_BRIDGE_TIMEOUT: '' });
    expect(terminal).toContain(HIDDEN_CURSOR);
    expect(terminal).toContain('Waiting for echo');
    expect(terminal.trimEnd()).toMatch(/echo .*7/);
  });

  // The line of `exec` was gone for good once the code ran, and code waits for a server.
  it.each([
    ['exec', ['exec', '--server', 'fetched', '--timeout', '2', '--code', 'await mcp_fetched.ping()'], /'pong'\s*$/],
    ['servers test', ['servers', 'test', 'fetched'], /fetched {2}ok .*\s*$/],
  ])('%s shows the download of a server', async (_, argv, result) => {
    const home = env['HOME'] ?? '';
    const uvx = join(home, 'uvx');
    await symlink(process.execPath, uvx);
    const args = [join(ROOT, 'test/fixtures/servers/downloads.mjs'), '40', '100'];
    await writeFile(join(home, 'MCPs', 'a.json'), JSON.stringify({ mcpServers: { fetched: { command: uvx, args } } }));
    const { terminal } = await atTerminal(argv, { MCP_BRIDGE_TIMEOUT: '' });
    expect(terminal).toMatch(/(?:starting|Waiting for) fetched \(uvx: Downloading part-\d+ \(4\.5MiB\)\)/);
    expect(terminal.slice(terminal.lastIndexOf(SHOWN_CURSOR) + SHOWN_CURSOR.length)).toMatch(result);
  });

  it('there is no line with --json, and no color with NO_COLOR', async () => {
    const json = await atTerminal(['doctor', '--json']);
    expect(json.terminal).not.toContain(ESCAPE);
    const plain = await atTerminal(['doctor'], { NO_COLOR: '1' }, false);
    expect(plain.terminal).toContain("  problem  MCP_BRIDGE_TIMEOUT is 'soon'");
  });

  it('install shows its changes in colors', async () => {
    const { terminal } = await atTerminal(['install', 'cursor', '--dry-run'], { MCP_BRIDGE_TIMEOUT: '' });
    expect(terminal).toContain(`${ESCAPE}[32m+`);
  });
});

describe('with a pipe', () => {
  it.each([
    ['doctor', []],
    ['doctor --json', []],
    ['servers refresh', ['MCP_BRIDGE_TIMEOUT']],
    ['servers test', ['MCP_BRIDGE_TIMEOUT']],
    ['install cursor --dry-run', ['MCP_BRIDGE_TIMEOUT']],
  ])('%s writes no control character', async (line, unset) => {
    const written = await atPipes(line.split(' '), Object.fromEntries(unset.map((name) => [name, ''])));
    expect(written).not.toBe('');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
    expect(written).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f]/);
  });

  it('has colors when they are forced', async () => {
    expect(await atPipes(['doctor', '--no-servers'], { FORCE_COLOR: '1' })).toContain(`${RED}problem`);
  });
});
