// Tags: full, fresh
/**
 * Attacks by a folder that the user has cloned or unpacked, and in which they run the commands for client files: names and comments
 * that control the terminal, and pipes and links to devices in the places of files.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ProgramEnd, runProgram } from '../support/attacks.ts';
import { CLI } from '../support/bridge-client.ts';
import { hasLocalPython } from '../support/local-python.ts';
import { runOnTerminal } from '../support/terminal.ts';

const ESCAPE = '\u001B';
/** Far more than a command takes, and less than the test may take. */
const TIME_LIMIT_MS = 20_000;

let folder: string;
let project: string;
let env: Record<string, string>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'attack-projects-'));
  project = join(folder, `project${ESCAPE}[2J`);
  mkdirSync(project);
  mkdirSync(join(folder, 'home'));
  env = { PATH: process.env['PATH'] ?? '', HOME: join(folder, 'home'), TERM: 'dumb' };
});
afterEach(() => rmSync(folder, { recursive: true }));

const PROJECT = ['claude-code', '--scope', 'project'];

/** Runs the built command in the project, by another program if one is given. */
function run(words: readonly string[], by: readonly string[] = []): Promise<ProgramEnd> {
  return runProgram([...by, process.execPath, CLI, ...words], { cwd: project, env, timeout: TIME_LIMIT_MS });
}

/** Names with control characters stay in the file, so a note names them; one with a line break could imitate a line of the bridge. */
const HOSTILE_FILE = `{
  // ${ESCAPE}]0;title\u0007${ESCAPE}[2J\u009b2J\u202e
  "mcpServers": {
    "clears\\u001b[2J": { "command": "x" },
    "line\\nWrote /etc/passwd": { "command": "x" },
    "plain": { "command": "./\\u001b[2J" }
  }
}`;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e]/;

describe('the file of a project', () => {
  it('controls no terminal by its names and comments', async () => {
    writeFileSync(join(project, '.mcp.json'), HOSTILE_FILE);
    for (const words of [
      ['install', ...PROJECT, '--dry-run', '--import'],
      ['install', ...PROJECT, '--dry-run', '--import', '--json'],
      ['install', ...PROJECT, '--print'],
      ['install', ...PROJECT, '--import'],
      ['install', ...PROJECT],
      ['uninstall', ...PROJECT],
    ]) {
      const { shown } = await run(words);
      expect(shown).not.toBe('');
      expect(shown).not.toMatch(CONTROLS);
      expect(shown).not.toMatch(/^Wrote \/etc/m);
    }
  });

  it.skipIf(!hasLocalPython())('controls none in a question either', async () => {
    writeFileSync(join(project, '.mcp.json'), HOSTILE_FILE.replace(/"plain".*/, '"plain": { "command": "node" }'));
    const script = 'cd "$1" && shift && exec "$@"';
    const words = ['sh', '-c', script, 'sh', project, process.execPath, CLI, 'install', ...PROJECT];
    const { terminal } = await runOnTerminal(words, { env, types: [['y or n', 'n\n']] });
    expect(terminal).toContain('plain');
    expect(terminal).not.toContain(`${ESCAPE}[2J`);
  });
});

describe('the folder of a project', () => {
  // A pipe among the backups blocked uninstall forever, and a link to /dev/zero filled 2 GiB of memory.
  it.each(['mkfifo', '/dev/zero', '/dev/tty'])(
    'cannot block a command by %s in the place of a backup',
    async (what) => {
      await run(['install', ...PROJECT]);
      const place = join(project, '.mcp.json.backup-9');
      what === 'mkfifo' ? execFileSync('mkfifo', [place]) : symlinkSync(what, place);
      expect(await run(['uninstall', ...PROJECT])).toEqual({
        isEnded: true,
        shown: expect.stringContaining('Removed') as unknown,
      });
    },
  );

  it('cannot do so by a pipe in the place of a package.json', async () => {
    mkdirSync(join(project, 'server/dist'), { recursive: true });
    writeFileSync(join(project, 'server/dist/cli.js'), '');
    execFileSync('mkfifo', [join(project, 'server/package.json')]);
    const mcpServers = { one: { command: 'server/dist/cli.js' } };
    writeFileSync(join(project, '.mcp.json'), JSON.stringify({ mcpServers }));
    expect(await run(['install', ...PROJECT])).toMatchObject({ isEnded: true });
  });

  it('does not cause an internal error when it is deleted', async () => {
    const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"';
    const inDeleted = async (...words: string[]) => (await run(words, ['sh', '-c', script, 'sh'])).shown;
    expect(await inDeleted('install', ...PROJECT)).toMatch(/^CONFIG_INVALID: the current folder has been deleted/);
    expect(await inDeleted('servers', 'add', 'one', '--', 'node')).toMatch(/^CONFIG_INVALID: the current folder/);
    expect(await inDeleted('servers', 'disable', 'none')).toMatch(/^SERVER_UNKNOWN/);
    expect(await inDeleted('install', 'claude-code')).toContain('Wrote ');
  });
});
