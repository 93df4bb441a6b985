import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { parseCommandLine } from '../../../src/app/cli/command-line.ts';
import { createProgram } from '../../../src/app/cli/program.ts';

const topicOf = (...words: string[]) => ({ command: 'topic', words, commands: expect.arrayContaining(['servers']) });
const execOf = (fields: object) => ({
  command: 'exec',
  words: [],
  servers: [],
  session: undefined,
  timeoutSeconds: undefined,
  replay: undefined,
  resume: undefined,
  tool: undefined,
  isDryRun: false,
  isJson: false,
  ...fields,
});

const toolsOf = (fields: object) => ({
  command: 'tools',
  isJson: false,
  ...fields,
});

const installOf = (fields: object) => ({
  command: 'install',
  clients: ['cursor'],
  scope: 'user',
  isDryRun: false,
  isImport: undefined,
  startCommand: undefined,
  variables: {},
  isGlobal: false,
  isPrint: false,
  isJson: false,
  ...fields,
});

const doctorOf = (fields: object) => ({
  command: 'doctor',
  isJson: false,
  isFix: false,
  isStartingServers: true,
  ...fields,
});

const SERVERS = { command: 'servers', isJson: false };
const serversOf = (fields: object) => ({ ...SERVERS, ...fields });

const editOf = (fields: object) => ({
  command: 'servers',
  isDryRun: false,
  isJson: false,
  ...fields,
});
const addOf = (fields: object) =>
  editOf({ action: 'add', words: [], env: [], headers: [], keys: [], sets: [], isForced: false, ...fields });

