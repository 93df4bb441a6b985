import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EgressAnswer, EgressRequest } from '../../../../src/core/base/egress-exchange.ts';
import { EgressSender, type EgressSenderOptions } from '../../../../src/edges/upstream/egress/sender.ts';
import { anyAddress, publicAddress, type Resolve } from '../../../../src/edges/upstream/http/addresses.ts';
import { noProxy, proxiesOf } from '../../../../src/edges/upstream/http/proxies.ts';
import { startProxy } from '../../../support/proxy.ts';
import { resolverOf } from '../../../support/resolver.ts';

const TLS = join(import.meta.dirname, '../../../fixtures/tls');
const CERTIFICATE = readFileSync(join(TLS, 'mcp.test.crt'), 'utf8');
const SECRET = 'sk_live_51HxYzAb/+cD"e';
const KEY = { name: 'API_KEY', placeholder: 'bridge-key-abc123', value: SECRET };

/** The URL of an API that ends with the test. */
async function startApi(handler: RequestListener, isSecure = false): Promise<string> {
  const tls = { cert: CERTIFICATE, key: readFileSync(join(TLS, 'mcp.test.key')) };
  const server = isSecure ? createTlsServer(tls, handler) : createServer(handler);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return isSecure ? `https://mcp.test:${port}` : `http://127.0.0.1:${port}`;
}

