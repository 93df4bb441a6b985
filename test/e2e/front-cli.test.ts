// Tags: anywhere, full
/** The command line of the front: `exec`, `--help`, `--version`, settings, and invalid input. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { emptyHome } from '../support/empty-home.ts';
import { type BuiltCommand, buildFakeCommand } from './front-process.ts';

const HOME = emptyHome();

let command: BuiltCommand;
let folder: string;

beforeAll(async () => {
  command = await buildFakeCommand();
  folder = await mkdtemp(join(tmpdir(), 'front-cli-'));
});
afterAll(async () => {
  await command.remove();
  await rm(folder, { recursive: true, force: true });
});

async function run(argv: readonly string[], options: { env?: Record<string, string>; input?: string } = {}) {
  const env = { PATH: process.env['PATH'], HOME, ...options.env };
  const child = spawn(process.execPath, [command.script, ...argv], { env });
  child.stdin.end(options.input ?? '');
  const exited = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  // Lines of the fake bridge itself are not part of the command's output.
  return { stdout, stderr: stderr.replace(/^event: .*\n/gm, ''), events: stderr, exitCode };
}

describe('exec', () => {
  test.each([
    ['a value', ['-c', '1 + 1'], { stdout: '1 + 1\n', stderr: '', exitCode: 0 }],
    [
      'what was printed, as it was written',
      ['-c', 'print \n\n()\nb'],
      { stdout: '\n\n()\nb', stderr: '', exitCode: 0 },
    ],
    [
      'what is missing',
      ['-c', 'gap'],
      { stdout: 'first\n[9 bytes (1 line) omitted here.]\nlast\n', stderr: '', exitCode: 0 },
    ],
    ['notices and stderr', ['-c', 'lost'], { stdout: '1\n', stderr: 'warned\nState was lost.\n', exitCode: 0 }],
    [
      'an exception',
      ['-c', 'raise'],
      { stdout: '', stderr: 'Traceback (most recent call last):\nValueError: no\n', exitCode: 1 },
    ],
    ['sys.exit(3)', ['-c', 'exit3'], { stdout: '', stderr: '', exitCode: 3 }],
    ['a deadline', ['-c', 'deadline'], { stdout: 'half\n', stderr: '', exitCode: 124 }],
    [
      'no engine',
      ['-c', 'engineless'],
      { stdout: '', stderr: 'ENGINE_UNAVAILABLE: none\nHint: install one\n', exitCode: 69 },
    ],
    [
      'a refused argument',
      ['--timeout', '500', '-c', '1'],
      {
        stdout: '',
        stderr:
          'ARGUMENT_INVALID: `timeout` is 500; it must be a whole number of seconds from 1 to 120.\n' +
          'Hint: Use 120, and do the rest in the next cell. The user can allow more with MCP_BRIDGE_MAX_TIMEOUT.\n',
        exitCode: 64,
      },
    ],
    [
      'an unknown server',
      ['--server', 'githob', '-c', '1'],
      {
        stdout: '',
        stderr:
          "ARGUMENT_INVALID: `servers` names 'githob', which is not configured.\n" +
          "Hint: Did you mean 'github'? Configured: 'github', 'filesystem', 'memory'.\n",
        exitCode: 64,
      },
    ],
  ])('%s', async (_name, argv, expected) => {
    expect(await run(['exec', ...argv])).toMatchObject(expected);
  });

  test('closes the bridge', async () => {
    expect((await run(['exec', '-c', '1'])).events).toContain('event: closed');
  });

  test('reads a file, and standard input', async () => {
    const file = join(folder, 'cell.py');
    await writeFile(file, 'from_file');
    expect((await run(['exec', file])).stdout).toBe('from_file\n');
    expect((await run(['exec', '-'], { input: 'from_stdin' })).stdout).toBe('from_stdin\n');
  });

  test('reports a file that cannot be read', async () => {
    const { stderr, exitCode } = await run(['exec', join(folder, 'none.py')]);
    expect(stderr).toContain("none.py': ENOENT");
    expect(stderr).toContain('Hint: To run code from the command line, use -c CODE');
    expect(exitCode).toBe(64);
  });

  test('writes a long output completely before it ends', async () => {
    const { stdout } = await run(['exec', '-'], { input: `print ${'x'.repeat(900_000)}` });
    expect(stdout).toHaveLength(900_000);
  });

  // Output came at the end, and Ctrl-C lost all of it.
  test.each([
    { argv: [], told: 'CELL_CANCELLED: the cell was interrupted\n' },
    {
      argv: ['--session', 's'],
      told: "CELL_CANCELLED: the cell was interrupted; the variables of the session 's' are kept\n",
    },
  ])('prints as the cell does, and what is left after Ctrl-C: $argv', async ({ argv, told }) => {
    const child = spawn(process.execPath, [command.script, 'exec', ...argv, '-c', 'stream'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exited = once(child, 'close');
    let [out, log] = ['', ''];
    child.stderr.setEncoding('utf8').on('data', (part: string) => (log += part));
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      if (out === '') {
        expect(part).toBe('one\n');
        child.kill('SIGINT');
      }
      out += part;
    });
    expect(await exited).toEqual([130, null]);
    expect(out).toBe('one\ntwo\n');
    expect(log.replace(/^event: .*\n/gm, '')).toMatch(/^warned/m);
    expect(log).toContain(told);
  });

  test('cancels the cell on a signal', async () => {
    const child = spawn(process.execPath, [command.script, 'exec', '-c', 'wait'], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const exited = once(child, 'close');
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      if (!log.includes('waiting') && (log + part).includes('waiting')) {
        child.kill('SIGINT');
      }
      log += part;
    });
    expect(await exited).toEqual([130, null]);
    expect(log).toContain('event: cancelled');
    expect(log).toContain('event: closed');
  });
});

describe('with --json', () => {
  const json = async (argv: readonly string[], env: Record<string, string> = {}) => {
    const { exitCode, stderr, stdout } = await run([...argv, '--json'], { env });
    return { result: JSON.parse(stdout) as unknown, stderr, exitCode };
  };

  test.each([
    ['a value', '1 + 1', { status: 'success', result: '1 + 1' }, 0],
    [
      'an exception',
      'raise',
      { status: 'error', error: { message: 'Traceback (most recent call last):\nValueError: no' } },
      1,
    ],
    [
      'no engine',
      'engineless',
      { status: 'error', error: { code: 'ENGINE_UNAVAILABLE', message: 'none', hint: 'install one' } },
      69,
    ],
    ['a deadline', 'deadline', { status: 'timeout' }, 124],
  ])('exec answers %s with the fields of an answer', async (_name, code, result, exitCode) => {
    expect(await json(['exec', '-c', code])).toMatchObject({ result, stderr: '', exitCode });
  });

  test.each([
    [['exce'], 'USAGE_INVALID', 64],
    [['servers', 'show'], 'USAGE_INVALID', 64],
    [['install', 'cursr'], 'USAGE_INVALID', 64],
    [['exec', '/nowhere/cell.py'], 'USAGE_INVALID', 64],
    [['audit', 'tail', '--lines', 'x'], 'USAGE_INVALID', 64],
    [['policy', 'explain', 'nothing.here'], 'USAGE_INVALID', 64],
  ])('%j fails with the error as data on one line of stdout', async (argv, code, exitCode) => {
    const failed = await json(argv);
    expect(failed).toMatchObject({ result: { error: { code, message: expect.any(String) } }, stderr: '', exitCode });
  });

  test.each([[['image']], [['sessions', 'list']], [['servers']], [['audit', 'stats']], [['exec', '-c', '1']]])(
    '%j says so of a bad setting',
    async (argv) => {
      expect(await json(argv, { MCP_BRIDGE_TIMEOUT: 'soon' })).toMatchObject({
        result: { error: { code: 'CONFIG_INVALID', hint: expect.stringMatching(/^Correct or remove it/) } },
        exitCode: 78,
      });
    },
  );
});

describe('help and version', () => {
  test('--help lists every command', async () => {
    const { stdout, stderr, exitCode } = await run(['--help']);
    expect(stdout).toMatch(
      /serve +serve MCP[\s\S]*exec +run one cell[\s\S]*servers +add servers[\s\S]*install +register the bridge/,
    );
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
  });

  test('--version prints only the version', async () => {
    expect(await run(['--version'])).toMatchObject({ stdout: '0.0.0-test\n', stderr: '', exitCode: 0 });
  });
});

describe('invalid input', () => {
  test('an unknown command exits with code 64', async () => {
    expect(await run(['exce'])).toMatchObject({
      stdout: '',
      stderr: expect.stringMatching(
        /^USAGE_INVALID: unknown command 'exce'\. Did you mean 'exec'\?\nHint: For usage, run: \S.* --help\n$/,
      ),
      exitCode: 64,
    });
  });

  test('bad settings exit with code 78 before serving starts', async () => {
    const env = { MCP_BRIDGE_TIMEOUT: 'soon', MCP_BRIDGE_MEMORY: '1' };
    const { stdout, stderr, exitCode } = await run([], { env });
    expect({ stdout, exitCode }).toEqual({ stdout: '', exitCode: 78 });
    expect(stderr).toMatch(
      /^\S+ ERROR MCP_BRIDGE_TIMEOUT is 'soon'; .* → Correct or .*\n\S+ ERROR MCP_BRIDGE_MEMORY is .*\n$/,
    );
    expect((await run(['image'], { env })).stderr).toMatch(
      /^CONFIG_INVALID: 2 settings are invalid:\n {2}MCP_BRIDGE_TIMEOUT is 'soon'/,
    );
  });

  test('a misspelled setting only causes a warning', async () => {
    const { stderr, exitCode } = await run(['run'], { env: { MCP_BRIDGE_TIMOUT: '5' } });
    expect(stderr).toContain(
      "WARNING MCP_BRIDGE_TIMOUT is set, but there is no such setting. Did you mean 'MCP_BRIDGE_TIMEOUT'",
    );
    expect(exitCode).toBe(0);
  });
});
