/** What the commands that change server files do with files and entries that are no such thing. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { renderError, toBridgeError } from '../../../src/base/errors.ts';
import { parseCommandLine } from '../../../src/cli/command-line.ts';
import { editServers } from '../../../src/manage-servers/edit.ts';
import { loadSettings } from '../../../src/settings/settings.ts';

let stateDir = '';
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'edited-files-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
});
const fileOf = (name = 'servers.json'): string => join(stateDir, name);

/** Runs the command as typed, after `servers`; an error is its text. */
async function run(argv: readonly string[], input = ''): Promise<string> {
  let out = '';
  try {
    const command = await parseCommandLine(['servers', ...argv]);
    if (command.command !== 'edit-servers') {
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

describe('what cannot be read or written', () => {
  // The stack overflowed, and the command ended with an internal error.
  it('refuses an entry that is nested too deeply, and a change of a file that is', async () => {
    const deep = '['.repeat(5000) + ']'.repeat(5000);
    const reason = 'nested too deeply';
    expect(await run(['add', 'a', '--json-entry', '-'], `{"command": "a", "x": ${deep}}`)).toContain(reason);
    const text = `{"mcpServers": {"a": {"command": "a"}}, "x": ${deep}}`;
    writeFileSync(fileOf(), text);
    expect(await run(['disable', 'a'])).toMatch(/^CONFIG_INVALID: .*nested too deeply/);
    expect(readFileSync(fileOf(), 'utf8')).toBe(text);
  });

  // All of it was kept in memory, up to an internal error at 512 MB.
  it('reads no more of standard input than a server file may have', async () => {
    expect(await run(['add', 'a', '--json-entry', '-'], ' '.repeat(5 * 1024 * 1024))).toMatch(
      /^USAGE_INVALID: --json-entry has more than 4194304 bytes/,
    );
  });

  // Discovery passes over both; the command waited for the pipe without end, and read the device until it had no memory.
  it.skipIf(process.platform === 'win32')('neither waits for a pipe nor reads a device', async () => {
    execFileSync('mkfifo', [fileOf('pipe.json')]);
    symlinkSync('/dev/zero', fileOf('zero.json'));
    expect(await run(['add', 'a', '--', 'a'])).toContain("Added server 'a'");
    expect(await run(['remove', 'b'])).toContain('SERVER_UNKNOWN');
  });

  it('says what a file must be that cannot be read', async () => {
    writeFileSync(fileOf(), Buffer.from([0xff, 0xfe]));
    expect(await run(['add', 'a', '--', 'a'])).toBe(
      `CONFIG_INVALID: ${fileOf()} is not text in UTF-8; nothing was changed\n` +
        'Hint: It must be a file in UTF-8 that you may read and write: correct that, then run this again.',
    );
  });

  // The next step that was shown, `servers test '-x'`, was refused as an unknown option.
  it('refuses a name that would be taken for an option', async () => {
    expect(await run(['add', '--', '-x', 'a'])).toBe(
      "USAGE_INVALID: the name '-x' begins with -, as options do\nHint: Choose another name.",
    );
  });
});
