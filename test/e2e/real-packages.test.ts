/**
 * The most used packages of the `common` list, from the real index that this machine is set up for: each is installed as code does
 * it, imported, and used for one line of work. Without such an index nothing is covered, and the run says so.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findColumn, readColumns } from '../../scripts/package-table/record.ts';
import { packageStore } from '../../scripts/package-table/store.ts';
import { tryPackage } from '../../scripts/package-table/try.ts';
import { readPackageIndex } from '../../src/packages/package-index.ts';
import { checkIndex } from '../../src/packages/pure/fetch-wheels.ts';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverEngines } from '../support/covered-engines.ts';
import type { TestEngine } from '../support/engines.ts';

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

/** On the embedded engine, those that work there according to the table. */
function packagesFor({ name: engine }: TestEngine): string[] {
  const tried = findColumn(readColumns(), { engine })?.tried;
  return PACKAGES.filter((name) => engine !== 'embedded' || tried?.[name]?.isWorking === true);
}

/** Undefined if there is one. */
async function whyNoRealIndex(): Promise<string | undefined> {
  const index = await readPackageIndex(process.env);
  return (await checkIndex(index, INDEX_TIMEOUT_MS))?.message;
}

const missing = await whyNoRealIndex();
const engines = (await coverEngines()).filter(({ name }) => name !== 'kubernetes');
if (missing !== undefined) {
  it.skip('not covered: real packages: no index answers', () => undefined);
}

describe.runIf(missing === undefined).each(engines)('real packages on $label', (engine) => {
  const store = packageStore(engine);
  let bridge: BridgeClient;
  beforeAll(async () => {
    bridge = await startBridge({ engine, env: store.env });
  });
  afterAll(async () => {
    await bridge.close();
    await store.remove();
  });

  it.each(packagesFor(engine))('%s does its work', { timeout: 900_000 }, async (name) => {
    const found = await tryPackage(bridge, name);
    expect(found.isWorking || found.reason).toBe(true);
  });
});
