// Tags: full, bubblewrap, docker-release
/**
 * Takes packages from indexes in the forms that companies have: builders with a real pip, and the host for the embedded engine.
 * These are made by the test; `real-indexes.test.ts` has those that can run here.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readPackageIndex } from '../../../src/features/packages/package-index.ts';
import { fetchWheels } from '../../../src/features/packages/pure/fetch-wheels.ts';
import { WheelFolder } from '../../../src/features/packages/pure/wheel-folder.ts';
import { jobOf, startBuilder } from '../../support/builder-run.ts';
import { hasLocalPython } from '../../support/local-python.ts';
import { type IndexForm, type PackageIndex, startPackageIndex, whyNoIndex } from '../../support/package-index.ts';
import { makeWheel } from '../../support/wheels.ts';

const MISSING = hasLocalPython() ? await whyNoIndex() : 'builders in local Python: needs python3 3.10 or newer on PATH';
let store: string;

beforeAll(() => {
  store = mkdtempSync(join(tmpdir(), 'bridge-store-'));
});
afterAll(() => rmSync(store, { recursive: true, force: true }));

async function start(form: IndexForm, { hasPip = true, login = '' } = {}): Promise<PackageIndex> {
  const index = await startPackageIndex({ form, hasPip, ...(login !== '' && { login }) });
  onTestFinished(() => index.close());
  index.add(
    makeWheel({ name: 'top-pkg', requires: ['low-pkg>=1'], requiresPython: '>=3.8' }),
    makeWheel({ name: 'low-pkg', version: '1.5' }),
    makeWheel({ name: 'not-here', tag: 'cp27-cp27m-win32' }),
  );
  return index;
}

/** The last report of a builder. */
async function build(requirements: readonly string[], index: object, more: object = {}) {
  return startBuilder(store, jobOf(requirements, index, { uploaded_before: null, ...more })).report;
}

/** What the host fetches for the embedded engine, with these variables of pip and uv. Nothing is kept. */
async function fetchPure(requirement: string, env: Record<string, string>, uploadedBefore?: Date) {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-wheels-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return fetchWheels(
    { requirements: [requirement], constraints: [], uploadedBefore, lock: undefined },
    {
      index: await readPackageIndex({ PIP_CONFIG_FILE: '/dev/null', UV_NO_CONFIG: '1', HOME: folder, ...env }),
      folder: new WheelFolder(folder),
      python: 'cpython-314 wasi wasm32',
      maxAgeMs: 0,
      maxBytes: 1024 ** 3,
      onProgress: () => undefined,
    },
  );
}

/** The address of an index, with its credentials. */
const withLogin = (url: string, login: string) => url.replace('//', `//${login}@`);

const BOTH = {
  type: 'done',
  packages: [
    { name: 'top-pkg', version: '1.0' },
    { name: 'low-pkg', version: '1.5' },
  ],
};

describe.runIf(MISSING === undefined)('a builder', { timeout: 120_000 }, () => {
  it.each(['json', 'untimed', 'html', 'folder', 'nexus', 'artifactory'] as const)(
    'takes packages from an index in the form %s',
    async (form) => {
      const index = await start(form);
      expect(await build(['top-pkg'], { urls: [index.url] })).toMatchObject(BOTH);
      expect(await build(['top-pkg>=2'], { urls: [index.url] })).toMatchObject({
        kind: 'missing',
        reason: 'no version of top-pkg>=2 fits\nthe index has 1.0',
      });
      expect(await build(['not-here'], { urls: [index.url] })).toMatchObject({
        kind: 'missing',
        reason: expect.stringContaining('the index has no wheel of not-here for Python 3'),
      });
      // Each wheel once, although the folder has its metadata and its hash nowhere else.
      const ranges = index.requests.filter((request) => /top_pkg.*whl$/.test(request));
      expect(ranges.length).toBeLessThanOrEqual(form === 'json' ? 1 : 2);
    },
  );

  it.each(['nexus', 'artifactory'] as const)('logs in to %s, and not to the host of its files', async (form) => {
    const index = await start(form, { login: 'ada@example.com:s3cret' });
    const urls = [withLogin(index.url, 'ada%40example.com:s3cret')];
    expect(await build(['top-pkg'], { urls })).toMatchObject(BOTH);
    expect(await build(['top-pkg'], { urls: [index.url] })).toMatchObject({ kind: 'login' });
  });

  // The host of PyPI's files answers 501 to a request for the end of a file.
  it.each([501, 416, 403])('reads the whole wheel if a host answers %i to a request for its end', async (status) => {
    const index = await start('html');
    index.answer = ({ headers }, response) => headers.range !== undefined && response.writeHead(status).end();
    expect(await build(['top-pkg'], { urls: [index.url] })).toMatchObject(BOTH);
  });

  it('reads the wheel if an index lists a metadata file that it does not have', async () => {
    const index = await start('json');
    index.answer = ({ url = '' }, response) => url.endsWith('.metadata') && response.writeHead(404).end();
    expect(await build(['top-pkg'], { urls: [index.url] })).toMatchObject(BOTH);
  });

  it('takes an answer for 404 if the user says that the index means it so', async () => {
    const [own, everyones] = [await start('html', { hasPip: false }), await start('json')];
    everyones.add(makeWheel({ name: 'public-pkg' }));
    own.answer = ({ url = '' }, response) => !url.includes('top') && response.writeHead(403).end();
    const urls = [own.url, everyones.url];
    expect(await build(['public-pkg'], { urls })).toMatchObject({
      kind: 'login',
      reason: expect.stringContaining('answered 403'),
    });
    const done = { packages: [{ name: 'public-pkg', version: '1.0' }] };
    expect(await build(['public-pkg'], { urls, absent: { [own.url]: [403] } })).toMatchObject(done);
  });

  it.each([301, 302, 307, 308])(
    'follows a redirect (%i) of a page, with credentials for the same host',
    async (status) => {
      const index = await start('html', { login: 'ada:s3cret' });
      index.answer = ({ url = '' }, response) =>
        url.startsWith('/old/') && response.writeHead(status, { location: url.slice(4) }).end();
      const urls = [withLogin(index.url.replace('/simple', '/old/simple'), 'ada:s3cret')];
      expect(await build(['top-pkg'], { urls })).toMatchObject(BOTH);
    },
  );

  it('takes packages from a page of links alone, and no others', async () => {
    const index = await start('folder');
    const links = { links: [index.links] };
    expect(await build(['top-pkg'], links)).toMatchObject(BOTH);
    expect(await build(['no-such-package'], links)).toMatchObject({ kind: 'missing' });
  });

  it.each(['untimed', 'html', 'folder'] as const)('says what decides if %s gives no upload times', async (form) => {
    const index = await start(form);
    expect(await build(['top-pkg'], { urls: [index.url] }, { uploaded_before: '2026-01-01T00:00:00Z' })).toMatchObject({
      type: 'failed',
      kind: 'times',
      reason: `${new URL(index.url).host} gives no upload times, so the minimum age of files cannot be checked`,
    });
  });

  // Anyone could publish the name of a private package on the public index, with a higher version.
  it('takes a private package from the private index, which is the only one to hear its name', async () => {
    const [own, everyones] = [await start('html', { hasPip: false }), await start('json')];
    own.add(makeWheel({ name: 'private-pkg', requires: ['public-pkg'] }));
    everyones.add(makeWheel({ name: 'private-pkg', version: '99.0' }), makeWheel({ name: 'public-pkg' }));
    const urls = [own.url, everyones.url];
    expect(await build(['private-pkg'], { urls })).toMatchObject({
      packages: [
        { name: 'private-pkg', version: '1.0', url: expect.stringContaining(new URL(own.url).host) },
        { name: 'public-pkg', version: '1.0' },
      ],
    });
    expect(await build(['private-pkg>=2'], { urls })).toMatchObject({
      reason: `no version of private-pkg>=2 fits\n${new URL(own.url).host}, where it is found first, has 1.0`,
    });
    expect(everyones.requests.filter((request) => request.includes('private'))).toEqual([]);
  });
});

