// Tags: anywhere
/** `servers` of the built command, on real servers and hostile ones. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI, fixtureServer, packageServer } from '../support/bridge-client.ts';

const SECRET = 'sk-0123456789abcdef';
let stateDir: string;

beforeAll(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'bridge-servers-'));
  const mcpServers = {
    files: {
      ...packageServer('@modelcontextprotocol/server-filesystem', [stateDir]),
      description: 'Reads and writes files',
    },
    'Mem-ory': packageServer('@modelcontextprotocol/server-memory', [], {
      API_KEY: SECRET,
      MEMORY_FILE_PATH: join(stateDir, 'memory.jsonl'),
    }),
    hostile: fixtureServer('hostile-tools.mjs', 'names'),
    broken: { command: join(stateDir, 'no-such-program'), args: ['--token', SECRET] },
    off: { command: 'true', disabled: true },
  };
  writeFileSync(join(stateDir, 'servers.json'), JSON.stringify({ mcpServers }));
});
afterAll(() => rmSync(stateDir, { recursive: true }));

const servers = (...args: string[]) => run('servers', ...args);

/** Runs the command; returns its output and exit code. */
async function run(...args: string[]) {
  const settings = { MCP_BRIDGE_LOG_LEVEL: 'ERROR', MCP_BRIDGE_RUNTIME: 'embedded' };
  const env = { PATH: process.env['PATH'], MCP_BRIDGE_STATE_DIR: stateDir, ...settings };
  const child = spawn(process.execPath, [CLI, ...args], { env });
  const exited = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { stdout, stderr, exitCode, json: () => JSON.parse(stdout) as unknown };
}

