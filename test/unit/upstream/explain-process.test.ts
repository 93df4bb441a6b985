import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ProcessDefinition } from '../../../src/core/base/server-definition.ts';
import {
  explainDownload,
  explainSpawn,
  hintForOldSdk,
  hintForSpawn,
} from '../../../src/edges/upstream/explain-process.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bridge-explain-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The error of this system when it starts `command`. */
async function failureOf(command: string): Promise<unknown> {
  const [error] = await once(spawn(command, { env: { PATH: folder } }), 'error');
  return error;
}

function definition(command: string): ProcessDefinition {
  return {
    name: 'x',
    command,
    args: [],
    env: {},
    cwd: undefined,
    timeoutMs: undefined,
    definitionHash: '',
    file: '/f',
  };
}

describe.runIf(process.platform !== 'win32')('a program that cannot be started', () => {
  // A user whose PATH contained a folder of another user was told "chmod +x no-such-program".
  it('is reported as missing or not executable if it is looked up on PATH', async () => {
    writeFileSync(join(folder, 'tool'), '', { mode: 0o644 });
    const cause = await failureOf('tool');
    expect(cause).toMatchObject({ code: 'EACCES' });
    expect(explainSpawn(definition('tool'), cause)).toBe("no executable program 'tool' was found on PATH");
    expect(hintForSpawn(definition('tool'), cause)).toBe(
      'Check that the program is executable and that every folder on PATH can be read, or give a full path in /f.',
    );
  });

  it('is reported as not executable if its path is given', async () => {
    const tool = join(folder, 'tool');
    writeFileSync(tool, '', { mode: 0o644 });
    const cause = await failureOf(tool);
    expect(explainSpawn(definition(tool), cause)).toBe(`command '${tool}' may not be executed`);
    expect(hintForSpawn(definition(tool), cause)).toContain(`chmod +x ${tool}`);
  });

  it('is reported as not found if no folder on PATH has it', async () => {
    expect(explainSpawn(definition('tool'), await failureOf('tool'))).toBe("command 'tool' not found");
  });

  // It used to be told that the command or the folder was missing.
  it('is reported with its folder if that does not exist', async () => {
    const inFolder = { ...definition('tool'), cwd: join(folder, 'gone') };
    const cause = await failureOf('tool');
    expect(explainSpawn(inFolder, cause, false)).toBe(`its folder '${join(folder, 'gone')}' does not exist`);
    expect(hintForSpawn(inFolder, cause, false)).toBe('Create the folder, or correct "cwd" in /f.');
  });
});

describe('a program that downloads the server', () => {
  it.each(['npx', '/usr/bin/npx', 'C:\\node\\npx.cmd', 'uvx'])('%s may still be downloading', (command) => {
    expect(explainDownload(definition(command))).toMatch(/^(npx|uvx) may still be downloading the package, /);
  });

  it('is not any other program', () => {
    expect(explainDownload(definition('node'))).toBe('');
    expect(explainDownload(definition('/opt/npx/server'))).toBe('');
  });
});

describe('a Python server that needs an older SDK', () => {
  // The last lines of mcp-server-sqlite 2025.4.25 and office-powerpoint-mcp-server 2.0.7, started by uvx in November 2026.
  const ATTRIBUTE = "    @server.list_resources()\nAttributeError: 'Server' object has no attribute 'list_resources'";
  const MODULE =
    "ModuleNotFoundError: No module named 'mcp.server.fastmcp'. This is mcp 2.x, where FastMCP was renamed";
  it.each([
    ['uvx', ['mcp-server-sqlite'], 'Add "--with", "mcp<2" to the beginning of "args" of \'x\' in /f.'],
    ['pipx', ['run', 'mcp-server-sqlite'], 'Add "--with", "mcp<2" before the package in "args" of \'x\' in /f.'],
    ['/venv/bin/server', [], 'Install "mcp<2" where the server is installed.'],
  ])('%s is told how to get it', (command, args, step) => {
    for (const stderr of [ATTRIBUTE, MODULE]) {
      expect(hintForOldSdk({ ...definition(command), args }, stderr)).toBe(
        `The server was written for version 1 of the MCP SDK for Python, and version 2 is installed. ${step}`,
      );
    }
  });

  it('is not any other failure', () => {
    expect(hintForOldSdk(definition('uvx'), "AttributeError: 'Settings' object has no attribute 'x'")).toBeUndefined();
  });
});
