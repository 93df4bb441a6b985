// Tags: bubblewrap, docker-release
/** What the bridge fetches at its start, while a session already fetches the same. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { CancelSource } from '../../../src/core/base/cancel.ts';
import type { Engine } from '../../../src/core/session/engine.ts';
import { createEmbeddedEngine } from '../../../src/edges/engines/embedded/embedded.ts';
import { readPackageIndex } from '../../../src/features/packages/package-index.ts';
import { createPackageInstaller, type InstallingCall } from '../../../src/features/packages/packages.ts';
import { TEST_LIMITS } from '../../support/engines.ts';
import { startPackageIndex } from '../../support/package-index.ts';
import { makeWheel } from '../../support/wheels.ts';

const PYTHON = 'cpython-314 wasi wasm32';
const CALL: InstallingCall = { session: 's', generation: 1, cell: 1, call: 1, signal: new CancelSource(), sandbox: {} };

it('asks the index once if a session was faster', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'bridge-preinstall-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true }));
  const index = await startPackageIndex({ hasPip: false });
  onTestFinished(() => index.close());
  index.add(makeWheel({ name: 'tiny-pkg' }));
  const logger = { debug() {}, info() {}, warning() {}, error() {}, daily() {} };
  const real = createEmbeddedEngine({ limits: TEST_LIMITS, instanceId: 'preinstall', env: process.env, logger });
  const engine: Engine = {
    name: real.name,
    description: real.description,
    isolation: real.isolation,
    wheelsFor: PYTHON,
    // Between the look for a lock and the fetch.
    prepare: async () => void (await importTiny()),
    start: (request) => real.start(request),
    explainStartFailure: (...failure) => real.explainStartFailure(...failure),
    sweep: (options) => real.sweep(options),
  };
  const installer = createPackageInstaller({
    engine,
    mode: 'off',
    policy: () => undefined,
    minAgeMs: 0,
    maxAgeMs: 0,
    maxBytes: 1_000_000,
    readIndex: () => readPackageIndex({ PIP_CONFIG_FILE: '/dev/null', UV_NO_CONFIG: '1', PIP_INDEX_URL: index.url }),
    readProgram: async () => '',
    stateDir,
    image: 'unused',
    preinstall: ['tiny-pkg'],
  });
  const [, install] = installer.methods.find(([name]) => name === 'install_packages') ?? [];
  const importTiny = async () => {
    const params = { modules: ['tiny_pkg'], requirements: [], is_gone: false, set: null };
    return install?.run(params, CALL as never);
  };
  await installer.preinstall();
  expect(index.requests.filter((request) => request === 'GET /simple/tiny-pkg/')).toHaveLength(1);
});