describe('servers', () => {
  it('lists configured servers without starting them, refreshes them all, and remembers', async () => {
    const before = (await servers()).stdout;
    expect(before).toMatch(/^NAME +STATE +TOOLS +TOKENS +VIA +FILE\n/);
    expect(before).toMatch(/^files +not started yet +- +- +stdio +\S+servers\.json$/m);
    expect(before).toMatch(/^off +disabled /m);
    expect(readdirSync(stateDir)).toEqual(['servers.json']);
    const refreshed = await servers('refresh');
    expect(refreshed.exitCode).toBe(69);
    expect(refreshed.stdout).toMatch(
      /^files {4}14 tools\nMem-ory {2}9 tools\nhostile {2}25 tools; of tools with the same name/,
    );
    expect(refreshed.stdout).toMatch(
      /broken {3}failed: server 'broken' could not be started: command '.*' not found\n$/,
    );
    const listed = await servers('list', '--json');
    const missing = join(stateDir, 'no-such-program');
    expect(listed.json()).toMatchObject({
      servers: [
        {
          name: 'files',
          alias: 'files',
          description: 'Reads and writes files',
          tools: 14,
          state: 'ready',
          failure: null,
        },
        { name: 'Mem-ory', alias: 'mem_ory', tools: 9, transport: 'stdio', file: join(stateDir, 'servers.json') },
        { name: 'hostile', tools: 25 },
        {
          name: 'broken',
          tools: null,
          state: 'failed',
          failure: {
            code: 'SERVER_START_FAILED',
            message: `server 'broken' could not be started: command '${missing}' not found`,
            hint: expect.stringContaining('full path'),
          },
        },
        { name: 'off', tools: null, state: 'disabled' },
      ],
      totals: { servers: 3, tools: 48, tokensOfRunPython: 200 },
    });
    expect((await servers()).stdout).toMatch(
      /^broken: could not be started: .*\n {2}Run: .*cli\.js servers test broken$/m,
    );
  });

  it('estimates the tokens of definitions close to a tokenizer', async () => {
    const tools = (await servers('tools', 'files', '--json')).json() as Record<string, unknown>[];
    const counted = tools.reduce((sum, { name, description, inputSchema }) => {
      return sum + encode(JSON.stringify({ name, description, inputSchema })).length;
    }, 0);
    const { servers: reports } = (await servers('list', '--json')).json() as { servers: { tokens: number }[] };
    expect(Math.abs((reports[0]?.tokens ?? 0) / counted - 1)).toBeLessThan(0.15);
  });

  it('stores no secret in file names or files', async () => {
    await servers('refresh', 'mem_ory');
    const folder = join(stateDir, '.cache', 'catalog');
    const files = readdirSync(folder);
    expect(files.length).toBeGreaterThan(1);
    expect(files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n')).not.toContain(SECRET);
    const shown = await servers('show', 'broken', '--json');
    expect(shown.json()).toMatchObject({ command: [expect.any(String), '--token', '***'] });
    expect((await servers('show', 'MEM_ORY')).stdout).toMatch(/variables +API_KEY, MEMORY_FILE_PATH\n/);
  });

  it('shows a server and its tools, and finds them', async () => {
    const shown = await servers('show', 'hostile');
    expect(shown.stdout).toMatch(/in Python +mcp_hostile\n/);
    expect(shown.stdout).toContain('Be<U+200B> kind.<U+001B>[2J');
    const tools = await servers('tools', 'hostile');
    expect(tools.stdout).toContain('The tool de<U+200B>lete.');
    expect(tools.stdout).not.toMatch(/[\u200b\u202e\u001b\u{e0000}-\u{e007f}]/u);
    const found = await servers('search', 'read', 'file', '--limit', '2', '--json');
    expect(found.json()).toMatchObject({
      tools: [{ server: 'files' }, { server: 'files' }],
      notSearched: [{ server: 'broken' }],
    });
  });

  it('tests servers step by step, and reports where one fails, why and what to do', async () => {
    const tested = await servers('test');
    expect(tested.exitCode).toBe(69);
    const steps = 'resolve [\\d,]+ ms, start [\\d,]+ ms, initialize [\\d,]+ ms, list tools [\\d,]+ ms';
    expect(tested.stdout).toMatch(new RegExp(`^files    ok      14 tools, MCP \\S+, version \\S+: ${steps}$`, 'm'));
    expect(tested.stdout).toMatch(
      /^broken {3}failed {2}resolve \d+ ms, start failed after \d+ ms\n {2}server 'broken' could not be started: command .*\n {2}→ Install it or give a full path in /m,
    );
    expect(tested.stdout).not.toContain(SECRET);
    const one = await servers('test', 'FILES', '--json');
    expect([one.exitCode, one.json()]).toMatchObject([
      0,
      [{ name: 'files', tools: 14, error: null, steps: [{}, {}, {}, {}] }],
    ]);
  });

  it('reports the last output of a server that exits, and an invalid entry', async () => {
    const file = join(stateDir, 'odd.json');
    const crash = { command: process.execPath, args: ['-e', 'console.error("API_KEY is not set"); process.exit(3)'] };
    writeFileSync(file, JSON.stringify({ mcpServers: { crash, number: { command: 5 } } }));
    const tested = await servers('test', 'crash', 'number', '--json');
    rmSync(file);
    expect([tested.exitCode, tested.json()]).toMatchObject([
      69,
      [
        {
          name: 'crash',
          steps: [{ step: 'resolve' }, { step: 'start', isDone: true }, { step: 'initialize', isDone: false }],
          error: {
            code: 'SERVER_START_FAILED',
            message: expect.stringMatching(/exit code 3.*\n {2}API_KEY is not set/),
            hint: expect.stringContaining('Run it by hand'),
          },
        },
        {
          name: 'number',
          steps: [{ step: 'resolve', isDone: false }],
          error: { code: 'CONFIG_INVALID', message: `${file}: mcpServers.number.command must be a string` },
        },
      ],
    ]);
  });

  it('says where a server is disabled and how to enable it, for every command', async () => {
    const file = join(stateDir, 'servers.json');
    const message = `SERVER_NOT_AVAILABLE: Server 'off' is not available: it is disabled in ${file}`;
    const commands = [
      ['servers', 'tools', 'off'],
      ['servers', 'test', 'off'],
      ['servers', 'refresh', 'off'],
      ['servers', 'approve', 'off'],
      ['servers', 'call', 'off', 'x'],
      ['policy', 'explain', 'off.x'],
      ['exec', '--server', 'off', '-c', '1'],
    ];
    for (const command of commands) {
      const { stderr, stdout, exitCode } = await run(...command);
      expect([command, stdout, exitCode, stderr]).toEqual([command, '', 70, expect.stringContaining(message)]);
      expect(stderr).toMatch(/\nHint: To enable it: .*cli\.js servers enable off\. No restart is needed\.\n/);
    }
    const shown = (await servers('show', 'off')).stdout;
    expect(shown).toMatch(/^state +disabled$/m);
    expect(shown).toMatch(/^next step +To enable it: .*cli\.js servers enable off\. /m);
  });

  it('suggests existing names for an unknown one', async () => {
    const missing = await servers('show', 'flies');
    expect(missing.exitCode).toBe(70);
    expect(missing.stderr).toContain("Did you mean 'files'? Configured: files, Mem-ory, hostile, broken.");
    const tool = await run('policy', 'explain', 'files.list_directry');
    expect(tool.exitCode).toBe(70);
    expect(tool.stderr).toMatch(
      /Hint: Did you mean 'list_directory'.* `[^`]*cli\.js servers tools files` lists its tools\.\n$/,
    );
  });
});
