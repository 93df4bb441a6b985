// Tags: full, bubblewrap, docker-release, user
/**
 * The most used packages of the `common` list, from the real index that this machine is set up for: each is installed as code does
 * it, imported, and used for one line of work. Without such an index nothing is covered, and the run says so.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { findColumn, readColumns } from '../../scripts/package-table/record.ts';
import { packageStore } from '../../scripts/package-table/store.ts';
import { tryPackage } from '../../scripts/package-table/try.ts';
import { readPackageIndex } from '../../src/features/packages/package-index.ts';
import { checkIndex } from '../../src/features/packages/pure/fetch-wheels.ts';
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

const compiled = engines.filter(({ name }) => name !== 'embedded');

describe.runIf(missing === undefined).each(compiled)('real packages of MCP_BRIDGE_PREINSTALL on $label', (engine) => {
  const store = packageStore(engine);
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'bridge-real-preinstall-'));
  });
  const start = async (): Promise<BridgeClient> => {
    const bridge = await startBridge({
      engine,
      env: {
        ...store.env,
        MCP_BRIDGE_STATE_DIR: folder,
        MCP_BRIDGE_PREWARM: '1',
        MCP_BRIDGE_PREINSTALL: 'pandas',
      },
    });
    await bridge.client.listTools();
    return bridge;
  };
  afterAll(async () => {
    await store.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it('are imported before a session needs them, and stay in their versions', { timeout: 900_000 }, async () => {
    const learning = await start();
    await learning.runPython('import pandas', { timeout: 600 });
    await learning.close();
    const bridge = await start();
    onTestFinished(() => bridge.close());
    let session = '';
    const attempt = async (): Promise<string> => {
      session = `attempt-${randomUUID().slice(0, 4)}`;
      return (await bridge.runPython('import sys\n"pandas" in sys.modules', { session })).text;
    };
    // A session that comes too early ends the imports of its sandbox.
    await expect.poll(attempt, { timeout: 120_000, interval: 5_000 }).toContain('True');
    const code =
      'import pandas as pd\nversion, path = pd.__version__, pd.__file__\npd.DataFrame({"a": [1, 2]}).a.sum().item(), path';
    expect((await bridge.runPython(code, { session })).text).toMatch(
      /^\(3, '\/packages\/sets\/[0-9a-f]{64}\/lib\/pandas\//,
    );
    // Another set takes the place of the first, with the same pandas.
    await bridge.runPython('import tabulate', { session, timeout: 600 });
    const grown =
      'import importlib.metadata as m, pandas.plotting\nm.version("pandas") == version, pandas.plotting.__file__ != path';
    expect((await bridge.runPython(grown, { session })).text).toBe('(True, True)');
    await bridge.runPython('frame = pd.DataFrame({"a": [5]})\nruntime.checkpoint("here")', { session });
    await bridge.runPython('runtime.restore("here")', { session });
    const restored =
      'import tabulate\nframe.a.sum().item(), pd.__version__ == version, "tabulate" in tabulate.__file__';
    expect((await bridge.runPython(restored, { session })).text).toContain('(5, True, True)');
    // One that is not started ahead has them, too.
    const tried = 'try:\n    import pandas\n    found = True\nexcept ImportError:\n    found = False\nfound';
    const several = ['a', 'b', 'c'].map((name) => bridge.runPython(tried, { session: name }));
    expect((await Promise.all(several)).map(({ text }) => text)).toEqual(['True', 'True', 'True']);
  });
});