/** The URL of an API that answers each connection with these bytes. */
async function startRaw(answer: string): Promise<string> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.end(answer, 'latin1'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function sender(options: Partial<EgressSenderOptions> = {}): EgressSender {
  const made = new EgressSender({
    headers: {},
    keys: [],
    proxies: noProxy,
    rule: anyAddress,
    masksSecrets: true,
    ...options,
  });
  onTestFinished(() => made.close());
  return made;
}

function request(
  url: string,
  { body = '', ...rest }: Partial<Omit<EgressRequest, 'body'>> & { body?: string | Readable } = {},
): EgressRequest {
  return {
    method: 'GET',
    url: new URL(url),
    headers: [],
    body:
      typeof body === 'string' ? Readable.from(body === '' ? [] : [Buffer.from(body)], { objectMode: false }) : body,
    signal: new AbortController().signal,
    ...rest,
  };
}

function headersOf(answer: EgressAnswer): Record<string, string> {
  return Object.fromEntries(answer.headers.map(([name, value]) => [name.toLowerCase(), value]));
}

async function bodyOf({ body }: EgressAnswer): Promise<Buffer> {
  return Buffer.isBuffer(body) ? body : buffer(body);
}

/** Answers with what it was sent. */
const echo: RequestListener = (incoming, response) => {
  void text(incoming).then((body) => {
    const { headers, method, url } = incoming;
    response.end(JSON.stringify({ method, url, headers, body }));
  });
};

async function echoed(
  made: EgressSender,
  sent: EgressRequest,
): Promise<Record<string, unknown> & { headers: Record<string, string> }> {
  return JSON.parse((await bodyOf(await made.send(sent))).toString()) as never;
}

describe('what is sent', () => {
  it('is the request of code, with the headers of the entry over its own', async () => {
    const api = await startApi(echo);
    const made = sender({ headers: { Authorization: 'Basic c2hvcnQ=' }, masksSecrets: false });
    const headers = [
      ['AUTHORIZATION', 'theirs'],
      ['x-a', '1'],
      ['Content-Length', '5'],
      ['Accept-Encoding', 'gzip'],
      ['Host', 'evil.test'],
    ] as const;
    const got = await echoed(made, request(`${api}/v1/x%2Fy?a=1`, { method: 'POST', headers, body: 'hello' }));
    expect(got).toEqual({
      method: 'POST',
      url: '/v1/x%2Fy?a=1',
      headers: {
        'accept-encoding': 'identity',
        authorization: 'Basic c2hvcnQ=',
        connection: 'keep-alive',
        'content-length': '5',
        host: new URL(api).host,
        'x-a': '1',
      },
      body: 'hello',
    });
  });

  it('has keys in headers and query, but not in the path and body', async () => {
    const api = await startApi(echo);
    const made = sender({ keys: [KEY], masksSecrets: false });
    const { placeholder } = KEY;
    const pair = Buffer.from(`${placeholder}:`).toString('base64');
    const headers = [
      ['x-key', placeholder],
      ['authorization', `Basic ${pair}`],
    ] as const;
    const got = await echoed(
      made,
      request(`${api}/${placeholder}?k=${placeholder}`, { method: 'POST', headers, body: placeholder }),
    );
    expect(got.headers).toMatchObject({ 'x-key': SECRET, authorization: `Basic ${btoa(`${SECRET}:`)}` });
    expect(got).toMatchObject({ url: `/${placeholder}?k=${encodeURIComponent(SECRET)}`, body: placeholder });
  });

  // Without a length, Node sends the body of a GET or DELETE bare, and a server reads it as the next request.
  it.each(['GET', 'DELETE', 'POST', 'PROPFIND'])(
    'is one request if a %s has a body of unknown length',
    async (method) => {
      const api = await startApi(echo);
      const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
      const got = await echoed(sender(), request(api, { method, body: smuggled }));
      expect(got).toMatchObject({ method, body: smuggled });
    },
  );

  it.each([
    ['GET', undefined],
    ['DELETE', undefined],
    ['POST', '0'],
    ['PUT', '0'],
  ])('says that a %s has no body', async (method, length) => {
    const got = await echoed(sender(), request(await startApi(echo), { method }));
    expect(got.headers['content-length']).toBe(length);
    expect(got.headers['transfer-encoding']).toBeUndefined();
  });

  it('is a stream: the API reads the first bytes before code sends the next', async () => {
    const api = await startApi((incoming, response) => {
      incoming.once('data', () => second.push('second'));
      void text(incoming).then((body) => response.end(body));
    });
    const second = new Readable({ read: () => undefined });
    second.push('first ');
    incomingEnd(second, 'second');
    expect((await bodyOf(await sender().send(request(api, { method: 'POST', body: second })))).toString()).toBe(
      'first second',
    );
  });

  it('uses a connection again, and sends what only reads once more if that was closed meanwhile', async () => {
    const ports = new Set<number | undefined>();
    const api = await startApi((incoming, response) => {
      ports.add(incoming.socket.remotePort);
      response.end('ok', () => incoming.url === '/last' && incoming.socket.destroy());
    });
    const made = sender({ rule: anyAddress });
    for (const path of ['/', '/', '/last', '/', '/']) {
      expect((await bodyOf(await made.send(request(api + path)))).toString()).toBe('ok');
    }
    expect(ports.size).toBe(2);
  });

  it('goes over TLS that is verified', async () => {
    const api = await startApi(echo, true);
    const resolve = resolverOf({ 'mcp.test': ['127.0.0.1'] });
    const got = await echoed(sender({ resolve, certificates: CERTIFICATE }), request(api));
    expect(got.headers['host']).toBe(new URL(api).host);
    await expect(sender({ resolve }).send(request(api))).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
      message: expect.stringContaining('self-signed certificate') as string,
    });
    const other = api.replace('mcp.test', 'other.test');
    const lies = sender({ resolve: resolverOf({ 'other.test': ['127.0.0.1'] }), certificates: CERTIFICATE });
    await expect(lies.send(request(other))).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
  });

  it('goes through the proxy of the environment', async () => {
    const api = await startApi(echo);
    const proxy = await startProxy({ ports: { 'api.test': Number(new URL(api).port) } });
    const proxies = proxiesOf({ http_proxy: `http://${proxy.place}` });
    const got = await echoed(sender({ proxies }), request('http://api.test/x', { method: 'PUT', body: 'hello' }));
    expect(got).toMatchObject({ method: 'PUT', url: '/x', body: 'hello' });
    expect(proxy.log).toEqual(['PUT http://api.test/x']);
  });
});

function incomingEnd(body: Readable, last: string): void {
  const push = body.push.bind(body);
  body.push = (chunk: unknown, ...rest: []) => {
    const isMore = push(chunk, ...rest);
    if (chunk === last) {
      push(null);
    }
    return isMore;
  };
}

