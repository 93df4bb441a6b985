/** A package index on 127.0.0.1 in one of the forms that companies have, with wheels made by the test, and pip for images that have none. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sha256Of, type Wheel, wheelOf } from './wheels.ts';

export interface IndexedWheel extends Wheel {
  /** When it was uploaded; long ago by default. */
  readonly uploadedAt?: Date;
  /** The hash that the index promises; the right one by default. */
  readonly promisedSha256?: string;
}

/**
 * `json` is PyPI (PEP 691, 700 and 658), `untimed` an index with JSON but without upload times and metadata files, `html` one with
 * pages of links (PEP 503), and `folder` a web server that lists a folder of wheels, and of folders of wheels.
 *
 * `nexus` and `artifactory` have what these two do differently, because they cannot run here. A hosted repository of Nexus writes
 * links relative to the page, with only an MD5, and `data-requires-python` as it is (`pypi-index.vm` and `PyPiHostedFacet.java` of
 * nexus-public). Artifactory has a longer path before `simple`, links relative to it, and sends a client that wants a file of more
 * than a few KB on to the host of a CDN (302), by an address that is signed, so credentials beside it are refused (issues 13396 of
 * pip, 1393 of uv). Both give no upload times and no metadata files (issues 998 of nexus-public, 18823 of uv).
 */
export type IndexForm = 'json' | 'untimed' | 'html' | 'folder' | 'nexus' | 'artifactory';

const BEFORE_SIMPLE: Readonly<Partial<Record<IndexForm, string>>> = {
  nexus: '/repository/pypi-all',
  artifactory: '/artifactory/api/pypi/pypi-virtual',
};
/** In front of a signed address of the CDN, which is another host than the index to every client. */
const CDN = '/signed';

export interface PackageIndex {
  /** For `PIP_INDEX_URL`. */
  readonly url: string;
  /** A page with links to all wheels, for `PIP_FIND_LINKS`. */
  readonly links: string;
  /** Method and path of every request so far. */
  readonly requests: readonly string[];
  add(...wheels: IndexedWheel[]): void;
  /** Answers each request with this instead, until it is undefined. If it returns false, the request is answered as usual. */
  answer: ((request: IncomingMessage, response: ServerResponse) => unknown) | undefined;
  /** Answers requests for these paths only after `release`. `onRequest` is called with the first. */
  hold(path: RegExp, onRequest: () => void): { release: () => void };
  close(): Promise<void>;
}

const LONG_AGO = new Date('2020-01-01T00:00:00Z');

/**
 * Why tests cannot have an index here, for the name of a skipped test; undefined if they can. Where engines are required, this is
 * too: then the tests run, and fail.
 */
export async function whyNoIndex(): Promise<string | undefined> {
  try {
    await pipWheel();
    return undefined;
  } catch {
    const isRequired = process.env['MCP_BRIDGE_TEST_REQUIRE_ENGINES'] === '1';
    return isRequired ? undefined : 'packages: needs python3 with pip, and an index that has pip 26 or newer';
  }
}

