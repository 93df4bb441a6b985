// Tags: anywhere
/** What a bridge does can be recorded, shown, and replayed without any server. */
import { execFile } from 'node:child_process';
import { readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorkspace, type Workspace } from '../../scripts/demo/workspace.ts';
import { CLI, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { readSamples } from '../support/documented-samples.ts';
import { TEST_IMAGES } from '../support/engines.ts';

const engines = await coverEngines();
// README draws a chart, and its answers are those of this image.
const engine = engines.find(({ isContainer }) => isContainer);

type Report = Readonly<Record<string, unknown>>;

describe.runIf(engine !== undefined)('a recording of the samples in README', () => {
  let workspace: Workspace;
  let env: Record<string, string>;
  let file: string;
  const given: Report[] = [];

  beforeAll(async () => {
    workspace = createWorkspace();
    const folder = join(workspace.stateDir, 'recordings');
    env = {
      ...engine?.env,
      MCP_BRIDGE_STATE_DIR: workspace.stateDir,
      MCP_BRIDGE_IMAGE: TEST_IMAGES.datascience,
      MCP_BRIDGE_TIMEOUT: '60',
      MCP_BRIDGE_RECORD: folder,
    };
    const bridge = engine && (await startBridge({ engine, env }));
    for (const sample of readSamples('README.md')) {
      given.push((await bridge?.runPython(sample.code, sample.arguments))?.structured ?? {});
    }
    await bridge?.close();
    file = join(folder, readdirSync(folder)[0] ?? '');
    // From here on there is no server.
    renameSync(join(workspace.stateDir, 'demo.json'), join(workspace.stateDir, 'demo.json.away'));
  });
  afterAll(() => workspace?.remove());

  async function run(...args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
    const options = {
      env: { PATH: process.env['PATH'] ?? '', HOME: workspace.stateDir, ...env, MCP_BRIDGE_RECORD: '' },
    };
    return promisify(execFile)(process.execPath, [CLI, ...args], options);
  }

  it('replays to the same bytes without a server', async () => {
    const { stdout, stderr } = await run('exec', '--json', '--replay', file);
    // A client that shows compact answers gets no `status` of a success.
    const reports = JSON.parse(stdout) as Report[];
    expect(reports.map((report) => ({ ...report, status: 'success' }))).toEqual(
      given.map((report) => ({ status: 'success', ...report })),
    );
    expect(given.length).toBeGreaterThan(3);
    expect(stderr).not.toContain('differently');
  });

  it('is shown with code, calls and results', async () => {
    const { stdout } = await run('record', 'show', file);
    expect(stdout).toMatch(/cell default\/1\/1: success, \d+ ms/);
    expect(stdout).toMatch(/^ {2}\| found = await runtime\.search_tool_docs/m);
    expect(stdout).toMatch(/^ {2}call 1: \w+\.\w+\(.*\) → .* \(\d+ ms\)$/m);
  });

  it('refuses a call that was not recorded, and names the nearest', async () => {
    const code = "await mcp_memory.search_nodes(query='nothing like that')";
    const failed = run('exec', '--replay', file, '--server', 'memory', '-c', code);
    await expect(failed).rejects.toMatchObject({
      code: 70,
      stderr: expect.stringMatching(/CALL_NOT_RECORDED: the recording has no call/),
    });
  });
});