describe('what is not sent', () => {
  const counting = async (): Promise<{ api: string; requests: string[] }> => {
    const requests: string[] = [];
    const api = await startApi(({ url = '' }, response) => {
      requests.push(url);
      response.end();
    });
    return { api, requests };
  };

  it.each([
    'http://127.0.0.1',
    'http://169.254.169.254',
    'http://[::1]',
    'http://2130706433',
    'http://0x7f.1',
    'http://[::ffff:10.0.0.1]',
    'http://localhost',
  ])('a request to %s', async (host) => {
    await expect(sender({ rule: publicAddress }).send(request(`${host}:1`))).rejects.toMatchObject({
      code: 'HTTP_REFUSED',
    });
  });

  it.each(['127.0.0.1', '169.254.169.254', '10.1.2.3', '::1', 'fd00:ec2::254'])('to a name of %s', async (address) => {
    const { api, requests } = await counting();
    const resolve = resolverOf({ 'api.test': ['93.184.215.14', address] });
    const made = sender({ rule: publicAddress, resolve });
    await expect(made.send(request(`http://api.test:${new URL(api).port}`))).rejects.toMatchObject({
      code: 'HTTP_REFUSED',
      message: expect.stringContaining('private network') as string,
    });
    expect(requests).toEqual([]);
  });

  it('to a name that changes between two lookups: there is only one, and it decides', async () => {
    const { api } = await counting();
    let lookups = 0;
    const resolve = ((_name: string, _options: object, done: (error: null, found: object[]) => void) => {
      lookups += 1;
      done(null, [{ address: lookups === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }]);
    }) as unknown as Resolve;
    const rule = (address: string): string | undefined => (address === '127.0.0.1' ? undefined : 'it is another');
    const made = sender({ rule, resolve });
    const url = `http://api.test:${new URL(api).port}`;
    expect((await made.send(request(url))).status).toBe(200);
    expect(lookups).toBe(1);
    made.close();
    await expect(sender({ rule, resolve }).send(request(url))).rejects.toMatchObject({ code: 'HTTP_REFUSED' });
  });

  it('to an internal name through a proxy', async () => {
    const proxy = await startProxy({ ports: {} });
    const proxies = proxiesOf({ http_proxy: `http://${proxy.place}` });
    const made = sender({ proxies, rule: publicAddress, resolve: resolverOf({ 'api.test': ['10.0.0.1'] }) });
    await expect(made.send(request('http://api.test/'))).rejects.toMatchObject({ code: 'HTTP_REFUSED' });
    expect(proxy.log).toEqual([]);
  });

  it.each<[string, Parameters<typeof request>[1]]>([
    ['a header with a line break', { headers: [['x-a', 'b\r\nx-evil: 1']] }],
    ['a header name with a line break', { headers: [['x-a: b\r\nx-evil', '1']] }],
    ['CONNECT', { method: 'CONNECT' }],
    ['TRACE, which repeats the credentials', { method: 'TRACE' }],
    ['a method with a space', { method: 'GET /x HTTP/1.1\r\n' }],
    ['a body beyond the limit', { method: 'POST', body: 'x'.repeat(101) }],
    ['a length beyond the limit', { method: 'POST', headers: [['content-length', '101']], body: 'x'.repeat(101) }],
    ['a body longer than its length', { method: 'POST', headers: [['content-length', '3']], body: 'hello' }],
    ['a body shorter than its length', { method: 'POST', headers: [['content-length', '30']], body: 'hello' }],
  ])('%s', async (_what, parts) => {
    const api = await startApi((incoming, response) => {
      void text(incoming).then(
        (body) => response.end(body),
        () => response.destroy(),
      );
    });
    await expect(sender({ limits: { maxBodyBytes: 100 } }).send(request(api, parts))).rejects.toMatchObject({
      code: 'HTTP_REFUSED',
    });
  });

  it('a body twice', async () => {
    let requests = 0;
    const api = await startApi((incoming) => {
      requests += 1;
      incoming.once('data', () => incoming.socket.destroy());
    });
    await expect(sender().send(request(api, { method: 'PUT', body: 'hello' }))).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
    await expect(sender().send(request(api, { method: 'GET', body: 'hello' }))).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
    expect(requests).toBe(2);
  });
});

