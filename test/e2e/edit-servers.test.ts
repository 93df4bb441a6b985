// Tags: anywhere, full
/** `servers add`, `disable`, `enable` and `remove` of the built command, while a bridge runs: its next cell sees every change. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CLI, packageServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const [engine] = await coverEngines();

/** Runs `servers …` on a state directory; returns its output and exit code. */
async function servers(stateDir: string, args: readonly string[], input = '') {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], MCP_BRIDGE_STATE_DIR: stateDir };
  const child = spawn(process.execPath, [CLI, 'servers', ...args], { env });
  child.stdin.end(input);
  const exited = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { stdout, stderr, exitCode };
}

function newStateDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-edits-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'MCPs');
}

describe.runIf(engine !== undefined)('while a bridge runs', () => {
  it('adding, disabling, enabling or removing a server takes effect in the next cell', async () => {
    const bridge = await startBridge({ engine: engine ?? expect.fail() });
    onTestFinished(() => bridge.close());
    const run = (code: string, ...loaded: string[]) => bridge.runPython(code, { servers: loaded });
    const edit = async (...args: string[]) => {
      const { exitCode, stderr, stdout } = await servers(bridge.folder, args);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      return stdout;
    };
    const list = 'runtime.discovered_servers()';
    const sum = 'await mcp_everything.get_sum(a=19, b=23)';
    expect((await run(list)).structured['result']).toBe('()');

    const everything = packageServer('@modelcontextprotocol/server-everything', ['stdio']);
    await edit('add', 'everything', '--', everything.command, ...(everything.args ?? []));
    expect((await run(list)).structured['result']).toBe("('everything',)");
    expect((await run(sum, 'everything')).text).toContain('42');

    const memory = packageServer('@modelcontextprotocol/server-memory');
    const store = join(bridge.folder, 'graph.jsonl');
    await edit('add', 'graph', '-e', `MEMORY_FILE_PATH=${store}`, '--', memory.command, ...(memory.args ?? []));
    const create = 'await mcp_graph.create_entities(entities=[{"name": "x", "entityType": "t", "observations": []}])';
    expect((await run(`${create}\n${sum}`, 'graph')).text).toContain('42');
    expect(readFileSync(store, 'utf8')).toContain('"name":"x"');
    expect(await edit('test', 'graph')).toMatch(/^graph +ok +9 tools/);

    await edit('disable', 'everything');
    const refused = await run(sum, 'everything');
    expect([refused.isError, refused.text]).toEqual([
      true,
      expect.stringMatching(/Server 'everything' is not available: it is disabled in .*servers enable everything/s),
    ]);
    await edit('enable', 'everything');
    expect((await run(sum, 'everything')).text).toContain('42');
    await edit('remove', 'everything', 'graph');
    expect((await run(sum, 'everything')).text).toContain("names 'everything', but no server is configured");
    expect(readdirSync(bridge.folder)).not.toContain('servers.json');
  });
});

describe('the built command', () => {
  it('adds an example from the package, and lists it', async () => {
    const stateDir = newStateDir();
    const added = await servers(stateDir, ['add', '--example', 'everything', '--json']);
    expect(JSON.parse(added.stdout)).toMatchObject({
      action: 'add',
      servers: [{ name: 'everything', file: join(stateDir, 'servers.json'), outcome: 'added' }],
      changes: [{ path: join(stateDir, 'servers.json'), action: 'create', diff: expect.stringContaining('+') }],
      next: expect.stringMatching(/cli\.js servers test everything$/),
      isWritten: true,
    });
    expect((await servers(stateDir, [])).stdout).toMatch(/^everything +not started yet .*servers\.json$/m);
    expect(await servers(stateDir, ['add', 'everything', 'srv', '--json'])).toMatchObject({
      exitCode: 78,
      stdout: expect.stringMatching(/^\{"error":\{"code":"CONFIG_INVALID"/),
    });
    expect(await servers(stateDir, ['remove', 'everythink'])).toMatchObject({
      exitCode: 70,
      stderr: expect.stringContaining("Did you mean 'everything'?"),
    });
    expect(await servers(stateDir, ['add', 'x', 'npx', '-y', 'srv'])).toMatchObject({
      exitCode: 64,
      stderr: expect.stringContaining('write -- before the command'),
    });
  });

  it('reads an entry with a secret from standard input', async () => {
    const stateDir = newStateDir();
    const entry = { command: 'srv', env: { TOKEN: 'sk-0123456789abcdef' } };
    const added = await servers(stateDir, ['add', 'x', '--json-entry', '-'], JSON.stringify(entry));
    expect(added).toEqual({ stdout: expect.stringContaining("Added server 'x'"), stderr: '', exitCode: 0 });
    expect(JSON.parse(readFileSync(join(stateDir, 'servers.json'), 'utf8'))).toEqual({ mcpServers: { x: entry } });
  });

  it('loses nothing if several processes add servers at once', async () => {
    const stateDir = newStateDir();
    const names = Array.from({ length: 6 }, (_, index) => `s${index}`);
    const added = await Promise.all(names.map((name) => servers(stateDir, ['add', name, 'srv'])));
    expect(added.map(({ exitCode }) => exitCode)).toEqual(names.map(() => 0));
    const { mcpServers } = JSON.parse(readFileSync(join(stateDir, 'servers.json'), 'utf8'));
    expect(Object.keys(mcpServers).toSorted()).toEqual(names);
    expect(readdirSync(stateDir)).toEqual(['servers.json']);
  });
});
