/** `install` and `uninstall` of the built command, in a home where nothing is. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { CLI } from '../support/bridge-client.ts';

it('registers the bridge in one file of each format, moves servers, and leaves everything as it was', async () => {
  const home = mkdtempSync(join(tmpdir(), 'bridge-install-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const run = async (...args: string[]) => {
    const child = spawn(process.execPath, [CLI, ...args], {
      cwd: home,
      env: { PATH: process.env['PATH'], HOME: home },
    });
    const exited = once(child, 'close') as Promise<[number | null]>;
    const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
    return { stdout, stderr, exitCode };
  };
  const before =
    '{\n  // mine\n  "mcpServers": { "files": { "command": "true", "env": { "API_KEY": "sk-0123456789" } } }\n}\n';
  writeFileSync(join(home, '.mcp.json'), before);

  expect((await run('install', 'cursr')).stderr).toContain("Did you mean 'cursor'?");
  expect(await run('install', 'codex', 'goose')).toMatchObject({ exitCode: 0, stderr: '' });
  expect(readFileSync(join(home, '.codex/config.toml'), 'utf8')).toContain('[mcp_servers.code]');
  expect(readFileSync(join(home, '.config/goose/config.yaml'), 'utf8')).toContain('cmd: npx');
  const moved = await run('install', 'claude-code', '--scope', 'project', '--import');
  expect(moved.exitCode).toBe(0);
  expect(moved.stdout).not.toContain('sk-0123456789');
  expect((await run('servers')).stdout).toMatch(/^files +never started .*claude-code.json$/m);

  expect(await run('uninstall', 'codex', 'goose')).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await run('uninstall', 'claude-code', '--scope', 'project')).toMatchObject({ exitCode: 0, stderr: '' });
  expect(readFileSync(join(home, '.mcp.json'), 'utf8')).toBe(before);
  expect(existsSync(join(home, '.codex/config.toml'))).toBe(false);
  expect((await run('servers')).stdout).toBe(
    `No server is configured. Add one to ${join(home, 'MCPs')}: mcp-server-code-execution-mode servers add NAME -- COMMAND. ` +
      'Or move the servers of your MCP client there: mcp-server-code-execution-mode install CLIENT --import. ' +
      'For all forms, run: mcp-server-code-execution-mode help configuration server-files\n',
  );
});
