import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bridgeDepth } from '../../../src/core/base/bridge-depth.ts';
import { BridgeError } from '../../../src/core/base/errors.ts';
import { findSelfReference, refuseNestedBridge } from '../../../src/edges/servers/self.ts';

function reason(command: string, args: string[] = [], name = 'x', path = ''): string | undefined {
  return findSelfReference({ name, command, args }, { PATH: path });
}

describe('entries that start this bridge', () => {
  it.each<[string, ...string[]]>([
    ['mcp-server-code-execution-mode'],
    ['/usr/local/bin/mcp-server-code-execution-mode', 'run'],
    ['./mcp-server-code-execution-mode'],
    ['C:\\tools\\mcp-server-code-execution-mode.cmd'],
    ['npx', '-y', 'mcp-server-code-execution-mode'],
    ['npx', '-y', 'mcp-server-code-execution-mode@latest', 'run'],
    ['npx', '--package=mcp-server-code-execution-mode', 'bridge'],
    ['npx', '-p', 'mcp-server-code-execution-mode@1.2.3', 'bridge'],
    ['npm', 'exec', '--', 'mcp-server-code-execution-mode'],
    ['pnpm', 'dlx', 'mcp-server-code-execution-mode'],
    ['yarn', 'dlx', 'mcp-server-code-execution-mode'],
    ['bunx', 'mcp-server-code-execution-mode'],
    ['bun', 'x', 'mcp-server-code-execution-mode'],
    ['deno', 'run', '-A', 'npm:mcp-server-code-execution-mode'],
    ['uvx', 'mcp-server-code-execution-mode', 'run'],
    ['uvx', '--from', 'git+https://github.com/someone/mcp-server-code-execution-mode', 'server'],
    ['uvx', '--from', 'git+https://github.com/someone/mcp-server-code-execution-mode.git@v2', 'server'],
    ['uv', 'tool', 'run', 'mcp-server-code-execution-mode'],
    ['pipx', 'run', '--spec', 'mcp-server-code-execution-mode>=1', 'server'],
    ['python3', '-m', 'mcp_server_code_execution_mode'],
    ['python', '/opt/mcp_server_code_execution_mode.py'],
    ['node', '/opt/node_modules/mcp-server-code-execution-mode/dist/cli.js'],
    ['/home/me/.npm/_npx/0123456789abcdef/node_modules/.bin/mcp-server-code-execution-mode'],
    ['node', '/home/me/.npm/_npx/0123456789abcdef/node_modules/mcp-server-code-execution-mode/dist/cli.js'],
    ['node', '--enable-source-maps', '/opt/mcp-server-code-execution-mode/dist/cli.js'],
    ['env', 'A=1', 'npx', 'mcp-server-code-execution-mode'],
    ['sh', '-c', 'cd /tmp && exec npx -y mcp-server-code-execution-mode@latest'],
    ['cmd', '/c', 'npx', '-y', 'mcp-server-code-execution-mode'],
    ['docker', 'run', '-i', '--rm', 'ghcr.io/someone/mcp-server-code-execution-mode:latest'],
  ])('%s %s %s %s', (command, ...args) => {
    expect(reason(command, args)).toBeDefined();
  });

  it('recognizes its own name', () => {
    expect(reason('run', [], 'mcp-server-code-execution-mode')).toBe('its name is that of this bridge');
  });

  it('recognizes the command of a checkout in a folder of any name, even through a link', () => {
    const folder = mkdtempSync(join(tmpdir(), 'checkout-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, 'dist'));
    const cli = join(folder, 'dist', 'cli.js');
    writeFileSync(cli, '// built\n');
    writeFileSync(join(folder, 'package.json'), '{"name": "something-else"}');
    expect(reason('/usr/bin/node', [cli])).toBeUndefined();
    writeFileSync(join(folder, 'package.json'), '{"name": "mcp-server-code-execution-mode"}');
    expect(reason('/usr/bin/node', [cli])).toBe('its program is a file of this bridge');
    expect(reason('files', [cli])).toBeUndefined();
    symlinkSync(folder, join(folder, 'link'));
    expect(reason('node', [join(folder, 'link', 'dist', 'cli.js')])).toBeDefined();
    // Links with other names were not recognized.
    symlinkSync(cli, join(folder, 'shortcut'));
    expect(reason(join(folder, 'shortcut'))).toBeDefined();
    expect(reason('shortcut', [], 'x', folder)).toBeDefined();
    expect(reason('node', [join(folder, 'shortcut')])).toBeDefined();
    expect(reason('node', ['--import', './hooks.mjs', '--env-file', '.env', cli])).toBeDefined();
    // A test server in the checkout is an ordinary server.
    writeFileSync(join(folder, 'server.mjs'), '');
    expect(reason('node', [join(folder, 'server.mjs')])).toBeUndefined();
  });

  it.each<[string, ...string[]]>([
    ['npx', '-y', '@modelcontextprotocol/server-filesystem', '/home/me/mcp-server-code-execution-mode'],
    ['mcp-server-git', '--repository', '/home/me/mcp-server-code-execution-mode'],
    ['npx', '-y', 'mcp-server-code-execution-mode-viewer'],
    ['npx', '-y', 'my-mcp-server-code-execution-mode'],
    ['node', '/opt/other/dist/cli.js', '/data/mcp-server-code-execution-mode'],
    // A clone made as in README.md is in a folder with this name.
    ['node', '/home/me/mcp-server-code-execution-mode/node_modules/@modelcontextprotocol/server-memory/dist/index.js'],
    ['node', 'C:\\src\\mcp-server-code-execution-mode\\test\\servers\\echo.js'],
    ['./mcp-server-code-execution-mode/servers/files'],
    ['uvx', 'mcp-server-fetch'],
  ])('allows other servers: %s %s %s %s', (command, ...args) => {
    expect(reason(command, args)).toBeUndefined();
  });
});

describe('wrapper scripts', () => {
  function script(content: string): { path: string; folder: string } {
    const folder = mkdtempSync(join(tmpdir(), 'self-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, 'bridge');
    writeFileSync(path, content);
    chmodSync(path, 0o755);
    return { path, folder };
  }

  it('reads a script given by path, by name on PATH, or as an argument of a shell', () => {
    const { path, folder } = script('#!/bin/sh\nexec npx -y mcp-server-code-execution-mode "$@"\n');
    expect(reason(path)).toBe(`the script ${path} starts this bridge`);
    expect(reason('bridge', [], 'x', `/nowhere:${folder}`)).toBe('the script bridge starts this bridge');
    expect(reason('bash', [path])).toBeDefined();
    expect(findSelfReference({ name: 'x', command: 'bash', args: ['./bridge'], cwd: folder }, {})).toBeDefined();
  });

  it('ignores comments, programs that are not scripts, and anything that is not a file', () => {
    expect(reason(script('#!/bin/sh\n# unlike mcp-server-code-execution-mode\nexec other\n').path)).toBeUndefined();
    expect(reason(script('exec mcp-server-code-execution-mode').path)).toBeUndefined();
    const { folder } = script('');
    mkdirSync(join(folder, 'sub'));
    expect(reason(join(folder, 'sub'))).toBeUndefined();
    expect(reason('/dev/zero')).toBeUndefined();
    // Opening a pipe without a writer would wait forever.
    execFileSync('/usr/bin/mkfifo', [join(folder, 'pipe')]);
    expect(reason(join(folder, 'pipe'))).toBeUndefined();
    expect(reason(join(folder, 'missing'))).toBeUndefined();
  });
});

describe('the depth marker', () => {
  it('refuses a bridge inside a bridge unless allowed, and always refuses a cycle', () => {
    expect(() => refuseNestedBridge({}, false)).not.toThrow();
    expect(() => refuseNestedBridge({ MCP_BRIDGE_DEPTH: '0' }, false)).not.toThrow();
    expect(() => refuseNestedBridge({ MCP_BRIDGE_DEPTH: '1' }, false)).toThrow(BridgeError);
    expect(() => refuseNestedBridge({ MCP_BRIDGE_DEPTH: '3' }, true)).not.toThrow();
    expect(() => refuseNestedBridge({ MCP_BRIDGE_DEPTH: '4' }, true)).toThrow('the limit is 3');
  });

  it('treats invalid values as not nested', () => {
    expect(['', 'x', '-1', '0', '1', '2.5'].map((value) => bridgeDepth({ MCP_BRIDGE_DEPTH: value }))).toEqual([
      0, 0, 0, 0, 1, 2,
    ]);
  });
});