describe('a valid command line', () => {
  test.each([
    ['', { command: 'run' }],
    ['run', { command: 'run' }],
    ['serve', { command: 'run' }],
    ['serve --http', { command: 'serve-http', address: { host: '127.0.0.1', port: 7411 }, hosts: [], drainMs: 20_000 }],
    [
      'run --http 8000 --allow-host a.example --allow-host b.example --drain 1m',
      {
        command: 'serve-http',
        address: { host: '127.0.0.1', port: 8000 },
        hosts: ['a.example', 'b.example'],
        drainMs: 60_000,
      },
    ],
    [
      'tokens add alice@example.com --expires 30d --max-sessions 4 --profile mail',
      {
        command: 'tokens',
        action: 'add',
        name: 'alice@example.com',
        expiresMs: 30 * 24 * 3_600_000,
        maxSessions: 4,
        profile: 'mail',
        isJson: false,
      },
    ],
    ['tokens', { command: 'tokens', action: 'list', isJson: false }],
    ['servers', serversOf({ action: 'list' })],
    ['servers show a-b', serversOf({ action: 'show', server: 'a-b' })],
    ['servers --json', serversOf({ action: 'list', isJson: true })],
    ['servers tools --json a', serversOf({ action: 'tools', server: 'a', isJson: true })],
    ['policy', { command: 'policy', action: 'show', isJson: false }],
    ['audit', expect.objectContaining({ command: 'audit', action: 'show', isJson: false })],
    ['policy --json', { command: 'policy', action: 'show', isJson: true }],
    [
      'policy explain files.read --args {"path":"/a"}',
      { command: 'policy', action: 'explain', tool: 'files.read', arguments: { path: '/a' }, isJson: false },
    ],
    ['policy explain files.read', { command: 'policy', action: 'explain', tool: 'files.read', isJson: false }],
    [
      'policy check --package pandas>=2 --package numpy',
      {
        command: 'policy',
        action: 'check',
        packages: ['pandas>=2', 'numpy'],
        isJson: false,
      },
    ],
    ['policy check -', { command: 'policy', action: 'check', path: '-', packages: [], isJson: false }],
    ['servers search --limit 3 create issue', serversOf({ action: 'search', words: ['create', 'issue'], limit: 3 })],
    ['servers refresh', serversOf({ action: 'refresh', names: [] })],
    ['servers refresh a b', serversOf({ action: 'refresh', names: ['a', 'b'] })],
    [
      'servers approve a b --dry-run',
      { command: 'accept-tools', server: 'a', tools: ['b'], isJson: false, isDryRun: true },
    ],
    [
      'servers add x --env A=1 -e B --dry-run -- npx -y pkg --json',
      addOf({ name: 'x', words: ['npx', '-y', 'pkg', '--json'], env: ['A=1', 'B'], isDryRun: true }),
    ],
    ['servers add --example', addOf({ example: true })],
    ['servers add --example memory', addOf({ example: 'memory' })],
    ['servers remove a b --json', editOf({ action: 'remove', names: ['a', 'b'], isJson: true })],
    ['servers enable a', editOf({ action: 'enable', names: ['a'] })],
    ['servers disable a', editOf({ action: 'disable', names: ['a'] })],
    ['install cursor', installOf({})],
    ['install Zed cursor zed --dry-run', installOf({ clients: ['zed', 'cursor'], isDryRun: true })],
    ['install --import --print --scope project cursor', installOf({ scope: 'project', isImport: true, isPrint: true })],
    ['install cursor --no-import --global', installOf({ isImport: false, isGlobal: true })],
    ['install cursor --command run-bridge', installOf({ startCommand: 'run-bridge' })],
    [
      'uninstall cursor --scope=user',
      { command: 'uninstall', clients: ['cursor'], scope: 'user', isDryRun: false, isJson: false },
    ],
    ['doctor', doctorOf({})],
    ['doctor --json', doctorOf({ isJson: true })],
    ['doctor --fix --no-servers', doctorOf({ isFix: true, isStartingServers: false })],
    ['help IMAGE_MISSING', topicOf('IMAGE_MISSING')],
    ['help configuration secrets', topicOf('configuration', 'secrets')],
    ['help policy', { ...topicOf('policy'), usage: expect.stringMatching(/^ {2}explain +\S/m) }],
    ['--version', { command: 'version' }],
    ['-v', { command: 'version' }],
    ['exec cell.py', execOf({ words: ['cell.py'] })],
    ['exec -', execOf({ words: ['-'] })],
    ['exec -c 1+1', execOf({ code: '1+1' })],
    ['exec --json -c x', execOf({ code: 'x', isJson: true })],
    [
      'exec --tool total a=1 b=@x --json-args {} --server s',
      execOf({ tool: 'total', words: ['a=1', 'b=@x'], jsonArguments: '{}', servers: ['s'] }),
    ],
    ['exec --resume r -c x', execOf({ code: 'x', resume: 'r' })],
    ['tools', toolsOf({ action: 'list' })],
    ['tools --json', toolsOf({ action: 'list', isJson: true })],
    ['tools show f --version 3', toolsOf({ action: 'show', name: 'f', version: 3 })],
    ['tools diff f 1 2', toolsOf({ action: 'diff', name: 'f', from: 1, to: 2 })],
    ['tools approve f g -y', toolsOf({ action: 'approve', names: ['f', 'g'], isSure: true })],
    ['tools export --to -', toolsOf({ action: 'export', names: [], path: '-', isForced: false })],
    ['tools import x --force', toolsOf({ action: 'import', path: 'x', isForced: true, isSure: false })],
    ['exec --replay x', execOf({ replay: 'x' })],
    ['exec --dry-run -c x', execOf({ code: 'x', isDryRun: true })],
    ['exec -c -1', execOf({ code: '-1' })],
    ['exec --code=-1', execOf({ code: '-1' })],
    ['exec -- -odd.py', execOf({ words: ['-odd.py'] })],
    [
      'exec --server a --server=b --session work --timeout 7 -c x',
      execOf({ code: 'x', servers: ['a', 'b'], session: 'work', timeoutSeconds: 7 }),
    ],
  ])('%j', async (line, expected) => {
    expect(await parseCommandLine(line === '' ? [] : line.split(' '))).toEqual(expected);
  });
});

