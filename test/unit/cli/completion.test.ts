import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { parseCommandLine } from '../../../src/app/cli/command-line.ts';
import { candidatesFor, isOffered, quoteCandidates } from '../../../src/app/cli/completion.ts';
import { createProgram } from '../../../src/app/cli/program.ts';

const program = createProgram({ settle: () => undefined, show: () => undefined });
const complete = (line: string) =>
  candidatesFor(program, line.split(' '), {
    servers: ['git-hub', 'files'],
    disabledServers: ['off'],
    examples: ['everything'],
    packages: ['numpy', 'pandas'],
    snippets: ['hello', 'report'],
    languages: ['go', 'javascript'],
    functions: ['total'],
    toolsOf: (server) => [`tool-of-${server}`],
  });

test.each([
  ['ser', ['serve', 'servers']],
  ['serve --al', ['--allow-host']],
  ['servers s', ['show', 'search']],
  ['servers show ', ['git-hub', 'files']],
  ['servers show g', ['git-hub']],
  ['servers show files ', []],
  ['servers refresh files g', ['git-hub']],
  ['servers remove ', ['git-hub', 'files', 'off']],
  ['servers disable files ', ['git-hub', 'files']],
  ['servers enable ', ['off']],
  ['servers add --example e', ['everything']],
  ['servers add name --exam', ['--example']],
  ['servers list --j', ['--json']],
  ['servers call f', ['files']],
  ['servers call files t', ['tool-of-files']],
  ['servers call files tool ', []],
  ['servers approve files a-tool ', ['tool-of-files']],
  ['exec --server f', ['files']],
  ['packages l', ['list', 'lock']],
  ['packages show p', ['pandas']],
  ['packages remove pandas n', ['numpy']],
  ['packages add p', []],
  ['sn', ['snippets']],
  ['snippets r', ['rm']],
  ['snippets show h', ['hello']],
  ['snippets rm hello r', ['report']],
  ['snippets add h', []],
  ['snippets add name --language g', ['go']],
  ['import --d', ['--dry-run']],
  ['tools show t', ['total']],
  ['tools rm total t', ['total']],
  ['exec --tool t', ['total']],
  ['exec --ser', ['--server']],
  ['install cur', ['cursor']],
  ['install cursor ze', ['zed']],
  ['install --scope ', ['user', 'project']],
  ['install --scope user cur', ['cursor']],
  ['completion f', ['fish']],
  ['no such thing', []],
  ['help confi', ['config', 'configuration']],
  ['help doc', ['doctor']],
  ['help LIMIT_A', ['LIMIT_ARTIFACT']],
  ['help MCP_BRIDGE_PU', ['MCP_BRIDGE_PULL']],
  ['help servers sho', ['show']],
  ['help servers sec', ['secrets']],
  ['help policy e', ['explain']],
  ['help servers secrets ', []],
])('%j', (line, expected) => {
  expect(complete(line)).toEqual(expected);
});

test('the first word can be any command except the hidden one for shells', () => {
  const words = complete('');
  expect(words).toEqual(
    expect.arrayContaining(['serve', 'exec', 'servers', 'install', 'uninstall', 'doctor', 'completion']),
  );
  expect(words).not.toContain('complete');
});

test('help offers commands and topics first, without duplicates', () => {
  const words = complete('help ');
  expect(words).toEqual(expect.arrayContaining(['servers', 'policy', 'security']));
  expect(words.filter((word, index) => words.indexOf(word) !== index || /[A-Z]/.test(word))).toEqual([]);
});

test('the bash script completes any words', async () => {
  const line = await parseCommandLine(['completion', 'bash']);
  const script = line.command === 'completion' ? line.script : '';
  // A stand-in for the command prints its arguments.
  const shell = `mcp-server-code-execution-mode() { shift 4; printf 'one two\\n*\\n'; IFS='|'; printf 'asked:%s\\n' "$*"; }
${script}
COMP_WORDS=(mcp-server-code-execution-mode servers 'show' 'a b'); COMP_CWORD=3
_mcp_bridge; printf '%s\\n' "\${COMPREPLY[@]}"`;
  expect(execFileSync('bash', ['-c', shell], { encoding: 'utf8' })).toBe('one two\n*\nasked:servers|show|a b\n');
});

test.each([
  ['a name', true],
  ['a;b', true],
  ['naïve', true],
  ['', false],
  ['-rf', false],
  ['--yes', false],
  ["it's", false],
  ['a"b', false],
  ['a`b`', false],
  ['a\\', false],
  ['a\nb', false],
  ['a\tb', false],
  ['\u001b[2J', false],
  ['txt\u202eexe', false],
  ['\u2019;calc;\u2019', false],
  ['a\u00a0b', false],
])('a name %j is offered: %j', (name, expected) => {
  expect(isOffered(name)).toBe(expected);
});

test.each([
  ['bash', ['plain-name_1', 'a:b/c@d', 'two\\ words', 'a\\;b', '\\$\\(touch\\ x\\)', '\\~', '\\*']],
  ['powershell', ['plain-name_1', 'a:b/c@d', "'two words'", "'a;b'", "'$(touch x)'", "'~'", "'*'"]],
  // They quote what they insert.
  ['zsh', ['plain-name_1', 'a:b/c@d', 'two words', 'a;b', '$(touch x)', '~', '*']],
  ['fish', ['plain-name_1', 'a:b/c@d', 'two words', 'a;b', '$(touch x)', '~', '*']],
  // A script that was saved by an earlier version inserts everything as it is.
  [undefined, ['plain-name_1', 'a:b/c@d']],
] as const)('names are quoted for %s', (shell, expected) => {
  const names = ['plain-name_1', 'a:b/c@d', 'two words', 'a;b', '$(touch x)', '~', '*'];
  expect(names.every(isOffered)).toBe(true);
  expect(quoteCandidates(names, shell)).toEqual(expected);
});

test.each(['bash', 'zsh', 'fish', 'powershell'])('the script for %s asks for words quoted for it', async (shell) => {
  const line = await parseCommandLine(['completion', shell]);
  expect(line.command === 'completion' && line.script).toContain(` complete --shell ${shell} -- `);
  expect(await parseCommandLine(['complete', '--shell', shell, '--', 'servers', '--x'])).toEqual({
    command: 'complete',
    shell,
    words: ['servers', '--x'],
  });
});
