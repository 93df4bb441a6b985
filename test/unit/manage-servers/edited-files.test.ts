/** How the commands that change server files handle hostile files and entries. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { parseCommandLine } from '../../../src/app/cli/command-line.ts';
import { editServers } from '../../../src/app/manage-servers/edit.ts';
import { renderError, toBridgeError } from '../../../src/core/base/errors.ts';
import { loadSettings } from '../../../src/edges/settings/settings.ts';

let stateDir = '';
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'edited-files-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
});
const fileOf = (name = 'servers.json'): string => join(stateDir, name);

/** Runs `servers` with these arguments. Returns the output, or the rendered error. */
async function run(argv: readonly string[], input = ''): Promise<string> {
  let out = '';
  try {
    const command = await parseCommandLine(['servers', ...argv]);
    if (command.command !== 'servers' || !('isDryRun' in command)) {
      return `another command: ${command.command}`;
    }
    await editServers(command, {
      settings: loadSettings({ MCP_BRIDGE_STATE_DIR: stateDir }),
      input: Readable.from([input]),
      writeOut: (text) => (out += text),
    });
    return out;
  } catch (error) {
    return renderError(toBridgeError(error));
  }
}

describe('a command that edits server files', () => {
  // The stack used to overflow, and the command failed with an internal error.
  it('refuses an entry, or a change in a file, that is nested too deeply', async () => {
    const deep = '['.repeat(5000) + ']'.repeat(5000);
    const reason = 'nested too deeply';
    expect(await run(['add', 'a', '--json-entry', '-'], `{"command": "a", "x": ${deep}}`)).toContain(reason);
    const text = `{"mcpServers": {"a": {"command": "a"}}, "x": ${deep}}`;
    writeFileSync(fileOf(), text);
    expect(await run(['disable', 'a'])).toMatch(/^CONFIG_INVALID: .*nested too deeply/);
    expect(readFileSync(fileOf(), 'utf8')).toBe(text);
  });

  // It used to buffer all input, until an internal error at 512 MB.
  it('reads no more of standard input than the size limit of a server file', async () => {
    expect(await run(['add', 'a', '--json-entry', '-'], ' '.repeat(5 * 1024 * 1024))).toMatch(
      /^USAGE_INVALID: --json-entry has more than 4194304 bytes/,
    );
  });

  // Discovery skips both. The command used to wait for the pipe forever, and read the device until it ran out of memory.
  it.skipIf(process.platform === 'win32')('neither waits for a pipe nor reads a device', async () => {
    execFileSync('mkfifo', [fileOf('pipe.json')]);
    symlinkSync('/dev/zero', fileOf('zero.json'));
    expect(await run(['add', 'a', '--', 'a'])).toContain("Added server 'a'");
    expect(await run(['remove', 'b'])).toContain('SERVER_UNKNOWN');
  });

  it('explains what is wrong with an unreadable file', async () => {
    writeFileSync(fileOf(), Buffer.from([0xff, 0xfe]));
    expect(await run(['add', 'a', '--', 'a'])).toBe(
      `CONFIG_INVALID: ${fileOf()} is not text in UTF-8 (line 1); nothing was changed\n` +
        'Hint: The file must be UTF-8, and you must be able to read and write it. Fix that, then run this again.',
    );
  });

  // The suggested next step, `servers test '-x'`, used to fail with an unknown option.
  it('refuses a name that looks like an option', async () => {
    expect(await run(['add', '--', '-x', 'a'])).toBe(
      "USAGE_INVALID: the name '-x' begins with -, like an option\nHint: Choose another name.",
    );
  });
});
