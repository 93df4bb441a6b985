// Tags: bubblewrap, docker-release
/** How the host reads package indexes for the embedded engine, from real servers on this machine. */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { readPackageIndex } from '../../../src/features/packages/package-index.ts';
import { SimpleIndex } from '../../../src/features/packages/pure/simple-index.ts';
import { startProxy } from '../../support/proxy.ts';

const servers: Server[] = [];
const closing: SimpleIndex[] = [];
afterEach(async () => {
  closing.splice(0).forEach((index) => index.close());
  await Promise.all(
    servers.splice(0).map((server) => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    }),
  );
});

async function serve(answer: RequestListener) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { host: `127.0.0.1:${port}`, requests };
}

async function open(address: string, env: Record<string, string> = {}): Promise<SimpleIndex> {
  const files = { PIP_CONFIG_FILE: '/dev/null', UV_NO_CONFIG: '1' };
  const index = new SimpleIndex(
    await readPackageIndex({ ...files, PIP_INDEX_URL: address, ...env }),
    AbortSignal.timeout(20_000),
  );
  closing.push(index);
  return index;
}

const page = (...files: object[]): string => JSON.stringify({ meta: { 'api-version': '1.1' }, name: 'a', files });
const wheel = (url: string, more: object = {}) => ({ filename: 'a-1.0-py3-none-any.whl', url, hashes: {}, ...more });

it('reads files, and leaves out what it cannot use', async () => {
  const { host, requests } = await serve((_, response) =>
    response.end(
      page(
        wheel('../../files/a-1.0-py3-none-any.whl', {
          'upload-time': '2025-01-02T03:04:05.678901Z',
          'requires-python': '>=3.9',
          'core-metadata': { sha256: 'x' },
          yanked: 'broken',
        }),
        { filename: 'a-1.0.tar.gz', url: 'a', hashes: {} },
        wheel('b', { hashes: { sha256: 'not a hash' } }),
        null as unknown as object,
      ),
    ),
  );
  const index = await open(`http://user:pass%40word@${host}/simple/`);
  expect(await index.project('a')).toEqual({
    hasCompiled: false,
    files: [
      {
        filename: 'a-1.0-py3-none-any.whl',
        url: new URL(`http://${host}/files/a-1.0-py3-none-any.whl`),
        sha256: undefined,
        requiresPython: '>=3.9',
        uploadedAt: new Date('2025-01-02T03:04:05.678Z'),
        isYanked: true,
        hasMetadata: true,
        host,
      },
    ],
  });
  expect(requests[0]?.url).toBe('/simple/a/');
  expect(requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from('user:pass@word').toString('base64')}`);
  expect(requests[0]?.headers.accept).toContain('application/vnd.pypi.simple.v1+json');
});

it('asks one index after the other, and takes an unknown name for no files', async () => {
  const first = await serve((_, response) => response.writeHead(404).end());
  const second = await serve((_, response) => response.end(page(wheel('a.whl'))));
  const index = await open(`http://${second.host}/simple`, { PIP_EXTRA_INDEX_URL: `http://${first.host}/simple` });
  expect((await index.project('a')).files).toHaveLength(1);
  expect(first.requests).toHaveLength(1);
});

// Anyone could publish the name of a private package elsewhere, with a higher version.
it('asks no other index for a name that the first one has, or about which it says nothing', async () => {
  const others = await serve((_, response) => response.end(page(wheel('a.whl'))));
  const env = (host: string) => ({ PIP_EXTRA_INDEX_URL: `http://${host}/simple` });
  const empty = await serve((_, response) => response.end(page()));
  expect((await (await open(`http://${others.host}/simple`, env(empty.host))).project('a')).files).toEqual([]);
  const down = await serve((_, response) => response.writeHead(503).end());
  const index = await open(`http://${others.host}/simple`, env(down.host));
  await expect(index.project('a')).rejects.toMatchObject({ kind: 'index' });
  expect(others.requests).toEqual([]);
});