describe('for the embedded engine, the host', () => {
  // The host could read only indexes that list hashes and have metadata files.
  it.each(['json', 'untimed', 'html', 'folder', 'nexus', 'artifactory'] as const)(
    'takes packages from an index in the form %s',
    async (form) => {
      const index = await start(form, { hasPip: false, login: 'ada:s3cret' });
      const found = await fetchPure('top-pkg', { PIP_INDEX_URL: withLogin(index.url, 'ada:s3cret') });
      expect(found).toMatchObject(BOTH);
      // Each wheel once, although its hash and its metadata are nowhere else.
      expect(index.requests.filter((request) => /files.*top_pkg.*whl$|packages.*top_pkg/.test(request))).toHaveLength(
        1,
      );
    },
  );

  it.each(['untimed', 'html', 'folder'] as const)('says what decides if %s gives no upload times', async (form) => {
    const index = await start(form, { hasPip: false });
    await expect(fetchPure('top-pkg', { PIP_INDEX_URL: index.url }, new Date())).rejects.toMatchObject({
      data: { kind: 'times' },
    });
  });

  it('refuses another file than the index promises', async () => {
    const index = await start('untimed', { hasPip: false });
    index.add({ ...makeWheel({ name: 'other-pkg' }), promisedSha256: 'a'.repeat(64) });
    await expect(fetchPure('other-pkg', { PIP_INDEX_URL: index.url })).rejects.toMatchObject({
      data: { kind: 'hash' },
    });
  });

  it('reads the wheel if an index lists a metadata file that it does not have', async () => {
    const index = await start('json', { hasPip: false });
    index.answer = ({ url = '' }, response) => url.endsWith('.metadata') && response.writeHead(404).end();
    expect(await fetchPure('top-pkg', { PIP_INDEX_URL: index.url })).toMatchObject(BOTH);
  });

  it('names 403 as an answer that may mean something else, and takes it for 404 if uv does', async () => {
    const [own, everyones] = [await start('html', { hasPip: false }), await start('json', { hasPip: false })];
    everyones.add(makeWheel({ name: 'public-pkg' }));
    own.answer = ({ url = '' }, response) => !url.includes('top') && response.writeHead(403).end();
    const env = { UV_INDEX: own.url, UV_DEFAULT_INDEX: everyones.url };
    await expect(fetchPure('public-pkg', env)).rejects.toMatchObject({
      data: { kind: 'login' },
      hint: expect.stringContaining('ignore-error-codes = [403]'),
    });
    const file = join(mkdtempSync(join(tmpdir(), 'bridge-uv-')), 'uv.toml');
    onTestFinished(() => rmSync(dirname(file), { recursive: true }));
    writeFileSync(file, `[[index]]\nurl = "${own.url}"\nignore-error-codes = [403]\n`);
    const ofUv = { UV_CONFIG_FILE: file, UV_NO_CONFIG: '', UV_DEFAULT_INDEX: everyones.url };
    expect(await fetchPure('public-pkg', ofUv)).toMatchObject({ packages: [{ name: 'public-pkg' }] });
  });
});

if (MISSING !== undefined) {
  // Counts as skipped, by name, not as passed.
  it.skip(`not covered: ${MISSING}`, () => undefined);
}
