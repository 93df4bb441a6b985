// Tags: anywhere, full
/** Command lines in the documentation, typed into a shell: each works, in a home with the servers they name. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI, fixtureServer, packageServer } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { readFences } from '../support/documented-samples.ts';

const NAME = 'mcp-server-code-execution-mode';
const [engine] = await coverEngines();
/** Commands that do not end by themselves, or wait for the user. */
const ENDLESS = /history tail -f/;
const DOCUMENTS = [
  'docs/guide.md',
  'docs/configuration.md',
  'docs/servers.md',
  'docs/audit.md',
  'docs/report.md',
  'docs/recordings.md',
];

function commandsOf(document: string): string[] {
  const lines = readFences(document, '').flatMap((fence) => fence.split('\n'));
  return lines.filter((line) => line.includes(NAME) && !ENDLESS.test(line)).map((line) => line.replace(/ +#.*$/, ''));
}

let home = '';
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'bridge-typed-'));
  const notes = join(home, 'notes');
  mkdirSync(join(home, 'MCPs'));
  mkdirSync(notes);
  writeFileSync(join(notes, 'todo.md'), 'paint the door\n');
  writeFileSync(join(home, 'report.py'), 'print(await mcp_filesystem.list_directory(path="."))\n');
  const filesystem = { ...packageServer('@modelcontextprotocol/server-filesystem', ['.']), cwd: notes };
  const mcpServers = { filesystem, github: fixtureServer('echo.mjs') };
  writeFileSync(join(home, 'MCPs', 'servers.json'), JSON.stringify({ mcpServers }));
  const command = join(home, NAME);
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${CLI}' "$@"\n`);
  chmodSync(command, 0o755);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

async function type(line: string, { folder = home, input = '' } = {}) {
  const env = {
    ...engine?.env,
    HOME: folder,
    PATH: [home, dirname(process.execPath), process.env['PATH']].join(delimiter),
  };
  const child = spawn('sh', ['-c', line], { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(input);
  const exited = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { stdout, stderr, exitCode };
}

describe.each(engine === undefined ? [] : DOCUMENTS)('%s', (document) => {
  it.each(commandsOf(document))('%s', async (line) => {
    const { stdout, stderr, exitCode } = await type(line);
    expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).not.toBe('');
  });
});

it('the commands of docs/users.md, with its server file', async () => {
  const [sample = ''] = readFences('docs/users.md', 'json');
  const [set = '', login = '', test = ''] = readFences('docs/users.md', 'sh').flatMap((fence) => fence.split('\n'));
  const { mcpServers } = JSON.parse(sample) as { mcpServers: Record<'github' | 'tracker', object> };
  Object.assign(mcpServers.github, fixtureServer('echo.mjs'));
  Object.assign(mcpServers.tracker, { url: 'https://127.0.0.1:1/mcp' });
  const folder = mkdtempSync(join(home, 'users-'));
  mkdirSync(join(folder, 'MCPs'));
  writeFileSync(join(folder, 'MCPs', 'servers.json'), JSON.stringify({ mcpServers }));
  expect((await type(set, { folder, input: 'the secret of alice\n' })).stdout).toContain('the secret GITHUB of alice');
  // Nothing listens there; a real login is in the tests of login pages.
  expect((await type(login, { folder })).stderr).toContain('SERVER_UNREACHABLE');
  expect((await type(test, { folder })).stdout).toMatch(/^github +ok.*\ntracker +failed/);
});
