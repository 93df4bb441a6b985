/** How the arguments of `servers add` become entries. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../../src/app/cli/command-line.ts';
import { createEntries } from '../../../src/app/manage-servers/new-entries.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'new-entries-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function entriesOf(argv: readonly string[]) {
  const command = await parseCommandLine(['servers', 'add', ...argv]);
  const newServers = { lookUp: () => expect.fail() };
  const context = { cwd: folder, input: Readable.from(['']), newServers };
  const line = command.command === 'servers' && command.action === 'add' ? command : expect.fail();
  return (await createEntries(line, context)).entries;
}

describe('entries', () => {
  it.each([
    [['x', '--', 'srv'], { command: 'srv' }],
    [['x', 'srv'], { command: 'srv' }],
    [
      ['x', '-e', 'A=1', '--env', 'B', '-e', 'C=a=b', '--', 'srv', '-e', '--json'],
      { command: 'srv', args: ['-e', '--json'], env: { A: '1', B: ['$', '{B}'].join(''), C: 'a=b' } },
    ],
    [['x', '--timeout', '2m', '--description', 'd', 'srv'], { command: 'srv', timeout: '2m', description: 'd' }],
    [['x', '--url', 'https://x.example/mcp'], { url: 'https://x.example/mcp' }],
    [['x', 'https://x.example/mcp'], { url: 'https://x.example/mcp' }],
    [['-t', 'sse', 'x', 'https://x.example/sse'], { type: 'sse', url: 'https://x.example/sse' }],
    [
      ['--transport', 'HTTP', 'x', 'https://x.example/mcp', '-H', 'Authorization: Bearer a:b', '--header', 'X-A:1'],
      { type: 'http', url: 'https://x.example/mcp', headers: { Authorization: 'Bearer a:b', 'X-A': '1' } },
    ],
    [
      ['x', '--egress', 'https://x.example/', '--auth', 'bearer'],
      {
        url: 'https://x.example',
        egress: true,
        policy: { preset: 'ask-destructive' },
        headers: { Authorization: ['Bearer $', '{secret:x}'].join('') },
      },
    ],
    [
      ['x', '--egress', 'https://x.example', '--key', 'X_KEY', '--key', 'X_TOKEN=x-'],
      {
        url: 'https://x.example',
        egress: {
          keys: { X_KEY: ['$', '{secret:x}'].join(''), X_TOKEN: { value: ['$', '{secret:x}'].join(''), prefix: 'x-' } },
        },
        policy: { preset: 'ask-destructive' },
      },
    ],
    [['x', '--json-entry', '{"command": "srv", "pin": "strict"}'], { command: 'srv', pin: 'strict' }],
    [['x', '--json-entry', '{"mcpServers": {"other": {"command": "srv"}}}'], { command: 'srv' }],
  ])('understands %j', async (argv, entry) => {
    expect(await entriesOf(argv)).toEqual([['x', entry]]);
  });

  it('resolves relative paths against the current folder', async () => {
    mkdirSync(join(folder, 'build'));
    writeFileSync(join(folder, 'build/index.js'), '');
    writeFileSync(join(folder, 'server.py'), '');
    const cwdOf = async (...argv: string[]) => (await entriesOf(['x', ...argv]))[0]?.[1]['cwd'];
    expect(await cwdOf('--', 'node', 'build/index.js')).toBe(folder);
    expect(await cwdOf('--', 'python3', 'server.py')).toBe(folder);
    expect(await cwdOf('--', './run')).toBe(folder);
    expect(await cwdOf('--', 'files', '.')).toBe(folder);
    expect(await cwdOf('--cwd', 'build', '--', 'node', 'index.js')).toBe(join(folder, 'build'));
    expect(await cwdOf('--cwd', '~/notes', '--', 'srv')).toBe('~/notes');
    // Package names, words that happen to be names of folders, options and absolute paths.
    expect(await cwdOf('--', 'npx', '-y', '@scope/name', 'build', '--port', '~/notes', '/')).toBeUndefined();
  });
});