describe('what comes back', () => {
  const answering = async (
    answer: (response: ServerResponse, incoming: IncomingMessage) => void,
    parts: Parameters<typeof request>[1] = {},
    options: Partial<EgressSenderOptions> = {},
  ): Promise<EgressAnswer> => {
    const api = await startApi((incoming, response) => answer(response, incoming));
    return sender({ keys: [KEY], ...options }).send(request(api, parts));
  };

  it('has status, reason and headers in their order, without those of the connection', async () => {
    const raw =
      'HTTP/1.1 299 Odd One\r\nSet-Cookie: a=1\r\nX-A: 1\r\nset-cookie: b=2\r\nConnection: close, x-hop\r\nX-Hop: 1\r\nContent-Length: 2\r\n\r\nok';
    const answer = await sender().send(request(await startRaw(raw)));
    expect(answer).toMatchObject({ status: 299, reason: 'Odd One' });
    expect(answer.headers).toEqual([
      ['Set-Cookie', 'a=1'],
      ['X-A', '1'],
      ['set-cookie', 'b=2'],
      ['Content-Length', '2'],
    ]);
    expect((await bodyOf(answer)).toString()).toBe('ok');
  });

  it('has keys masked in headers and body, and keeps its length', async () => {
    const forms = [SECRET, encodeURIComponent(SECRET), btoa(`u:${SECRET}`), JSON.stringify(SECRET)];
    const body = forms.join('\n');
    const answer = await answering((response) => {
      response.writeHead(200, `OK ${SECRET}`, { 'x-echo': forms, 'content-length': Buffer.byteLength(body) }).end(body);
    });
    const got = (await bodyOf(answer)).toString();
    const all = JSON.stringify(answer.headers) + String(answer.reason) + got;
    for (const part of [SECRET, SECRET.slice(0, 12), 'sk_live', Buffer.from(SECRET).toString('base64').slice(4, 20)]) {
      expect(all).not.toContain(part);
    }
    expect(headersOf(answer)['content-length']).toBe(String(got.length));
    expect(got.length).toBe(body.length);
  });

  it('is masked at each place where it can be cut', async () => {
    for (let cut = 1; cut < SECRET.length; cut += 1) {
      const answer = await answering((response) => {
        response.write(`before ${SECRET.slice(0, cut)}`, () =>
          setImmediate(() => response.end(`${SECRET.slice(cut)} after`)),
        );
      });
      expect((await bodyOf(answer)).toString()).toBe(`before ${'*'.repeat(SECRET.length)} after`);
    }
  });

  it.each<[string, Partial<EgressSenderOptions>, string]>([
    ['headers of the entry', { headers: { 'X-Api-Key': 'own-secret-1' } }, 'own-secret-1'],
    [
      'basic credentials of the entry',
      { headers: { Authorization: `Basic ${btoa('user:own-secret-1')}` } },
      'own-secret-1',
    ],
    [
      'the session token of AWS',
      {
        sign: {
          kind: 'aws',
          accessKeyId: 'a',
          secretAccessKey: 'b',
          sessionToken: 'own-secret-1',
          region: 'r',
          service: 's',
        },
      },
      'own-secret-1',
    ],
  ])('has %s masked', async (_what, options, secret) => {
    const answer = await answering((response) => response.end(`is ${secret}`), {}, options);
    expect((await bodyOf(answer)).toString()).toBe('is ************');
  });

  it('has the token masked that the host has made', async () => {
    const sign = {
      kind: 'jwt',
      algorithm: 'HS256',
      key: 'a secret that is long enough',
      claims: {},
      expiresSeconds: 600,
    } as const;
    const api = await startApi(echo);
    const got = await echoed(sender({ sign }), request(api, { headers: [['authorization', 'theirs']] }));
    expect(got.headers['authorization']).toMatch(/^Bearer \*{80,}$/);
  });

  it('is not masked if the entry says so, nor values that are short', async () => {
    const body = (answer: EgressAnswer): Promise<string> => bodyOf(answer).then(String);
    expect(await body(await answering((response) => response.end(SECRET), {}, { masksSecrets: false }))).toBe(SECRET);
    const short = { keys: [{ ...KEY, value: 'short' }] };
    expect(await body(await answering((response) => response.end('short'), {}, short))).toBe('short');
  });

  it.each([
    ['gzip', gzipSync(`is ${SECRET}`)],
    ['x-gzip', gzipSync(`is ${SECRET}`)],
    ['Deflate', deflateSync(`is ${SECRET}`)],
    ['br', brotliCompressSync(`is ${SECRET}`)],
    ['gzip, br', brotliCompressSync(gzipSync(`is ${SECRET}`))],
    ['identity', Buffer.from(`is ${SECRET}`)],
  ])('is decoded if it is compressed (%s), so that it can be masked', async (coding, bytes) => {
    const answer = await answering((response) => {
      response.writeHead(200, { 'content-encoding': coding, 'content-length': bytes.length }).end(bytes);
    });
    expect(Object.keys(headersOf(answer))).not.toEqual(expect.arrayContaining(['content-encoding']));
    expect(Object.keys(headersOf(answer))).not.toEqual(expect.arrayContaining(['content-length']));
    expect((await bodyOf(answer)).toString()).toBe(`is ${'*'.repeat(SECRET.length)}`);
  });

  it.each(['zstd', 'gzip, unknown', 'gzip, gzip, gzip, gzip'])(
    'is refused if it cannot be decoded (%s)',
    async (coding) => {
      const answer = answering((response) => response.writeHead(200, { 'content-encoding': coding }).end('x'));
      await expect(answer).rejects.toMatchObject({ code: 'SERVER_PROTOCOL' });
    },
  );

  it.each<[string, number, string]>([
    ['HEAD', 200, '1234'],
    ['GET', 204, ''],
    ['GET', 304, '1234'],
  ])('has no body (%s, %i)', async (method, status, length) => {
    const head = { 'content-encoding': 'gzip', ...(length !== '' && { 'content-length': length }) };
    const answer = await answering((response) => response.writeHead(status, head).end(), { method });
    expect(answer.body).toEqual(Buffer.alloc(0));
    expect(answer.status).toBe(status);
  });

  it('keeps the length of what a HEAD asks about', async () => {
    const answer = await answering((response) => response.writeHead(200, { 'content-length': '1234' }).end(), {
      method: 'HEAD',
    });
    expect(headersOf(answer)['content-length']).toBe('1234');
  });

  it.each([301, 302, 307, 308])(
    'is a redirect (%i), which is not followed, and whose query has the placeholder',
    async (status) => {
      const paths: (string | undefined)[] = [];
      const api = await startApi((incoming, response) => {
        paths.push(incoming.url);
        response.writeHead(status, { location: `/next${incoming.url?.slice(1)}` }).end('moved');
      });
      const moved = await sender({ keys: [KEY] }).send(request(`${api}/?k=${KEY.placeholder}`));
      expect(moved.status).toBe(status);
      expect(headersOf(moved)['location']).toBe(`/next?k=${KEY.placeholder}`);
      expect(paths).toEqual([`/?k=${encodeURIComponent(SECRET)}`]);
    },
  );

  it('comes event by event', async () => {
    let next: () => void = () => undefined;
    const answer = await answering((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      next = () => response.end('data: 2\n\n');
    });
    const events: string[] = [];
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      events.push(chunk.toString());
      next();
    }
    expect(events).toEqual(['data: 1\n\n', 'data: 2\n\n']);
  });

  it('comes before the body of the request has been read, which code can then send to the end', async () => {
    const body = Readable.from(
      Array.from({ length: 100 }, () => Buffer.alloc(64 * 1024)),
      { objectMode: false },
    );
    const answer = await answering(
      (response) =>
        response.writeHead(413, { connection: 'close' }).end('too large', () => response.socket?.destroySoon()),
      { method: 'POST', body },
    );
    expect(answer.status).toBe(413);
    expect((await bodyOf(answer)).toString()).toBe('too large');
    if (!body.readableEnded) {
      await once(body, 'end');
    }
  });
});

