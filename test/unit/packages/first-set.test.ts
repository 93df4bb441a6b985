/** The packages that sessions have from their start. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { CallContext } from '../../../src/core/session/dispatch.ts';
import type { Engine } from '../../../src/core/session/engine.ts';
import { createPackageLocks, lockKey } from '../../../src/features/packages/locks.ts';
import type { PackageIndex } from '../../../src/features/packages/package-index.ts';
import {
  createPackageInstaller,
  type PackageInstaller,
  type PackagesOptions,
} from '../../../src/features/packages/packages.ts';

const PYTHON = 'cpython-314 linux x86_64';
const SET = 'b'.repeat(64);
const PACKAGE = {
  name: 'numpy',
  version: '2.4.0',
  file: 'numpy.whl',
  url: 'https://x/numpy.whl',
  sha256: 'a'.repeat(64),
};
const INDEX: PackageIndex = {
  urls: ['https://index.example/simple'],
  links: [],
  trusted: [],
  absent: {},
  certificates: undefined,
  proxies: {},
  mask: (text) => text,
};

/** An installer that has a lock for numpy, and cannot build anything. */
async function openInstaller(more: Partial<PackagesOptions> = {}): Promise<PackageInstaller> {
  const stateDir = mkdtempSync(join(tmpdir(), 'first-set-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const request = { requirements: ['numpy'], constraints: [], index: INDEX, image: 'image', minAgeMs: 0 };
  const lock = { version: 1 as const, requirements: ['numpy'], python: PYTHON, set: SET, packages: [PACKAGE] };
  await createPackageLocks(stateDir).write(lockKey(request), lock);
  return createPackageInstaller({
    engine: { name: 'podman', canBuild: true } as unknown as Engine,
    mode: 'off',
    policy: () => undefined,
    minAgeMs: 0,
    maxBytes: 1,
    maxAgeMs: 0,
    readIndex: async () => INDEX,
    readProgram: () => Promise.reject(new Error('nothing is built')),
    stateDir,
    image: 'image',
    preinstall: ['numpy'],
    ...more,
  });
}

const denying = () => ({ ofPackage: () => ({ effect: 'deny', reason: 'a rule' }) }) as never;
const firstSet = async (more?: Partial<PackagesOptions>) => (await openInstaller(more)).firstSet();

it('is what MCP_BRIDGE_PREINSTALL names', async () => {
  expect(await firstSet()).toEqual({ path: `/packages/sets/${SET}`, python: PYTHON });
});

it.each<[string, Partial<PackagesOptions>]>([
  ['it names nothing', { preinstall: undefined }],
  ['it has not been fetched', { preinstall: ['numpy', 'pandas'] }],
  ['the image is another', { image: 'other' }],
  ['the engine has no store', { engine: { name: 'embedded' } as unknown as Engine }],
  ['the configuration of the index is broken', { readIndex: () => Promise.reject(new Error('broken')) }],
  ['the policy denies a package by now', { policy: denying }],
])('is nothing if %s', async (_, more) => {
  expect(await firstSet(more)).toBeUndefined();
});

// The host did not know the set of a restored session, so the next set had other versions, or lacked what was loaded.
it('a session that uses a set keeps its versions, whichever sandbox got it first', async () => {
  const ask = async (set: string | null, more: Partial<PackagesOptions> = {}): Promise<unknown> => {
    const installer = await openInstaller({ mode: 'common', preinstall: undefined, ...more });
    const [, method] = installer.methods.find(([name]) => name === 'install_packages') ?? [];
    const context = { session: 'default', sandbox: {}, python: PYTHON, signal: new AbortController().signal };
    const params = { modules: [], requirements: ['numpy==2.4.0'], is_gone: false, set };
    return method?.run(params, context as unknown as CallContext).catch((error: unknown) => String(error));
  };
  expect(await ask(SET)).toEqual({ path: `/packages/sets/${SET}`, packages: [['numpy', '2.4.0']] });
  expect(await ask(null)).toContain('nothing is built');
  expect(await ask('c'.repeat(64))).toContain('nothing is built');
  expect(await ask(SET, { policy: denying })).toContain('numpy 2.4.0 may not be');
});

it('says why nothing can be installed, as far as it knows', async () => {
  const none = { preinstall: undefined, mode: 'common' } as const;
  const whyNone = async (more: Partial<PackagesOptions>) => (await openInstaller({ ...none, ...more })).whyNone();
  expect(await whyNone({})).toBeUndefined();
  expect(await whyNone({ mode: 'off' })).toBe('MCP_BRIDGE_PACKAGES is off');
  expect(await whyNone({ mode: 'off', preinstall: ['numpy'] })).toBeUndefined();
  expect(await whyNone({ engine: { name: 'kubernetes' } as Engine })).toBe('the engine kubernetes has no packages');
});
