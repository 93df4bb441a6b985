// Tags: anywhere, full
/** `exec` as a user sees it: the progress line while its sandbox starts, and approval questions, with and without a terminal. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI, fixtureServer } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { hasLocalPython } from '../support/local-python.ts';
import { CTRL_C, PROMPT, runOnTerminal, type TerminalOptions } from '../support/terminal.ts';
import { type BuiltCommand, buildFakeCommand } from './front-process.ts';

const ESCAPE = '\u001B';
const SHOWN_CURSOR = `${ESCAPE}[?25h`;
const hasTerminals = hasLocalPython();
const notCovered = hasTerminals ? '' : 'not covered: a pseudo terminal needs python3: ';
// Asking works the same on all engines.
const engines = (await coverEngines()).slice(0, 1);

let command: BuiltCommand;
let stateDir: string;

beforeAll(async () => {
  command = await buildFakeCommand();
  stateDir = mkdtempSync(join(tmpdir(), 'exec-terminal-'));
  const servers = { mcpServers: { echo: fixtureServer('echo.mjs') } };
  writeFileSync(join(stateDir, 'servers.json'), JSON.stringify(servers));
  const policy = { rules: [{ effect: 'ask', server: 'echo', tool: 'echo' }] };
  writeFileSync(join(stateDir, 'policy.json'), JSON.stringify(policy));
});
afterAll(async () => {
  await command.remove();
  rmSync(stateDir, { recursive: true });
});

const envOf = (more: Readonly<Record<string, string>> = {}) => ({
  PATH: process.env['PATH'] ?? '',
  ...more,
  MCP_BRIDGE_STATE_DIR: stateDir,
});

/** A bridge without engines, in which the first word of the code decides what happens. */
const atTerminal = (argv: readonly string[], more: Record<string, string> = {}, types: TerminalOptions['types'] = []) =>
  runOnTerminal([process.execPath, command.script, 'exec', ...argv], { env: envOf(more), pipesOut: true, types });

describe('the progress line while the sandbox starts', () => {
  it.skipIf(!hasTerminals)(
    `${notCovered}is on stderr, and disappears before the code runs and prints anything`,
    async () => {
      const { exitCode, stdout, terminal } = await atTerminal(['-c', 'begin']);
      expect([exitCode, stdout]).toEqual([0, 'printed\n']);
      expect(terminal).toContain('starting the sandbox');
      expect(terminal).toMatch(/pulling .*python: 50 % of its layers/);
      // Output of an engine cannot control the terminal.
      expect(terminal).not.toContain(`${ESCAPE}[2J`);
      const [during = '', after = ''] = terminal.split(SHOWN_CURSOR);
      expect(during).not.toContain('warned');
      expect(after).toContain('warned\r\n');
      expect(after).not.toContain('sandbox');
      expect(terminal).not.toContain('running the code');
      expect(terminal).not.toContain('printed');
    },
  );

  it.skipIf(!hasTerminals)(`${notCovered}is absent with --json, and if the cursor cannot be moved`, async () => {
    expect((await atTerminal(['--json', '-c', 'begin'])).terminal).not.toContain('sandbox');
    const dumb = await atTerminal(['-c', 'begin'], { TERM: 'dumb' });
    expect(dumb.terminal.split('\r\n').filter((line) => !line.startsWith('event: '))).toEqual(['warned', '']);
  });

  it.skipIf(!hasTerminals)(`${notCovered}disappears if Ctrl-C ends the command`, async () => {
    const { exitCode, terminal } = await atTerminal(['-c', 'wait'], {}, [['event: waiting', CTRL_C]]);
    expect(exitCode).toBe(130);
    expect(terminal).toContain('event: cancelled');
    expect(terminal.lastIndexOf(SHOWN_CURSOR)).toBeGreaterThan(terminal.lastIndexOf(`${ESCAPE}[?25l`));
  });
});

it('with a pipe there is no line, and the log has its text', async () => {
  const run = async (level: string) => {
    const child = spawn(process.execPath, [command.script, 'exec', '-c', 'begin'], {
      env: envOf({ MCP_BRIDGE_LOG_LEVEL: level }),
    });
    child.stdin.end();
    const [stderr] = await Promise.all([text(child.stderr), text(child.stdout)]);
    return stderr.replace(/^event: .*\n/gm, '');
  };
  expect(await run('WARNING')).toBe('warned\n');
  expect(await run('INFO')).toMatch(/INFO starting the sandbox\n/);
});