describe('hostile answers', () => {
  it.each<[string, string, string]>([
    ['a head without end', `HTTP/1.1 200 OK\r\n${'x-a: 1234567890\r\n'.repeat(10_000)}\r\n`, 'LIMIT_RESULT'],
    ['no HTTP', 'hello\r\n\r\n', 'SERVER_UNREACHABLE'],
    ['nothing', '', 'SERVER_UNREACHABLE'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 'SERVER_UNREACHABLE'],
    ['a line break in a header', 'HTTP/1.1 200 OK\r\nX-A: a\rX-B: c\r\n\r\n', 'SERVER_UNREACHABLE'],
    [
      'another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
      'SERVER_UNREACHABLE',
    ],
  ])('%s', async (_what, raw, code) => {
    await expect(sender().send(request(await startRaw(raw)))).rejects.toMatchObject({ code });
  });

  it.each<[string, string, string]>([
    ['a body that breaks off', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', 'SERVER_UNREACHABLE'],
    [
      'a body that is not compressed as it says',
      'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc',
      'SERVER_UNREACHABLE',
    ],
    ['a body beyond the limit', `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(2_000)}`, 'LIMIT_RESULT'],
  ])('%s', async (_what, raw, code) => {
    const answer = await sender({ limits: { maxBodyBytes: 1_000 } }).send(request(await startRaw(raw)));
    await expect(bodyOf(answer)).rejects.toMatchObject({ code });
  });

  it('an endless body is ended at the limit, and its connection is closed', async () => {
    const closed: Promise<void>[] = [];
    const api = await startApi((incoming, response) => {
      closed.push(closing(incoming));
      Readable.from(endless())
        .on('error', () => undefined)
        .pipe(response);
    });
    const answer = await sender({ keys: [KEY], limits: { maxBodyBytes: 1024 ** 2 } }).send(request(api));
    await expect(bodyOf(answer)).rejects.toMatchObject({ code: 'LIMIT_RESULT' });
    await closed[0];
  });

  it('a decompression bomb takes as much memory as the reader lets it', async () => {
    let sent = 0;
    const api = await startApi((_incoming, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      const bomb = createGzip();
      bomb.on('data', (chunk: Buffer) => {
        sent += chunk.length;
      });
      Readable.from(zeros(50)).pipe(bomb).pipe(response);
    });
    const answer = await sender({ keys: [KEY] }).send(request(api));
    const body = answer.body as Readable;
    await once(body, 'readable');
    await expect.poll(() => sent).toBeGreaterThan(0);
    // It is not read, so nothing more is decoded.
    expect(body.readableLength).toBeLessThan(512 * 1024);
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
    }
    expect(bytes).toBe(50 * 1024 ** 2);
  });

  it('silence ends the wait for the head, and that for the body', async () => {
    const api = await startApi((incoming, response) => {
      if (incoming.url === '/body') {
        response.write('x');
      }
    });
    const made = sender({ limits: { maxSilenceMs: 100 } });
    await expect(made.send(request(api))).rejects.toMatchObject({
      code: 'CALL_TIMEOUT',
      message: expect.stringContaining('0.1 s') as string,
    });
    const answer = await made.send(request(`${api}/body`));
    await expect(bodyOf(answer)).rejects.toMatchObject({ code: 'CALL_TIMEOUT' });
  });

  it('bytes that come slowly do not count as silence', async () => {
    const api = await startApi((_incoming, response) => {
      let left = 6;
      const timer = setInterval(() => {
        left -= 1;
        response[left === 0 ? 'end' : 'write']('x');
        if (left === 0) {
          clearInterval(timer);
        }
      }, 50);
    });
    const answer = await sender({ limits: { maxSilenceMs: 200 } }).send(request(api));
    expect((await bodyOf(answer)).toString()).toBe('xxxxxx');
  });
});