/** Starts the index. By default it has pip, which builders may need, and which `python3 -m pip download` fetched once. */
export async function startPackageIndex({
  form = 'json',
  hasPip = true,
  login,
}: {
  form?: IndexForm;
  hasPip?: boolean;
  /** Required for everything, as `user:password`. */
  login?: string;
} = {}): Promise<PackageIndex> {
  const wheels: IndexedWheel[] = hasPip ? [await pipWheel()] : [];
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const { authorization, host } = request.headers;
    const isOfCdn = request.url?.startsWith(CDN) === true;
    const expected = login === undefined ? undefined : `Basic ${Buffer.from(login).toString('base64')}`;
    if (isOfCdn && (authorization !== undefined || host?.startsWith('localhost:') !== true)) {
      response.writeHead(400).end('Only one auth mechanism allowed');
    } else if (!isOfCdn && authorization !== expected && login !== undefined) {
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="Artifactory Realm"' }).end();
    } else if (index.answer === undefined || index.answer(request, response) === false) {
      respond(wheels, form, request, response);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const index: PackageIndex = {
    url: `http://127.0.0.1:${port}${BEFORE_SIMPLE[form] ?? ''}/simple`,
    links: `http://127.0.0.1:${port}/all/`,
    requests,
    add: (...more) => void wheels.push(...more),
    answer: undefined,
    hold(path, onRequest) {
      const waiting: (() => void)[] = [];
      index.answer = (request, response) => {
        const answer = () => respond(wheels, form, request, response);
        if (path.test(request.url ?? '')) {
          waiting.push(answer);
          onRequest();
        } else {
          answer();
        }
      };
      return {
        release() {
          index.answer = undefined;
          waiting.forEach((answer) => answer());
        },
      };
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return index;
}

function respond(
  wheels: readonly IndexedWheel[],
  form: IndexForm,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { pathname, port } = new URL(request.url ?? '', `http://${request.headers.host}`);
  const path = pathname
    .replace(BEFORE_SIMPLE[form] ?? '', '')
    .split('/')
    .map(decodeURIComponent);
  const [folder, name = ''] = [path[1], path[1] === 'simple' ? path[2] : path.at(-1)];
  const files = wheels.filter((wheel) => wheel.name === name);
  const file = wheels.find(({ filename }) => filename === name);
  const described = wheels.find(({ filename }) => `${filename}.metadata` === name);
  const isHtml = form !== 'json' && form !== 'untimed';
  if (folder === 'all' || (folder === 'simple' && files.length > 0 && isHtml)) {
    response.setHeader('Content-Type', 'text/html');
    response.end(pageOf(folder === 'all' ? wheels : files, folder === 'all' ? 'folder' : form));
  } else if (folder === 'simple' && files.length > 0) {
    response.setHeader('Content-Type', 'application/vnd.pypi.simple.v1+json');
    response.end(
      JSON.stringify({ meta: { 'api-version': '1.1' }, name, files: files.map((one) => describe(one, form)) }),
    );
  } else if (form === 'artifactory' && folder === 'packages' && file !== undefined) {
    response.writeHead(302, { location: `http://localhost:${port}${CDN}/${file.filename}?Signature=a%2Fb&Expires=1` });
    response.end();
  } else if (path.length > 2 && folder !== 'simple' && file !== undefined) {
    response.setHeader('Content-Type', 'application/octet-stream');
    response.end(file.bytes);
  } else if (form === 'json' && folder === 'files' && described?.metadata !== undefined) {
    response.end(described.metadata);
  } else {
    response.statusCode = 404;
    response.end();
  }
}

/** An index writes hashes into its links; a web server knows nothing but names. */
function pageOf(wheels: readonly IndexedWheel[], form: IndexForm): string {
  const links = wheels.map(({ bytes, filename, name, promisedSha256, requiresPython = '', sha256, version }) => {
    const href = `/files/${encodeURIComponent(filename)}`;
    const escaped = requiresPython.replaceAll('>', '&gt;').replaceAll('<', '&lt;');
    const facts = ` data-requires-python="${form === 'nexus' ? requiresPython : escaped}"`;
    switch (form) {
      case 'folder':
        return `<a href="${href}">${filename.slice(0, 20)}..&gt;</a>`;
      case 'nexus': {
        const place = `../../packages/${name}/${version}/${encodeURIComponent(filename)}`;
        return `<a href="${place}#md5=${md5Of(bytes)}" rel="internal"${requiresPython && facts}>${filename}</a>`;
      }
      default: {
        const place = form === 'artifactory' ? `../../packages/packages/ab/cd/${filename}` : href;
        return `<a href="${place}#sha256=${promisedSha256 ?? sha256}" rel="internal"${requiresPython && facts}>${filename}</a>`;
      }
    }
  });
  return `<!DOCTYPE html><html><body><a href="../">../</a>\n${links.join('<br/>\n')}</body></html>`;
}

function describe(
  { bytes, filename, metadata, promisedSha256, requiresPython, sha256, uploadedAt = LONG_AGO }: IndexedWheel,
  form: IndexForm,
) {
  return {
    filename,
    url: `../../files/${filename}`,
    hashes: { sha256: promisedSha256 ?? sha256 },
    size: bytes.length,
    ...(form === 'json' && { 'upload-time': uploadedAt.toISOString().replace(/Z$/, '000Z') }),
    // PEP 658, as PyPI does: pip need not fetch a wheel to know what it requires.
    ...(form === 'json' && metadata !== undefined && { 'core-metadata': { sha256: sha256Of(metadata) } }),
    ...(requiresPython === undefined ? {} : { 'requires-python': requiresPython }),
  };
}

function md5Of(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex');
}

/** Outside of the test's own folders, so that it is fetched once on each machine. */
const PIP_FOLDER = join(tmpdir(), `bridge-test-pip-${process.getuid?.() ?? 0}`);

async function pipWheel(): Promise<Wheel> {
  mkdirSync(PIP_FOLDER, { recursive: true });
  const find = () => readdirSync(PIP_FOLDER).find((file) => file.endsWith('.whl'));
  if (find() === undefined) {
    await promisify(execFile)('python3', ['-m', 'pip', 'download', '--no-deps', '--dest', PIP_FOLDER, 'pip>=26']);
  }
  const filename = find() ?? '';
  const version = filename.split('-')[1] ?? '';
  const bytes = readFileSync(join(PIP_FOLDER, filename));
  return wheelOf(filename, bytes, { name: 'pip', version, requiresPython: '>=3.9' });
}