it.skipIf(!hasTerminals)(`${notCovered}no question is asked if it would not be seen`, async () => {
  const words = ['servers', 'call', 'echo', 'echo', 'text=hi'];
  const errors = join(stateDir, 'errors');
  const { exitCode } = await runOnTerminal(['sh', '-c', '"$@" 2>"$ERRORS"', 'sh', process.execPath, CLI, ...words], {
    // A question would change the answer.
    env: envOf({ ERRORS: errors, MCP_BRIDGE_APPROVAL_TIMEOUT: '1' }),
  });
  expect([exitCode, readFileSync(errors, 'utf8')]).toEqual([77, expect.stringContaining('APPROVAL_UNAVAILABLE: ')]);
});

const CODE = 'print("said", await mcp_echo.echo(text="hi\\u001b[2J"))';

describe.each(engines)('on $label a call that needs approval', (engine) => {
  // With `CI` set there is no line.
  const inherited = Object.entries(engine.env).filter(
    ([name]) => name !== 'CI' && !name.startsWith('MCP_BRIDGE_TEST_'),
  );
  // The terminal of whoever runs the tests may not be able to move its cursor.
  const env = () => envOf({ ...Object.fromEntries(inherited), TERM: 'xterm-256color' });
  const ask = (keys: string, code = CODE) =>
    runOnTerminal([process.execPath, CLI, 'exec', '--server', 'echo', '-c', code], {
      env: env(),
      pipesOut: true,
      types: [[PROMPT, keys]],
    });

  it.skipIf(!hasTerminals)(`${notCovered}is asked about at the terminal, and made if allowed`, async () => {
    const { exitCode, stdout, terminal } = await ask('1\n');
    expect([exitCode, stdout]).toEqual([0, `said hi${ESCAPE}[2J\n`]);
    expect(terminal).toContain(
      "Code in session 'default' wants to call a tool, and your policy requires your approval.",
    );
    expect(terminal).toMatch(/Server: echo\r\nTool: echo\r\n/);
    expect(terminal).toContain('    text: "hi');
    expect(terminal).toContain('  1) Allow once\r\n  2) Allow for this cell\r\n');
    // The line disappears before the question, and no argument can control the terminal.
    expect(terminal.indexOf(SHOWN_CURSOR)).toBeGreaterThan(-1);
    expect(terminal.indexOf(SHOWN_CURSOR)).toBeLessThan(terminal.indexOf('Code in session'));
    expect(terminal).not.toContain(`${ESCAPE}[2J`);
  });

  it.skipIf(!hasTerminals)(`${notCovered}is refused if not allowed`, async () => {
    for (const keys of ['4\n', '\n', CTRL_C]) {
      const { exitCode, stdout, terminal } = await ask(keys);
      expect([keys, exitCode, stdout]).toEqual([keys, 77, '']);
      expect(terminal).toContain('APPROVAL_DENIED: echo.echo was not called: the user was asked and');
    }
  });

  it.skipIf(!hasTerminals)(`${notCovered}is recorded with the scope of the answer`, async () => {
    const folder = join(stateDir, 'audit');
    rmSync(folder, { recursive: true, force: true });
    const { stdout } = await ask('2\n', 'for n in "ab":\n    print(await mcp_echo.echo(text=n))');
    expect(stdout).toBe('a\nb\n');
    await runOnTerminal([process.execPath, CLI, 'servers', 'call', 'echo', 'echo', 'text=c'], {
      env: env(),
      types: [[PROMPT, 'y\n']],
    });
    const records = readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'));
    const calls = records
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ type }) => type === 'call');
    const allowed = { decision: 'asked', answer: 'allowed' };
    expect(calls).toMatchObject(['cell', 'cell', 'once'].map((approval) => ({ ...allowed, approval })));
    const shown = await runOnTerminal([process.execPath, CLI, 'audit', 'show'], { env: env() });
    expect(shown.terminal).toMatch(/asked: allowed for the cell .*\r\n[\s\S]*asked: allowed once /);
  });

  it('is refused without a terminal, with the rule that would allow it', async () => {
    const child = spawn(process.execPath, [CLI, 'exec', '--server', 'echo', '-c', CODE], { env: env() });
    child.stdin.end();
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(stdout).toBe('');
    expect(stderr).toContain('APPROVAL_UNAVAILABLE: echo.echo was not called: ');
    expect(stderr).toContain('exec asks only at a terminal');
    expect(stderr).toContain('{"effect":"allow","server":"echo","tool":"echo"}');
    expect(stderr).not.toContain('Code in session');
  });
});