describe('the end of the connection to the sandbox', () => {
  it.each(['head', 'body'])('ends the request while it waits for the %s', async (what) => {
    const closed: Promise<void>[] = [];
    const api = await startApi((incoming, response) => {
      closed.push(closing(incoming));
      if (what === 'body') {
        response.write('x');
      } else {
        abort.abort();
      }
    });
    const abort = new AbortController();
    const answering = sender().send(request(api, { signal: abort.signal }));
    const read =
      what === 'head'
        ? answering
        : answering.then((answer) => {
            abort.abort();
            return bodyOf(answer);
          });
    await expect(read).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
    await closed[0];
  });

  it('before the request is sent', async () => {
    const sent = request(await startApi(echo), { signal: AbortSignal.abort() });
    await expect(sender().send(sent)).rejects.toMatchObject({ code: 'CALL_CANCELLED' });
  });

  it('leaves nothing at a signal that lives on', async () => {
    const { signal } = new AbortController();
    const added: unknown[] = [];
    const removed: unknown[] = [];
    signal.addEventListener = (_type: string, listener: unknown) => void added.push(listener);
    signal.removeEventListener = (_type: string, listener: unknown) => void removed.push(listener);
    const api = await startApi(echo);
    const made = sender();
    await bodyOf(await made.send(request(api, { signal })));
    await bodyOf(await made.send(request(api, { signal, method: 'HEAD' })));
    await made.send(request('http://127.0.0.1:1', { signal })).catch(() => undefined);
    expect(removed).toEqual(added);
    expect(added).toHaveLength(3);
  });

  it('a reader that leaves closes the connection', async () => {
    const closed: Promise<void>[] = [];
    const api = await startApi((incoming, response) => {
      closed.push(closing(incoming));
      response.write('x');
    });
    const answer = await sender().send(request(api));
    (answer.body as Readable).destroy();
    await closed[0];
    expect(closed).toHaveLength(1);
  });

  it('a body that breaks off ends the request', async () => {
    const body = new Readable({ read: () => undefined });
    const api = await startApi((incoming) => incoming.once('data', () => body.destroy()).on('error', () => undefined));
    body.push('first');
    await expect(sender().send(request(api, { method: 'POST', body }))).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
  });
});

