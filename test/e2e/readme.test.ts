// Tags: anywhere
/** The documentation is correct: its samples run, and its configuration is accepted. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorkspace, type Workspace } from '../../scripts/demo/workspace.ts';
import { parseServerFile } from '../../src/edges/servers/server-file.ts';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import { findDocuments, readFences, readSamples } from '../support/documented-samples.ts';
import { TEST_IMAGES } from '../support/engines.ts';

const DOCUMENTS = findDocuments();
const engines = await coverEngines();
// The answers are those of the default image; another Python words its tracebacks differently.
const engine = engines.find(({ isContainer }) => isContainer);

const sampled = DOCUMENTS.filter((file) => readSamples(file).length > 0);

describe.each(engine === undefined ? [] : sampled)('the samples of %s', (file) => {
  let workspace: Workspace;
  let bridge: BridgeClient | undefined;
  beforeAll(async () => {
    workspace = createWorkspace();
    const env = { MCP_BRIDGE_STATE_DIR: workspace.stateDir, MCP_BRIDGE_TIMEOUT: '60' };
    // Draws a chart. It has the same Python.
    const image = file === 'README.md' ? { MCP_BRIDGE_IMAGE: TEST_IMAGES.datascience } : {};
    bridge = engine && (await startBridge({ engine, env: { ...env, ...image } }));
  });
  afterAll(async () => {
    workspace.remove();
    await bridge?.close();
  });

  it.each(readSamples(file))('$place', async (sample) => {
    const answer = await bridge?.runPython(sample.code, sample.arguments);
    // The time of a checkpoint.
    expect(answer?.text.replace(/\(\d\d:\d\d\)/, '(12:04)')).toBe(sample.answer);
  });
});

describe('the documentation', () => {
  it('has samples that run on the pages people read first', () => {
    expect(readSamples('README.md').length).toBeGreaterThanOrEqual(4);
  });

  it.each(DOCUMENTS)('%s shows server files that are accepted unchanged', (file) => {
    for (const block of readFences(file, 'json').filter((text) => text.includes('"mcpServers"'))) {
      // Sets the variables that the samples read, because unset ones cause a warning.
      const context = { home: '/home/me', env: { TRACKER_TOKEN: 'token' }, allowsSelf: true };
      const { servers, issues } = parseServerFile('/example.json', block, context);
      expect(issues.filter(({ level }) => level !== 'debug')).toEqual([]);
      expect(servers.length).toBeGreaterThan(0);
    }
  });
});
