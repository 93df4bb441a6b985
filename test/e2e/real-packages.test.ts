/**
 * The most used packages of the `common` list, from the real index that this machine is set up for: each is installed as code does
 * it, imported, and used for one line of work. Without such an index nothing is covered, and the run says so.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tryPackage } from '../../scripts/package-table/try.ts';
import { readPackageIndex } from '../../src/packages/package-index.ts';
import { checkIndex } from '../../src/packages/pure/fetch-wheels.ts';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';

const PACKAGES = [
  'numpy',
  'pandas',
  'matplotlib',
  'scikit-learn',
  'scipy',
  'pillow',
  'openpyxl',
  'python-docx',
  'pypdf',
  'beautifulsoup4',
  'lxml',
  'pyyaml',
];
const INDEX_TIMEOUT_MS = 20_000;

/** Undefined if there is one. */
async function whyNoRealIndex(): Promise<string | undefined> {
  const index = await readPackageIndex(process.env);
  return (await checkIndex(index, INDEX_TIMEOUT_MS))?.message;
}

const missing = await whyNoRealIndex();
const engines = (await coverEngines()).filter(({ name }) => name === 'podman' || name === 'bubblewrap');
if (missing !== undefined) {
  it.skip('not covered: real packages: no index answers', () => undefined);
}

describe.runIf(missing === undefined).each(engines)('real packages on $label', (engine) => {
  const store = `bridge-test-real-${randomUUID().slice(0, 8)}`;
  let bridge: BridgeClient;
  beforeAll(async () => {
    const env = { MCP_BRIDGE_PACKAGES: 'common', MCP_BRIDGE_PACKAGES_STORE: store, MCP_BRIDGE_MAX_TIMEOUT: '900' };
    bridge = await startBridge({ engine, env });
  });
  afterAll(async () => {
    await bridge.close();
    if (engine.isContainer) {
      await engine.run('volume', 'rm', '--force', store);
    } else {
      rmSync(join('/var/lib/mcp-server-code-execution-mode', store), { recursive: true, force: true });
    }
  });

  it.each(PACKAGES)('%s does its work', { timeout: 900_000 }, async (name) => {
    const found = await tryPackage(bridge, name);
    expect(found.isWorking || found.reason).toBe(true);
  });
});