describe('signatures of AWS', () => {
  const sign = {
    kind: 'aws',
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'a/secret+of-the-entry',
    region: 'eu-west-1',
    service: 'dynamodb',
  } as const;

  it('cover a body that was read whole', async () => {
    const got = await echoed(sender({ sign }), request(await startApi(echo), { method: 'POST', body: '{"a":1}' }));
    expect(got).toMatchObject({ body: '{"a":1}' });
    expect(got.headers['content-length']).toBe('7');
    expect(got.headers['authorization']).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/dynamodb\/aws4_request, SignedHeaders=host;x-amz-date, Signature=[\da-f]{64}$/,
    );
  });

  it('let a body pass whose hash is known, or not wanted', async () => {
    const headers = [['x-amz-content-sha256', 'UNSIGNED-PAYLOAD']] as const;
    const made = sender({ sign: { ...sign, service: 's3' }, limits: { maxHashedBytes: 3 } });
    const got = await echoed(made, request(await startApi(echo), { method: 'PUT', headers, body: 'hello' }));
    expect(got.body).toBe('hello');
  });

  it('refuse a body that is too long to be kept', async () => {
    const sent = request(await startApi(echo), { method: 'POST', body: 'hello' });
    await expect(sender({ sign, limits: { maxHashedBytes: 4 } }).send(sent)).rejects.toMatchObject({
      code: 'HTTP_REFUSED',
      message: expect.stringContaining('longer than 4 bytes') as string,
    });
  });
});

it('errors show no secret', async () => {
  const error = await sender({ keys: [{ ...KEY, value: 'api.secret.test' }], resolve: resolverOf({}) })
    .send(request('http://api.secret.test/?a'))
    .catch((thrown: unknown) => thrown as Error);
  expect(error).toMatchObject({ code: 'SERVER_UNREACHABLE' });
  expect((error as Error).message).not.toContain('api.secret.test');
});

/** Resolves when the connection is closed, in whatever way. */
function closing({ socket }: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve());
  });
}

async function* endless(): AsyncGenerator<Buffer> {
  for (;;) {
    yield Buffer.alloc(64 * 1024, 'x');
  }
}

async function* zeros(mebibytes: number): AsyncGenerator<Buffer> {
  for (let count = 0; count < mebibytes; count += 1) {
    yield Buffer.alloc(1024 ** 2);
  }
}
