import { describe, expect, test } from 'vitest';
import { parseCommandLine } from '../../../src/commands/command-line.ts';

const execOf = (fields: object) => ({
  command: 'exec',
  servers: [],
  session: undefined,
  timeoutSeconds: undefined,
  ...fields,
});

const installOf = (fields: object) => ({
  command: 'install',
  clients: ['cursor'],
  scope: 'user',
  isDryRun: false,
  isImport: false,
  isPrint: false,
  ...fields,
});

const serversOf = (fields: object) => ({ command: 'servers', names: [], limit: 10, isJson: false, ...fields });

describe('understood', () => {
  test.each([
    ['', { command: 'run' }],
    ['run', { command: 'run' }],
    ['help', { command: 'help' }],
    ['help session_lost', { command: 'help', code: 'session_lost' }],
    ['--help', { command: 'help' }],
    ['run -h', { command: 'help' }],
    ['exec --help', { command: 'help' }],
    ['servers', serversOf({ action: 'list' })],
    ['servers show a-b', serversOf({ action: 'show', names: ['a-b'] })],
    ['servers --json tools a', serversOf({ action: 'tools', names: ['a'], isJson: true })],
    ['servers search --limit 3 create issue', serversOf({ action: 'search', names: ['create', 'issue'], limit: 3 })],
    ['servers refresh', serversOf({ action: 'refresh' })],
    ['servers refresh a b', serversOf({ action: 'refresh', names: ['a', 'b'] })],
    ['servers list --help', { command: 'help' }],
    ['install cursor', installOf({})],
    ['install Zed cursor zed --dry-run', installOf({ clients: ['zed', 'cursor'], isDryRun: true })],
    ['install --import --print --scope project cursor', installOf({ scope: 'project', isImport: true, isPrint: true })],
    ['uninstall cursor --scope=user', installOf({ command: 'uninstall' })],
    ['install --help', { command: 'help' }],
    ['doctor', { command: 'doctor', isJson: false }],
    ['doctor --json', { command: 'doctor', isJson: true }],
    ['doctor --help', { command: 'help' }],
    ['--version', { command: 'version' }],
    ['-v', { command: 'version' }],
    ['exec cell.py', execOf({ source: { kind: 'file', path: 'cell.py' } })],
    ['exec -', execOf({ source: { kind: 'file', path: '-' } })],
    ['exec -c 1+1', execOf({ source: { kind: 'code', code: '1+1' } })],
    ['exec --code=-1', execOf({ source: { kind: 'code', code: '-1' } })],
    ['exec -- -odd.py', execOf({ source: { kind: 'file', path: '-odd.py' } })],
    [
      'exec --server a --server=b --session work --timeout 7 -c x',
      execOf({ source: { kind: 'code', code: 'x' }, servers: ['a', 'b'], session: 'work', timeoutSeconds: 7 }),
    ],
  ])('%j', async (line, expected) => {
    expect(await parseCommandLine(line === '' ? [] : line.split(' '))).toEqual(expected);
  });
});

describe('refused', () => {
  test.each([
    [
      'exce x',
      expect.stringMatching(/^There is no command 'exce'; the commands are run, exec, .* Did you mean .*'exec'/),
    ],
    ['--verison', "There is no option '--verison'; the options are --help, --version. Did you mean '--version'?"],
    ['run -x', "There is no option '-x'; the options are --help, --version."],
    ['run more', "'more' is one argument too many; `run` takes none."],
    ['install', expect.stringMatching(/^`install` needs at least one of claude-code, .*goose\.$/)],
    [
      'install cursr',
      expect.stringMatching(/^There is no client 'cursr'; the clients are .* Did you mean 'cursor'\?$/),
    ],
    ['install zed --scope all', "The option '--scope' is 'all'; it must be user or project."],
    [
      'uninstall zed --import',
      expect.stringMatching(/^There is no option '--import'; the options are --help, --version, --dry-run, --scope\./),
    ],
    [
      'servers serach',
      expect.stringMatching(/^There is no `servers serach`; there are list, show, .* Did you mean 'search'/),
    ],
    ['servers list x', "'x' is one argument too many; `servers list` takes none."],
    ['help A B', "'B' is one argument too many; `help` takes the code of one error."],
    ['servers show', '`servers show` needs the name of one server.'],
    ['servers tools a b', '`servers tools` needs the name of one server.'],
    ['servers search', '`servers search` needs words to look for.'],
    ['servers search x --limit 0', "The option '--limit' is '0'; it must be a whole number from 1 to 1000."],
    ['--help=yes', "The option '--help' takes no value."],
    ['exec', '`exec` needs exactly one of a file, `-` (standard input) and `-c CODE`.'],
    ['exec a.py b.py', '`exec` needs exactly one of a file, `-` (standard input) and `-c CODE`.'],
    ['exec -c x a.py', '`exec` needs exactly one of a file, `-` (standard input) and `-c CODE`.'],
    ['exec -c', "The option '-c' needs a value."],
    ['exec --timeout 1.5 -c x', "The option '--timeout' is '1.5'; it must be a whole number of seconds."],
    ['exec --sever a -c x', expect.stringContaining("Did you mean '--server'")],
    ['exec --__proto__ -c x', expect.stringContaining("There is no option '--__proto__'")],
  ])('%j', async (line, message) => {
    await expect(parseCommandLine(line.split(' '))).rejects.toMatchObject({ code: 'USAGE_INVALID', message });
  });
});