describe('--json', () => {
  /** Commands that print only text, or serve. */
  const WITHOUT = ['serve', 'ui', 'completion', 'complete', 'help'];

  function leavesOf(command: Command, path: readonly string[] = []): [string, Command][] {
    return command.commands.length === 0
      ? [[path.join(' '), command]]
      : command.commands.flatMap((further) => leavesOf(further, [...path, further.name()]));
  }

  const leaves = leavesOf(createProgram({ settle: () => undefined, show: () => undefined }));
  test.each(leaves.filter(([name]) => !WITHOUT.includes(name)))('%s has it', (_name, command) => {
    expect(command.options.map(({ long }) => long)).toContain('--json');
  });

  test('is checked for a number of commands', () => {
    expect(leaves.length).toBeGreaterThan(25);
  });
});

describe('help', () => {
  test.each([
    ['help', 'Usage: mcp-server-code-execution-mode [options] [command]'],
    ['--help', 'Usage: mcp-server-code-execution-mode [options] [command]'],
    ['-h', 'Usage: mcp-server-code-execution-mode [options] [command]'],
    ['run -h', 'Usage: mcp-server-code-execution-mode serve|run [options]'],
    ['help servers list', 'Usage: mcp-server-code-execution-mode servers list [options]'],
    ['help exec', 'Usage: mcp-server-code-execution-mode exec [options] [file...]'],
    ['help policy show', 'Usage: mcp-server-code-execution-mode policy show [options]'],
    ['servers --help', 'Usage: mcp-server-code-execution-mode servers [options] [command]'],
    ['servers list --help', 'Usage: mcp-server-code-execution-mode servers list [options]'],
    ['install --help', 'Usage: mcp-server-code-execution-mode install [options] <client...>'],
  ])('%j', async (line, usage) => {
    const understood = await parseCommandLine(line.split(' '));
    expect(understood).toEqual({ command: 'help', text: expect.stringContaining(`${usage}\n`) });
  });

  test('lists every command except the hidden one for shells', async () => {
    const text = JSON.stringify(await parseCommandLine(['help']));
    expect(text).toMatch(/serve.*exec.*servers.*install.*uninstall.*doctor.*completion/s);
    expect(text).not.toMatch(/ complete (?!our)/);
  });
});

