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
const ENDLESS = /audit tail -f/;
const DOCUMENTS = ['docs/guide.md', 'docs/servers.md', 'docs/audit.md', 'docs/report.md', 'docs/recordings.md'];

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

describe.each(engine === undefined ? [] : DOCUMENTS)('%s', (document) => {
  it.each(commandsOf(document))('%s', async (line) => {
    const env = {
      ...engine?.env,
      HOME: home,
      PATH: [home, dirname(process.execPath), process.env['PATH']].join(delimiter),
    };
    const child = spawn('sh', ['-c', line], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const exited = once(child, 'close') as Promise<[number | null]>;
    const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
    expect({ exitCode, stderr: exitCode === 0 ? '' : stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).not.toBe('');
  });
});
