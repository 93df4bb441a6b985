// Tags: full, bubblewrap
/**
 * Names of tools and output of cells as commands: for the shell that completes them, and for the terminal that shows them.
 * Shells: the built command, completed in the real, interactive shell, in a folder where any file that appears was made by
 * a tool's name.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isLongRun } from '../support/attacks.ts';
import { CLI, fixtureServer } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { hasLocalPython } from '../support/local-python.ts';
import { runOnTerminal } from '../support/terminal.ts';

const COMMAND = 'mcp-server-code-execution-mode';
const PROMPT = 'READY> ';
const ESCAPE = '\u001B';

let folder: string;
let env: Record<string, string>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'attack-terminal-'));
  const [bin, home] = [join(folder, 'bin'), join(folder, 'home')];
  mkdirSync(bin);
  mkdirSync(join(home, 'MCPs'), { recursive: true });
  const mcpServers = { evil: fixtureServer('hostile-tools.mjs', 'shells') };
  writeFileSync(join(home, 'MCPs', 'servers.json'), JSON.stringify({ mcpServers }));
  // Completes as the built command does; any other command only records its words.
  const program = `#!/bin/sh
case "$1" in
  complete | completion) exec '${process.execPath}' '${CLI}' "$@" ;;
esac
(IFS='|'; printf '%s\\n' "$*") >> '${folder}/words'
`;
  writeFileSync(join(bin, COMMAND), program);
  chmodSync(join(bin, COMMAND), 0o755);
  env = { HOME: home, PATH: [bin, process.env['PATH']].join(delimiter), TERM: 'dumb', LC_ALL: 'C.UTF-8' };
  // The tools of a server are completed once they are known.
  execFileSync(process.execPath, [CLI, 'servers', 'refresh', 'evil'], { env, stdio: 'ignore' });
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Shell {
  readonly name: string;
  /** Starts it with the commands of the file, instead of the user's own files. */
  readonly argv: (setUp: string) => readonly string[];
  readonly setUp: readonly string[];
}

const PROMPTS = `PS1='${PROMPT}'; PS2="$PS1"`;

const SHELLS: readonly Shell[] = [
  {
    name: 'bash',
    argv: (setUp) => ['bash', '--rcfile', setUp, '-i'],
    setUp: [PROMPTS, `eval "$(${COMMAND} completion bash)"`],
  },
  {
    name: 'zsh',
    argv: () => ['zsh', '--no-global-rcs', '-i'],
    setUp: [PROMPTS, 'autoload -U compinit; compinit -u -D', `eval "$(${COMMAND} completion zsh)"`],
  },
  {
    name: 'fish',
    argv: (setUp) => ['fish', '--no-config', '-C', `source ${setUp}`, '-i'],
    setUp: [`function fish_prompt; echo -n '${PROMPT}'; end`, `${COMMAND} completion fish | source`],
  },
];

/** What a person has typed when they ask for the rest; one for each name of the server, most of which cannot be offered. */
const STARTS = isLongRun ? 'a,b,c,d,e,f,g,k,l,m,n,\',",--y,'.split(',') : ['a', 'b', 'f', "'", ''];

const hasTerminals = hasLocalPython();
const engines = await coverEngines();

describe.each(SHELLS)('completion in $name', ({ argv, name, setUp }) => {
  const isHere = hasTerminals && (process.env['PATH'] ?? '').split(delimiter).some((path) => isFile(join(path, name)));
  const notCovered = isHere ? '' : `not covered: needs ${name} and python3: `;

  /** Completes `servers call evil START` for each start, and runs what then stands there. */
  async function complete(starts: readonly string[]): Promise<{ words: string; files: string[]; terminal: string }> {
    const cwd = mkdtempSync(join(folder, 'cwd-'));
    const words = join(folder, 'words');
    rmSync(words, { force: true });
    // The name under which zsh looks for it.
    const file = join(folder, '.zshrc');
    writeFileSync(file, [...setUp, `cd '${cwd}'`, ''].join('\n'));
    const lines = starts.map((start) => `${COMMAND} servers call evil ${start}\t${/['"]/.exec(start)?.[0] ?? ''}`);
    const { terminal } = await runOnTerminal(argv(file), {
      env: { ...env, ZDOTDIR: folder },
      types: [...lines, 'exit'].map((line) => [PROMPT, `${line}\n`]),
    });
    return { words: isFile(words) ? readFileSync(words, 'utf8') : '', files: readdirSync(cwd), terminal };
  }

  it.skipIf(!isHere)(`${notCovered}runs no name of a tool`, async () => {
    const { files, terminal } = await complete(STARTS);
    expect(files.length > 0 ? { files, terminal } : {}).toEqual({});
    expect(terminal).not.toContain(`${ESCAPE}]0;title`);
  });

  it.skipIf(!isHere)(`${notCovered}passes a name with blanks and wildcards as one word`, async () => {
    const { words } = await complete(['tw', 'pl']);
    expect(words).toBe('servers|call|evil|two words $HOME *\nservers|call|evil|plain-name\n');
  });
});

describe('at a terminal', () => {
  const [engine] = engines;
  // The same on all engines.
  const isHere = hasTerminals && engine !== undefined;
  const notCovered = isHere ? '' : 'not covered: needs an engine and python3: ';
  const CODE = `import sys
print("out\\x1b]0;title\\x07\\x9b2J\\u202e\\x00over")
print("err\\x1b[2J", file=sys.stderr)
type("V", (), {"__repr__": lambda self: "value\\x1b[8m\\x9bm"})()`;
  const FAILS = 'raise ValueError("no\\x1b[2J\\x9b2J")';
  const exec = (...words: string[]) =>
    runOnTerminal([process.execPath, CLI, 'exec', ...words], {
      env: { ...env, ...engine?.env, HOME: env['HOME'] ?? '', TERM: 'dumb' },
    });

  it.skipIf(!isHere)(`${notCovered}exec escapes what the cell wrote`, async () => {
    const { terminal } = await exec('-c', CODE);
    // What output says to a terminal has been applied or left out before; a repr is passed on as it is.
    expect(terminal).toContain('out\\x202e\\x00over');
    expect(terminal).toMatch(/^err\r?$/m);
    expect(terminal).toContain('value\\x1b[8m');
    for (const { terminal: shown } of [{ terminal }, await exec('-c', FAILS), await exec('--json', '-c', CODE)]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
      expect(shown).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202e]/);
    }
  });
});

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