describe('an invalid command line', () => {
  test.each([
    ['exce x', "unknown command 'exce'. Did you mean 'exec'?"],
    ['--verison', "unknown option '--verison'. Did you mean '--version'?"],
    ['run -x', "unknown option '-x'"],
    ['run more', "too many arguments for 'serve'. Expected 0 arguments but got 1."],
    ['serve --http example.com:80', "--http is 'example.com:80'; it must be an IP address with a port"],
    ['serve --http --drain 2h', "--drain is '2h'; it must be a duration of at most 1h, such as 20s."],
    ['tokens add ../x', expect.stringContaining("<name> is '../x'; it must be 1 to 64 lower-case letters")],
    [
      'tokens add x --expires never',
      "--expires is 'never'; it must be a duration of at most 3650d, such as 12h or 30d.",
    ],
    ['tokens add x --max-sessions 1001', "--max-sessions is '1001'; it must be a whole number from 1 to 1000."],
    ['install', 'no client was given'],
    [
      'install cursr',
      expect.stringMatching(/^'cursr' is not a known client; known clients: claude-code, .* Did you mean 'cursor'\?$/),
    ],
    [
      'install zed --scope all',
      expect.stringMatching(/'--scope <scope>' argument 'all' is invalid. .* user, project\.$/),
    ],
    ['uninstall zed --import', "unknown option '--import'"],
    ['servers serach', "unknown command 'serach'. Did you mean 'search'?"],
    ['history show default/1/3 --cell default/1/3', 'a cell was given twice'],
    ['config set memory 2 g', 'the value has 2 words: 2 g'],
    ['servers list x', "too many arguments for 'list'. Expected 0 arguments but got 1."],
    ['servers show', "missing required argument 'server'"],
    ['servers tools a b', "too many arguments for 'tools'. Expected 1 argument but got 2."],
    ['policy check', 'policy check needs exactly one of a file, - (standard input), --code and --package'],
    ['policy explain x.y --args [1]', `--args is '[1]'; it must be a JSON object, such as {"path": "/tmp/x"}.`],
    ['servers search', "missing required argument 'words'"],
    ['servers search x --limit 0', "--limit is '0'; it must be a whole number from 1 to 1000."],
    ['audit search --status foo', expect.stringMatching(/'foo' is invalid. .* success, error, timeout, .* failed\.$/)],
    ['exec', 'exec needs exactly one of a file, - (standard input), --code and --tool'],
    ['exec a.py b.py', 'exec needs exactly one of a file, - (standard input), --code and --tool'],
    ['exec -c x a.py', 'exec needs exactly one of a file, - (standard input), --code and --tool'],
    ['exec --resume x --dry-run -c x', '--resume cannot be combined with --dry-run or --replay'],
    ['tools show f --version 0', "--version is '0'; it must be the number of a version."],
    ['tools show', "missing required argument 'function'"],
    ['exec --replay x --dry-run', '--dry-run cannot be combined with --replay, which sends no call at all'],
    ['exec --replay x --session y', '--server, --session and --timeout need code; recorded cells have their own'],
    ['exec -c', "option '-c, --code <code>' argument missing"],
    ['exec --timeout 1.5 -c x', "--timeout is '1.5'; it must be a whole number of seconds."],
    ['exec --sever a -c x', "unknown option '--sever'. Did you mean '--server'?"],
    ['exec --__proto__ -c x', "unknown option '--__proto__'"],
    ['help sessions lst', "unknown command 'sessions lst'"],
    ['completion ksh', expect.stringContaining('bash, zsh, fish, powershell')],
  ])('%j', async (line, message) => {
    await expect(parseCommandLine(line.split(' '))).rejects.toMatchObject({ code: 'USAGE_INVALID', message });
  });
});

// Some hints left out what to type before them.
test.each([
  ['exce', 'For usage, run: mcp-server-code-execution-mode --help'],
  ['servers list x', 'For usage, run: mcp-server-code-execution-mode servers list --help'],
  ['audit tail --lines x', 'For usage, run: mcp-server-code-execution-mode audit tail --help'],
  ['install cursr', 'For usage, run: mcp-server-code-execution-mode install --help'],
  [
    'config set memory 2 g',
    'Write it as one word: mcp-server-code-execution-mode config set memory 2g; or quote it, if it has spaces.',
  ],
])('the hint of %j is a command: %s', async (line, hint) => {
  await expect(parseCommandLine(line.split(' '))).rejects.toMatchObject({ code: 'USAGE_INVALID', hint });
});

describe('one family of commands looks back', () => {
  test.each([
    ['history', 'audit'],
    ['history search x --failed', 'audit search x --failed'],
    ['history tail -f', 'audit tail -f'],
    // It had too many arguments.
    ['history show 15f2cd9a-5f1e/default/1/3', 'history show --cell 15f2cd9a-5f1e/default/1/3'],
    ['history report --json', 'report --json'],
    ['history recording a.jsonl', 'record show a.jsonl'],
    ['history recording', 'record'],
    ['sessions top --once', 'top --once'],
  ])('%s, and its former name %s', async (line, former) => {
    const parse = async (words: string) =>
      parseCommandLine(words.replace(' --failed', ' --status failed').split(' ')).then((parsed) => ({
        ...parsed,
        sinceMs: undefined,
        ...('id' in parsed && { id: undefined, cell: parsed.cell ?? parsed.id }),
      }));
    expect(await parse(former)).toEqual(await parse(line));
  });

  test('is all that the help lists', async () => {
    const { text = '' } = (await parseCommandLine(['--help'])) as { readonly text?: string };
    expect(text).toMatch(/^ {2}history {2,}show what agents have done/m);
    expect(text).not.toMatch(/^ {2}(?:audit|report|record|top)\b/m);
  });
});
