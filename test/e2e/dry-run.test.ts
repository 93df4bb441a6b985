// Tags: anywhere, full
/** A dry run with a real server: it gets only calls that read. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { CLI, packageServer, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const [engine] = await coverEngines();
const CODE = `
made = await mcp_memory.create_entities(entities=[{'name': 'fern', 'entityType': 'plant', 'observations': []}])
print(made.entities)
print(len((await mcp_memory.read_graph()).entities))`;
const NOTICE = 'Dry run: 1 call was not sent: memory.create_entities(entities=[{"name":"fern",';

let stateDir: string;
let memoryFile: string;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'bridge-dry-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  memoryFile = join(stateDir, 'memory.jsonl');
  const memory = packageServer('@modelcontextprotocol/server-memory', [], { MEMORY_FILE_PATH: memoryFile });
  writeFileSync(join(stateDir, 'servers.json'), JSON.stringify({ mcpServers: { memory } }));
});

function usePolicy(policy: object): void {
  writeFileSync(join(stateDir, 'policy.json'), JSON.stringify(policy));
}

async function run(...args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: stateDir, ...engine?.env, MCP_BRIDGE_STATE_DIR: stateDir };
  return promisify(execFile)(process.execPath, [CLI, ...args], { env });
}

describe.runIf(engine !== undefined)('a dry run', () => {
  it('of exec sends what reads, answers the rest with stand-ins, and lists it', async () => {
    const { stdout, stderr } = await run('exec', '--dry-run', '--server', 'memory', '-c', CODE);
    expect(stdout).toBe('[]\n0\n');
    expect(stderr).toContain(NOTICE);
    expect(existsSync(memoryFile)).toBe(false);
    const { stdout: audit } = await run('audit', 'show');
    expect(audit).toMatch(/memory\.create_entities\(.*\) {2}not sent: dry run/);
    expect(audit).toMatch(/memory\.read_graph\(.*\) {2}ok/);
    expect((await run('audit', 'stats')).stdout).not.toContain('create_entities');
  });

  it('leaves a session that lasts as it was', async () => {
    const session = ['--session', 'work', '--server', 'memory'];
    await run('exec', ...session, '-c', 'x = "real"');
    const { stdout } = await run('exec', '--dry-run', ...session, '-c', 'print(x); x = "pretended"');
    expect(stdout).toBe('real\n');
    expect((await run('exec', ...session, '-c', 'x')).stdout).toBe("'real'\n");
  });

  it('asks no one about a call that is not sent', async () => {
    usePolicy({ rules: [{ effect: 'ask', tool: 'create_entities' }] });
    expect((await run('exec', '--dry-run', '--server', 'memory', '-c', CODE)).stdout).toBe('[]\n0\n');
  });

  it('still refuses what a policy denies', async () => {
    usePolicy({ rules: [{ effect: 'deny', tool: 'create_entities' }] });
    await expect(run('exec', '--dry-run', '--server', 'memory', '-c', CODE)).rejects.toMatchObject({
      stderr: expect.stringContaining('create_entities'),
    });
  });

  it('of a policy works for clients and for the command line', async () => {
    usePolicy({ rules: [{ effect: 'dry-run', server: 'memory', reason: 'trying it out' }] });
    const bridge = engine && (await startBridge({ engine, env: { MCP_BRIDGE_STATE_DIR: stateDir } }));
    const answer = await bridge?.runPython(CODE, { servers: ['memory'] });
    await bridge?.close();
    expect(answer?.text).toMatch(/^\[\]\n0$/m);
    expect(answer?.text).toContain(NOTICE);
    const made = await run('servers', 'call', 'memory', 'create_entities', 'entities=[]');
    expect(made.stderr).toContain('Dry run: 1 call was not sent: memory.create_entities(entities=[]).');
    expect(existsSync(memoryFile)).toBe(false);
    const explained = await run('policy', 'explain', 'memory.create_entities');
    expect(explained.stdout).toMatch(
      /memory\.create_entities: dry-run\n {2}because .* makes it a dry run \(trying it out\)/,
    );
  });

  it('is over when the policy is', async () => {
    await run('exec', '--server', 'memory', '-c', CODE);
    expect(readFileSync(memoryFile, 'utf8')).toContain('fern');
  });
});
