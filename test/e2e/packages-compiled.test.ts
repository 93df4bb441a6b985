// Tags: full, docker-release
/** Packages with C code, from a real index on this machine: numpy and pandas as Debian builds them, repacked as wheels. */
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BridgeClient, startBridge } from '../support/bridge-client.ts';
import { coverContainerEngines, coverPackageEngines } from '../support/covered-engines.ts';
import { TEST_IMAGES } from '../support/engines.ts';
import { type PackageIndex, startPackageIndex } from '../support/package-index.ts';
import { makeWheel, wheelOf } from '../support/wheels.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures/packages');
const REQUIRES: Readonly<Record<string, readonly string[]>> = { pandas: ['numpy', 'python-dateutil', 'pytz'] };
// One engine is enough: the store is the same on the others.
const engines = (await coverPackageEngines(await coverContainerEngines())).slice(0, 1);

describe.each(engines)('packages with C code on $label', (engine) => {
  const store = `bridge-test-packages-${randomUUID().slice(0, 8)}`;
  let folder: string;
  let index: PackageIndex;
  let bridge: BridgeClient;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'bridge-repacked-'));
    // The user of the container may be another one.
    chmodSync(folder, 0o777);
    const mounts = [`--volume=${FIXTURES}:/fixtures:ro`, `--volume=${folder}:/wheels`];
    const limits = ['--ulimit=nofile=1024:1024', '--ulimit=nproc=512:512', '--network=none'];
    const command = ['python3', '/fixtures/repack.py', '/wheels'];
    await engine.run('run', '--rm', ...limits, ...mounts, TEST_IMAGES.datascience, ...command);
    index = await startPackageIndex();
    index.add(
      ...readdirSync(folder).map((filename) => {
        const [name = '', version = ''] = filename.split('-');
        const facts = { name: name.replaceAll('_', '-'), version };
        const { metadata = '' } = makeWheel({ ...facts, requires: REQUIRES[name] ?? [] });
        const bytes = readFileSync(join(folder, filename));
        return { ...wheelOf(filename, bytes, { ...facts, requiresPython: undefined }), metadata };
      }),
    );
    const env = {
      MCP_BRIDGE_PACKAGES: 'common',
      MCP_BRIDGE_PACKAGES_STORE: store,
      MCP_BRIDGE_PACKAGES_NETWORK: 'host',
      MCP_BRIDGE_TIMEOUT: '120',
      PIP_INDEX_URL: index.url,
      PIP_CONFIG_FILE: '/dev/null',
      UV_NO_CONFIG: '1',
    };
    bridge = await startBridge({ engine, env });
  });
  afterAll(async () => {
    await bridge.close();
    await index.close();
    await engine.run('volume', 'rm', '--force', store);
    rmSync(folder, { recursive: true, force: true });
  });

  it('brings pandas and its dependencies into a session of the default image', async () => {
    await bridge.runPython('sales = {"city": ["Oslo", "Rome", "Oslo"], "sum": [3, 4, 5]}');
    const code = 'import pandas as pd\npd.DataFrame(sales).groupby("city")["sum"].sum().to_dict()';
    expect((await bridge.runPython(code)).text).toBe("{'Oslo': 8, 'Rome': 4}");
    const linear =
      'import numpy as np\nround(float(np.linalg.det(np.array([[1.0, 2.0], [3.0, 4.0]]))), 6), np.__file__';
    expect((await bridge.runPython(linear)).text).toMatch(/^\(-2\.0, '\/packages\/sets\/[0-9a-f]{64}\/lib\/numpy\//);
  });

  it('is there for the next session without the index', async () => {
    const before = index.requests.length;
    const { text } = await bridge.runPython('import pandas\nlen(pandas.date_range("2026-01-01", periods=3))', {
      session: 'second',
    });
    expect(text).toBe('3');
    expect(index.requests.slice(before)).toEqual([]);
  });
});
