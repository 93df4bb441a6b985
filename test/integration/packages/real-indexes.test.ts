// Tags: full, bubblewrap, docker-release
/**
 * Takes packages from the servers that companies run in front of PyPI, each from PyPI and pinned: builders with a real pip, and the
 * host for the embedded engine. Nexus and Artifactory cannot run here; `index-forms.test.ts` has what their pages do differently.
 * Without an index on this machine nothing is covered, and the run says so.
 */
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { indexOfJob } from '../../../src/features/packages/build.ts';
import { readPackageIndex } from '../../../src/features/packages/package-index.ts';
import { fetchWheels } from '../../../src/features/packages/pure/fetch-wheels.ts';
import { WheelFolder } from '../../../src/features/packages/pure/wheel-folder.ts';
import { jobOf, startBuilder } from '../../support/builder-run.ts';
import { runServerTool, startIndexServer } from '../../support/index-servers.ts';
import { whyNoPythonPackages } from '../../support/python-packages.ts';
import { makeWheel } from '../../support/wheels.ts';
import { findPython } from '../../tools/python.mjs';

const missing = await whyNoPythonPackages();
/** Needs wcwidth, which no Python here has, and of which the private index has an old version of its own. */
const PUBLIC = 'prettytable==3.16.0';
const PRIVATE = makeWheel({ name: 'wcwidth', version: '0.1.1' });
const LOGIN = 'ada:s3cret%40';
const TIMEOUT_MS = 600_000;

