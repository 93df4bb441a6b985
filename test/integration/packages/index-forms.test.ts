/** Builds with a real pip from indexes in the forms that companies have. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
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

async function start(form: IndexForm, hasPip = true): Promise<PackageIndex> {
  const index = await startPackageIndex({ form, hasPip });
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

const BOTH = {
  type: 'done',
  packages: [
    { name: 'top-pkg', version: '1.0' },
    { name: 'low-pkg', version: '1.5' },
  ],
};

describe.runIf(MISSING === undefined)('a builder', { timeout: 120_000 }, () => {
  it.each(['json', 'untimed', 'html', 'folder'] as const)(
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
    const [own, everyones] = [await start('html', false), await start('json')];
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

if (MISSING !== undefined) {
  // Counts as skipped, by name, not as passed.
  it.skip(`not covered: ${MISSING}`, () => undefined);
}