it('reads HTML, of an index and of a folder that a web server lists', async () => {
  const { host } = await serve((request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(
      request.url === '/simple/a/'
        ? `<!DOCTYPE html><a href="../../f/a-1.0-py3-none-any.whl#sha256=${'b'.repeat(64)}"
             data-requires-python="&gt;=3.9,&lt;4" data-yanked data-core-metadata="true">a</a>
           <a data-requires-python=">=3" href='a-2.0.tar.gz'>sdist</a>`
        : '<a href="../">..</a><a href="B_c-1.0%2Blocal-py3-none-any.whl">B_c-1.0&gt;</a><a href="a-9-py3-none-any.whl">' +
            '<a href="C_d-1.0-cp314-cp314-win_amd64.whl">',
    );
  });
  const index = await open(`http://${host}/simple`, { PIP_FIND_LINKS: `http://${host}/wheels/` });
  const facts = { uploadedAt: undefined, host };
  expect((await index.project('b-c')).files).toEqual([
    {
      filename: 'B_c-1.0+local-py3-none-any.whl',
      url: new URL(`http://${host}/wheels/B_c-1.0%2Blocal-py3-none-any.whl`),
      sha256: undefined,
      requiresPython: '',
      isYanked: false,
      hasMetadata: false,
      ...facts,
    },
  ]);
  expect((await index.project('a')).files.map(({ filename }) => filename)).toEqual(['a-9-py3-none-any.whl']);
  // Only the folder has it.
  const folder = await open('http://127.0.0.1:1/', { PIP_NO_INDEX: '1', PIP_FIND_LINKS: `http://${host}/wheels/` });
  expect(await folder.project('c-d')).toEqual({ files: [], hasCompiled: true });
  expect(await folder.project('e')).toEqual({ files: [], hasCompiled: false });
  const alone = await open(`http://${host}/simple`);
  expect(await alone.project('a')).toEqual({
    hasCompiled: false,
    files: [
      {
        filename: 'a-1.0-py3-none-any.whl',
        url: new URL(`http://${host}/f/a-1.0-py3-none-any.whl`),
        sha256: 'b'.repeat(64),
        requiresPython: '>=3.9,<4',
        isYanked: true,
        hasMetadata: true,
        ...facts,
      },
    ],
  });
});

// Nexus writes `<` as it is, which made the link vanish.
it('reads attributes of every spelling, and links that are relative to another address', async () => {
  const { host } = await serve((_, response) =>
    response.end(`<html><head><BASE href="/other/"></head>
      <a href="a-1.0-py3-none-any.whl" data-requires-python=">=3.9,<4">one</a>
      <a HREF='a-2.0-py3-none-any.whl#md5=0' data-requires-python='&#62;=3.9,&#x3c;4'>two</a>`),
  );
  const { files } = await (await open(`http://${host}/simple`)).project('a');
  expect(files.map(({ requiresPython, url }) => [url.pathname, requiresPython])).toEqual([
    ['/other/a-1.0-py3-none-any.whl', '>=3.9,<4'],
    ['/other/a-2.0-py3-none-any.whl', '>=3.9,<4'],
  ]);
});

it('takes no longer for a page of quotes that never end', async () => {
  const { host } = await serve((_, response) => response.end(`<a ${'<a "\'"<a \'"'.repeat(200_000)}`));
  expect((await (await open(`http://${host}/simple`)).project('a')).files).toEqual([]);
});

it('sends credentials to no other host, also after a redirect', async () => {
  const other = await serve((_, response) => response.end('content'));
  const { host, requests } = await serve((_, response) =>
    response.writeHead(302, { location: `http://${other.host}/moved` }).end(),
  );
  const index = await open(`http://user:secret@${host}/simple`);
  const content = await index.content(new URL(`http://${host}/a.whl`), 1_000, () => undefined);
  expect(content.toString()).toBe('content');
  expect(requests[0]?.headers.authorization).toMatch(/^Basic /);
  expect(other.requests[0]?.headers.authorization).toBeUndefined();
});

// As for projects of GitLab, each with a token of its own. The first of the host was taken.
it('sends each of two indexes on a host its own credentials', async () => {
  const { host, requests } = await serve((request, response) =>
    request.url?.endsWith('/a/')
      ? response.end(page(wheel('../../files/a-1.0-py3-none-any.whl')))
      : response.writeHead(404).end(),
  );
  const [first, second] = ['1', '2'].map((name) => `http://user:token${name}@${host}/projects/${name}/simple`);
  const index = await open(second ?? '', { PIP_EXTRA_INDEX_URL: first ?? '' });
  await index.project('b');
  await index.content(new URL(`http://${host}/projects/2/files/a.whl`), 1_000, () => undefined).catch(() => undefined);
  const logins = requests.map(({ headers: { authorization = '' } }) => Buffer.from(authorization.slice(6), 'base64'));
  expect(logins.map(String)).toEqual(['user:token1', 'user:token2', 'user:token2']);
});

