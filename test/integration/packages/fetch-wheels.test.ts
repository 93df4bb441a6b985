// Tags: bubblewrap, docker-release
/** How the host fetches wheels for the embedded engine from indexes in the forms that companies have. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readPackageIndex } from '../../../src/features/packages/package-index.ts';
import { fetchWheels } from '../../../src/features/packages/pure/fetch-wheels.ts';
import { WheelFolder } from '../../../src/features/packages/pure/wheel-folder.ts';
import { type IndexedWheel, type IndexForm, startPackageIndex } from '../../support/package-index.ts';
import { makeWheel, wheelOf } from '../../support/wheels.ts';

async function start(form: IndexForm, ...wheels: IndexedWheel[]) {
  const index = await startPackageIndex({ form, hasPip: false });
  const stateDir = mkdtempSync(join(tmpdir(), 'bridge-wheels-'));
  onTestFinished(async () => {
    await index.close();
    rmSync(stateDir, { recursive: true });
  });
  index.add(...wheels);
  const folder = new WheelFolder(stateDir);
  const files = { PIP_CONFIG_FILE: '/dev/null', UV_NO_CONFIG: '1' };
  const read = await readPackageIndex({ ...files, PIP_INDEX_URL: index.url });
  return {
    folder,
    requests: index.requests,
    fetch: async (...requirements: string[]) => fetch(requirements),
    fetchIfChosen: async (...requirements: string[]) => fetch(requirements, true),
  };

  async function fetch(requirements: readonly string[], isChosen = false) {
    return fetchWheels(
      { requirements, constraints: [], uploadedBefore: undefined, lock: undefined },
      {
        index: read,
        folder,
        isChosen,
        python: 'cpython-314 wasi wasm32',
        maxAgeMs: 0,
        maxBytes: 1_000_000,
        onProgress: () => undefined,
      },
    );
  }
}

const TOP = makeWheel({ name: 'top-pkg', requires: ['low-pkg>=1'] });
const LOW = makeWheel({ name: 'low-pkg', version: '1.5' });

// Indexes of companies seldom have metadata files, and a folder of wheels has no hashes: both were refused.
it.each(['json', 'untimed', 'html', 'folder'] as const)('takes packages from an index in the form %s', async (form) => {
  const { fetch, folder, requests } = await start(form, TOP, LOW);
  const { packages } = await fetch('top-pkg');
  expect(packages.map(({ name, sha256, version }) => [name, version, sha256])).toEqual([
    ['top-pkg', '1.0', TOP.sha256],
    ['low-pkg', '1.5', LOW.sha256],
  ]);
  expect(await folder.has(LOW.sha256)).toBe(true);
  // Each wheel once, although it was read before the choice was made.
  expect(requests.filter((request) => request.endsWith('.whl'))).toHaveLength(2);
});

it('reads a wheel again only if its hash is not known', async () => {
  const { fetch, requests } = await start('html', TOP, LOW);
  await fetch('low-pkg');
  await fetch('top-pkg');
  expect(requests.filter((request) => request.endsWith('.whl'))).toHaveLength(2);
});

it('refuses a wheel that is another one than the index says, and one that is none', async () => {
  const { fetch, folder } = await start(
    'html',
    { ...TOP, promisedSha256: '0'.repeat(64) },
    wheelOf('broken-1.0-py3-none-any.whl', Buffer.from('rubbish'), {
      name: 'broken',
      version: '1.0',
      requiresPython: undefined,
    }),
  );
  await expect(fetch('top-pkg')).rejects.toThrow(`top_pkg-1.0-py3-none-any.whl has the SHA-256 ${TOP.sha256}`);
  expect(await folder.has(TOP.sha256)).toBe(false);
  await expect(fetch('broken')).rejects.toThrow('broken-1.0-py3-none-any.whl is not a valid wheel');
});

// "One for any platform" was not understood, and MCP_BRIDGE_RUNTIME=auto is what almost everyone has.
it('says that compiled parts are the reason, and what to install', async () => {
  const compiled = wheelOf('fast-1.0-cp314-cp314-manylinux_2_28_x86_64.whl', Buffer.from(''), {
    name: 'fast',
    version: '1.0',
    requiresPython: undefined,
  });
  const { fetch, fetchIfChosen } = await start('json', compiled);
  const failure = {
    message: 'the embedded sandbox can only use packages in pure Python, and fast has compiled parts',
    hint: 'With Podman, Docker or (on Linux) bubblewrap it works. Install one and restart the bridge, which then uses it by itself.',
    data: { kind: 'platform' },
  };
  await expect(fetch('fast')).rejects.toMatchObject(failure);
  await expect(fetchIfChosen('fast')).rejects.toMatchObject({
    ...failure,
    hint: 'With Podman, Docker or (on Linux) bubblewrap it works. Install one, and start the bridge with MCP_BRIDGE_RUNTIME=auto.',
  });
});