let folder: string;
/** Has the wheels of PUBLIC, pip, and a wcwidth for any platform. */
let wheels: string;
let upstream: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bridge-indexes-'));
  // Builders are another user.
  chmodSync(folder, 0o755);
  upstream = `${(await readPackageIndex(process.env)).urls.at(-1)?.replace(/\/+$/, '')}/`;
  wheels = join(folder, 'wheels');
  mkdirSync(wheels);
  if (missing === undefined) {
    const options = ['--quiet', '--only-binary', ':all:', '--dest', wheels];
    await execa((await findPython()) ?? 'python3', [
      '-m',
      'pip',
      'download',
      ...options,
      PUBLIC,
      'wcwidth==0.2.13',
      'pip>=26',
    ]);
  }
}, TIMEOUT_MS);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What builders and the embedded engine take with these settings of pip: names, versions, and where from. */
async function takenWith(settings: Readonly<Record<string, string>>, more: object = {}) {
  const machine = Object.entries(process.env).filter(([name]) => !/^(?:UV_|PIP_INDEX_URL$)/.test(name));
  const none = { PIP_EXTRA_INDEX_URL: '', PIP_FIND_LINKS: '', PIP_NO_INDEX: '', UV_NO_CONFIG: '1' };
  const local = { NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1', HOME: folder };
  const index = await readPackageIndex({ ...Object.fromEntries(machine), ...none, ...local, ...settings });
  const job = { uploaded_before: null, ...more };
  const built = await startBuilder(mkdtempSync(join(folder, 'store-')), jobOf([PUBLIC], indexOfJob(index), job)).report;
  const pure = await fetchWheels(
    {
      requirements: [PUBLIC],
      constraints: [],
      uploadedBefore: job.uploaded_before === null ? undefined : new Date(job.uploaded_before),
      lock: undefined,
    },
    {
      index,
      folder: new WheelFolder(mkdtempSync(join(folder, 'pure-'))),
      python: 'cpython-314 wasi wasm32',
      maxAgeMs: 0,
      maxBytes: 1024 ** 3,
      onProgress: () => undefined,
    },
  ).catch((error: unknown) => error);
  return [built, pure];
}

/** The newest of PyPI. */
const NEWEST = expect.stringMatching(/^0\.[2-9]/) as unknown;

/** Both engines take the public package and what it needs, from addresses that contain these texts. */
function expectTaken(found: readonly unknown[], publicPlace: string, needVersion: unknown, needPlace: string): void {
  // pip lists them in another order than the embedded engine.
  const packages = expect.arrayContaining([
    expect.objectContaining({
      name: 'prettytable',
      version: '3.16.0',
      url: expect.stringContaining(publicPlace),
    }),
    expect.objectContaining({ name: 'wcwidth', version: needVersion, url: expect.stringContaining(needPlace) }),
  ]) as unknown;
  expect(found).toMatchObject([
    { type: 'done', packages },
    { type: 'done', packages },
  ]);
}

describe.runIf(missing === undefined)('packages come', { timeout: TIMEOUT_MS }, () => {
  // A private index of devpi needs no login without a plugin; pypiserver asks for one.
  it('from devpi: an index of our own, whose name shadows a public one, and a mirror', async () => {
    const state = join(folder, 'devpi');
    const init = 'import sys; from devpi_server.init import init; sys.exit(init())';
    await runServerTool('devpi', ['-c', init, '--serverdir', state, '--no-root-pypi', '--root-passwd', 'r00t']);
    const main = 'import sys; from devpi_server.main import main; sys.exit(main())';
    const place = await startIndexServer('devpi', [
      '-c',
      main,
      '--serverdir',
      state,
      '--host',
      '127.0.0.1',
      '--port',
      'PORT',
    ]);
    const send = async (method: string, path: string, body: object, login = ''): Promise<void> => {
      const isForm = body instanceof FormData;
      const { ok, status } = await fetch(`${place}${path}`, {
        method,
        body: isForm ? body : JSON.stringify(body),
        headers: {
          ...(!isForm && { 'content-type': 'application/json' }),
          ...(login !== '' && { authorization: `Basic ${Buffer.from(decodeURIComponent(login)).toString('base64')}` }),
        },
      });
      expect([path, status, ok]).toEqual([path, status, true]);
    };
    await send('PUT', '/ada', { password: decodeURIComponent(LOGIN.split(':')[1] ?? '') });
    await send('PUT', '/ada/dev', { bases: [] }, LOGIN);
    // Without the list of all projects, which it would fetch first.
    await send('PUT', '/ada/mirror', { type: 'mirror', mirror_url: upstream, mirror_no_project_list: true }, LOGIN);
    const upload = new FormData();
    Object.entries({ ':action': 'file_upload', name: 'wcwidth', version: '0.1.1', filetype: 'bdist_wheel' }).forEach(
      ([name, value]) => upload.set(name, value),
    );
    upload.set('content', new Blob([new Uint8Array(PRIVATE.bytes)]), PRIVATE.filename);
    await send('POST', '/ada/dev/', upload, LOGIN);
    const mirror = { PIP_INDEX_URL: `${place}/ada/mirror/+simple/` };
    const own = `${place}/ada/dev/+simple/`;
    expectTaken(
      await takenWith({ ...mirror, PIP_EXTRA_INDEX_URL: own.replace('//', `//${LOGIN}@`) }),
      '/ada/mirror/',
      '0.1.1',
      '/ada/dev/',
    );
  });

  it.each(['sha256', 'md5', 'off'])('from pypiserver with hashes: %s, as pip.conf says it', async (hashes) => {
    const passwords = join(folder, 'htpasswd');
    // Of `htpasswd -s`, for s3cret@.
    writeFileSync(passwords, `ada:{SHA}${createHash('sha1').update('s3cret@').digest('base64')}\n`);
    const place = await startIndexServer(
      'pypiserver',
      PYPISERVER.split(' ').concat(passwords, '--hash-algo', hashes, wheels),
    );
    const conf = join(folder, 'pip.conf');
    writeFileSync(conf, `[global]\nindex-url = ${place.replace('//', `//${LOGIN}@`)}/simple/\n`);
    const found = await takenWith({ PIP_CONFIG_FILE: conf });
    expectTaken(found, place, NEWEST, place);
    const netrc = join(folder, 'netrc');
    writeFileSync(netrc, 'machine 127.0.0.1 login ada password s3cret@\n');
    expectTaken(await takenWith({ PIP_INDEX_URL: `${place}/simple`, NETRC: netrc }), place, NEWEST, place);
    expect(await takenWith({ PIP_INDEX_URL: `${place}/simple` })).toMatchObject([
      { kind: 'login' },
      { data: { kind: 'login' } },
    ]);
  });

  it('from proxpi, which gives no upload times', async () => {
    const place = await startIndexServer(
      'proxpi',
      ['-m', 'flask', '--app', 'proxpi.server', 'run', '--host', '127.0.0.1', '--port', 'PORT'],
      { PROXPI_INDEX_URL: upstream, PROXPI_CACHE_DIR: join(folder, 'proxpi') },
    );
    expectTaken(await takenWith({ PIP_INDEX_URL: `${place}/index/` }), place, NEWEST, place);
    const aged = await takenWith({ PIP_INDEX_URL: `${place}/index` }, { uploaded_before: '2025-01-01T00:00:00Z' });
    expect(aged).toMatchObject([{ kind: 'times' }, { data: { kind: 'times' } }]);
  });

  it('from simpleindex, which has some files and sends to another index for the rest', async () => {
    const own = join(folder, 'own', 'wcwidth');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, PRIVATE.filename), PRIVATE.bytes);
    const place = await startIndexServer('simpleindex', ['-c', SIMPLEINDEX, folder, upstream, 'PORT']);
    expectTaken(await takenWith({ PIP_INDEX_URL: place }), 'http', '0.1.1', place);
  });

  it('from the pages of dumb-pypi, and from a plain folder, behind a web server', async () => {
    const pages = join(folder, 'pages');
    const { stdout } = await execa('ls', [wheels]);
    writeFileSync(join(folder, 'list'), stdout);
    await runServerTool(
      'dumb-pypi',
      '-m dumb_pypi.main --packages-url ../../../wheels/ --package-list'
        .split(' ')
        .concat(join(folder, 'list'), '--output-dir', pages),
    );
    const place = await startIndexServer('none', [
      '-m',
      'http.server',
      '--bind',
      '127.0.0.1',
      '--directory',
      folder,
      'PORT',
    ]);
    expectTaken(await takenWith({ PIP_INDEX_URL: `${place}/pages/simple` }), '/wheels/', NEWEST, '/wheels/');
    const links = await takenWith({ PIP_NO_INDEX: '1', PIP_FIND_LINKS: `${place}/wheels` });
    expectTaken(links, '/wheels/', NEWEST, '/wheels/');
  });
});

const PYPISERVER =
  '-m pypiserver run --interface 127.0.0.1 --port PORT --disable-fallback --authenticate download,list,update --passwords';

/** Its own configuration, with the port of this run. */
const SIMPLEINDEX = `
import pathlib, sys, runpy
folder, upstream, port = sys.argv[1:]
path = pathlib.Path(folder, "simpleindex.toml")
path.write_text(f'''
[routes."wcwidth"]
source = "path"
to = "./own/wcwidth"
[routes."{{project}}"]
source = "http"
to = "{upstream}{{project}}/"
[server]
host = "127.0.0.1"
port = {port}
''')
sys.argv = ["simpleindex", str(path)]
runpy.run_module("simpleindex", run_name="__main__")
`;

if (missing !== undefined) {
  // Counts as skipped, by name, not as passed.
  it.skip(`not covered: index servers: ${missing}`, () => undefined);
}