it.each([
  ['rubbish', '{"files": 1}', { kind: 'index', message: expect.stringContaining('is not that of an index') }],
  ['a list', '[]', { kind: 'index', message: expect.any(String) }],
  ['null', 'null', { kind: 'index', message: expect.any(String) }],
])('reports %s instead of a page', async (_, text, expected) => {
  const { host } = await serve((__, response) => response.end(text));
  await expect((await open(`http://${host}/simple`)).project('a')).rejects.toMatchObject(expected);
});

it.each([
  ['a file of the host', 'file:///etc/passwd', /not http or https/],
  ['the addresses of clouds', 'http://169.254.169.254/latest/meta-data', /not asked: .*link-local/],
])('does not follow a redirect to %s', async (_, location, message) => {
  const { host } = await serve((__, response) => response.writeHead(302, { location }).end());
  const index = await open(`http://${host}/simple`);
  await expect(index.project('a')).rejects.toMatchObject({ kind: 'index', message: expect.stringMatching(message) });
});

it('uses a proxy and the certificates of pip, and is never led away from https', async () => {
  const tls = join(import.meta.dirname, '../../fixtures/tls');
  const [key, cert] = ['mcp.test.key', 'mcp.test.crt'].map((name) => readFileSync(join(tls, name)));
  const server = createSecureServer({ key, cert }, (request, response) =>
    request.url === '/simple/a/'
      ? response.end(page(wheel('a.whl')))
      : response.writeHead(302, { location: 'http://mcp.test/b/' }).end(),
  );
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy = await startProxy({ ports: { 'mcp.test': (server.address() as AddressInfo).port } });
  const env = { HTTPS_PROXY: `http://${proxy.place}` };
  const trusting = await open('https://mcp.test/simple', { ...env, PIP_CERT: join(tls, 'mcp.test.crt') });
  expect((await trusting.project('a')).files).toHaveLength(1);
  await expect(trusting.project('b')).rejects.toMatchObject({
    kind: 'index',
    message: 'mcp.test redirects to an address without https',
  });
  expect(new Set(proxy.log)).toEqual(new Set(['CONNECT mcp.test:443']));
  const other = await open('https://mcp.test/simple', env);
  await expect(other.project('a')).rejects.toMatchObject({
    kind: 'certificate',
    message: expect.stringContaining('self-signed'),
  });
  for (const PIP_TRUSTED_HOST of ['mcp.test', 'mcp.test:443']) {
    // biome-ignore lint/performance/noAwaitInLoops: one proxy, whose log is read.
    expect(
      (await (await open('https://mcp.test/simple', { ...env, PIP_TRUSTED_HOST })).project('a')).files,
    ).toHaveLength(1);
  }
});

it('ends what is longer than allowed, and does not follow redirects without end', async () => {
  const { host } = await serve((request, response) => {
    if (request.url === '/round') {
      response.writeHead(302, { location: '/round' }).end();
      return;
    }
    const chunk = Buffer.alloc(1024 * 1024, 32);
    const more = (): void => void (response.writable && response.write(chunk, more));
    more();
  });
  const index = await open(`http://${host}/simple`);
  await expect(index.project('a')).rejects.toMatchObject({ kind: 'limit' });
  const read = index.content(new URL(`http://${host}/a.whl`), 1_000, () => undefined);
  await expect(read).rejects.toMatchObject({ kind: 'limit', message: expect.stringContaining('more than 1000 bytes') });
  const round = index.content(new URL(`http://${host}/round`), 1_000, () => undefined);
  await expect(round).rejects.toMatchObject({ kind: 'index', message: expect.stringContaining('302') });
});

it('says which host does not answer', async () => {
  await expect((await open('http://127.0.0.1:9/simple')).project('a')).rejects.toMatchObject({
    kind: 'index',
    message: expect.stringContaining('127.0.0.1:9 cannot be reached'),
  });
  const { host } = await serve((_, response) => response.writeHead(503).end());
  await expect((await open(`http://${host}/simple`)).project('a')).rejects.toMatchObject({
    kind: 'index',
    message: expect.stringContaining(`${host} answered 503`),
  });
});
