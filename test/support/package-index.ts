/** A package index on 127.0.0.1 in one of the forms that companies have, with wheels made by the test, and pip for images that have none. */
import { execFile } from 'node:child_process';
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
 */
export type IndexForm = 'json' | 'untimed' | 'html' | 'folder';

export interface PackageIndex {
  /** For `PIP_INDEX_URL`. */
  readonly url: string;
  /** A page with links to all wheels, for `PIP_FIND_LINKS`. */
  readonly links: string;
  /** Method and path of every request so far. */
  readonly requests: readonly string[];
  add(...wheels: IndexedWheel[]): void;
  /** Answers each request with this instead, until it is undefined. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
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
}: {
  form?: IndexForm;
  hasPip?: boolean;
} = {}): Promise<PackageIndex> {
  const wheels: IndexedWheel[] = hasPip ? [await pipWheel()] : [];
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    if (index.answer === undefined) {
      respond(wheels, form, request, response);
    } else {
      index.answer(request, response);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const index: PackageIndex = {
    url: `http://127.0.0.1:${port}/simple`,
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
  const [, folder, name = ''] = (request.url ?? '').split('/').map(decodeURIComponent);
  const files = wheels.filter((wheel) => wheel.name === name);
  const file = wheels.find(({ filename }) => filename === name);
  const described = wheels.find(({ filename }) => `${filename}.metadata` === name);
  if (folder === 'all' || (folder === 'simple' && files.length > 0 && (form === 'html' || form === 'folder'))) {
    response.setHeader('Content-Type', 'text/html');
    response.end(pageOf(folder === 'all' ? wheels : files, folder === 'all' ? 'folder' : form));
  } else if (folder === 'simple' && files.length > 0) {
    response.setHeader('Content-Type', 'application/vnd.pypi.simple.v1+json');
    response.end(
      JSON.stringify({ meta: { 'api-version': '1.1' }, name, files: files.map((one) => describe(one, form)) }),
    );
  } else if (folder === 'files' && file !== undefined) {
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
  const links = wheels.map(({ filename, promisedSha256, requiresPython = '', sha256 }) => {
    const href = `/files/${encodeURIComponent(filename)}`;
    const facts = ` data-requires-python="${requiresPython.replaceAll('>', '&gt;').replaceAll('<', '&lt;')}"`;
    return form === 'folder'
      ? `<a href="${href}">${filename.slice(0, 20)}..&gt;</a>`
      : `<a href="${href}#sha256=${promisedSha256 ?? sha256}"${requiresPython && facts}>${filename}</a>`;
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
