import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type Duplex, PassThrough, Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { connect as tlsConnect } from 'node:tls';
import { describe, expect, it, vi } from 'vitest';
import type { EgressAnswer } from '../../../src/core/base/egress-exchange.ts';
import { BridgeError, type ErrorCode } from '../../../src/core/base/errors.ts';
import { fetchOn, keepingAgent, openFront, send, textAnswer } from '../../support/egress.ts';
import { pause } from '../../support/pause.ts';

const MIB = 1024 * 1024;

function sha256(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

/** All that comes until the connection ends. */
function rest(socket: Duplex): Promise<string> {
  return text(socket).catch((error: unknown) => `broken: ${(error as Error).message}`);
}

describe('what a request is for', () => {
  it('is the absolute target of a request to the proxy', async () => {
    const { connect, requests } = await openFront();
    const { text: got, response } = await fetchOn(connect(), {
      path: 'http://API.example:8080/v1?a=b',
      headers: {
        Host: 'api.example:8080',
        'X-A': 'b',
        'Proxy-Connection': 'keep-alive',
        Connection: 'X-Only, close',
        'X-Only': '1',
      },
    });
    expect(got).toBe('GET http://api.example:8080/v1?a=b');
    expect(response.statusMessage).toBe('OK');
    expect(requests[0]?.headers).toEqual([
      ['Host', 'api.example:8080'],
      ['X-A', 'b'],
    ]);
  });

  it.each([
    ['api.example:443', 'https://api.example/v1'],
    ['api.example:8443', 'https://api.example:8443/v1'],
    ['192.0.2.7:443', 'https://192.0.2.7/v1'],
    ['[2001:db8::7]:443', 'https://[2001:db8::7]/v1'],
  ])('is the path in TLS in a tunnel to %s', async (target, url) => {
    const { tls } = await openFront();
    const host = target.replace(/:443$/, '');
    const address = /[\d.]{7,}|2001[^\]]+/.exec(host)?.[0];
    const socket = await tls(target, address === undefined ? {} : { servername: '', host: address });
    const { text: got } = await fetchOn(socket, { path: '/v1', headers: { Host: host } });
    expect(got).toBe(`GET ${url}`);
    expect(socket.authorized).toBe(true);
  });

  it('is the path of plain HTTP in a tunnel', async () => {
    const { tunnel } = await openFront();
    const { text: got } = await fetchOn(await tunnel('api.example:80'), {
      path: '/v1',
      headers: { Host: 'api.example' },
    });
    expect(got).toBe('GET http://api.example/v1');
  });

  it('is that of the handshake, or of `Host`, for a client that knows no proxy', async () => {
    const { authority, connect } = await openFront();
    const plain = await fetchOn(connect(), { path: '/v1?a=b', headers: { Host: 'api.example' } });
    expect(plain.text).toBe('GET http://api.example/v1?a=b');
    const socket = tlsConnect({ socket: connect(), servername: 'api.example', ca: authority.certificate });
    const { text: got } = await fetchOn(socket, { path: '/v1', headers: { Host: 'api.example' } });
    expect(got).toBe('GET https://api.example/v1');
    expect(socket.authorized).toBe(true);
    const other = tlsConnect({ socket: connect(), servername: 'api.example', ca: authority.certificate });
    const { response } = await fetchOn(other, { path: '/v1', headers: { Host: 'evil.example' } });
    expect(response.statusCode).toBe(421);
  });

  it('must be said in the handshake without a tunnel', async () => {
    const { authority, connect, requests } = await openFront();
    const socket = tlsConnect({ socket: connect(), ca: authority.certificate, checkServerIdentity: () => undefined });
    const [error] = (await once(socket, 'error')) as [Error];
    expect(error.message).toMatch(/handshake|disconnected|no suitable|reset/i);
    expect(requests).toEqual([]);
  });

  it('cannot be changed by what looks like the start of another host', async () => {
    const { tunnel } = await openFront();
    const { text: got } = await fetchOn(await tunnel('api.example:80'), {
      path: '//evil.example/v1',
      headers: { Host: 'api.example' },
    });
    expect(got).toBe('GET http://api.example//evil.example/v1');
  });
});

describe('TLS', () => {
  it('agrees on HTTP/1.1, never on HTTP/2', async () => {
    const { tls } = await openFront();
    const socket = await tls('api.example:443', { ALPNProtocols: ['h2', 'http/1.1'] });
    expect(socket.alpnProtocol).toBe('http/1.1');
    await expect(tls('api.example:443', { ALPNProtocols: ['h2'] })).rejects.toThrow(/no application protocol/);
  });

  it('is refused for another host than that of CONNECT', async () => {
    const { tls, requests } = await openFront();
    const options = { servername: 'other.example', rejectUnauthorized: false };
    await expect(tls('api.example:443', options)).rejects.toThrow();
    expect(requests).toEqual([]);
  });

  it('ends the connection if the client does not trust the authority', async () => {
    const { tunnel, authority } = await openFront();
    const { connect } = await import('node:tls');
    const stream = await tunnel('api.example:443');
    const socket = connect({ socket: stream, servername: 'api.example' });
    await expect(once(socket, 'secureConnect')).rejects.toThrow(/unable to verify/);
    await expect.poll(() => stream.destroyed).toBe(true);
    expect(authority.certificate).toMatch(/^-----BEGIN CERTIFICATE-----/);
  });
});

describe('connections', () => {
  it('are kept for the next request', async () => {
    const { tls, requests } = await openFront();
    const agent = keepingAgent(await tls('api.example:443'));
    for (const path of ['/1', '/2', '/3']) {
      const { text: got } = await fetchOn(agent, { path, host: 'api.example', headers: { Host: 'api.example' } });
      expect(got).toBe(`GET https://api.example${path}`);
    }
    expect(requests).toHaveLength(3);
  });

  it('answer requests that come at once in order, one at a time', async () => {
    let running = 0;
    let most = 0;
    const { connect } = await openFront(async ({ url, body }) => {
      running += 1;
      most = Math.max(most, running);
      const sent = await text(body);
      await pause(url.pathname === '/1' ? 30 : 0, 'so that the second could overtake the first');
      running -= 1;
      return textAnswer(`${url.pathname} ${sent};`);
    });
    const socket = connect();
    const one = (path: string, body: string) =>
      `POST http://a.example${path} HTTP/1.1\r\nHost: a.example\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    socket.write(
      `${one('/1', 'x')}${one('/2', 'yy')}GET http://a.example/3 HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`,
    );
    expect((await rest(socket)).match(/\/\d.*;/g)).toEqual(['/1 x;', '/2 yy;', '/3 ;']);
    expect(most).toBe(1);
  });

  it('end if too many requests come before their answers', async () => {
    const { connect, requests } = await openFront(() => new Promise(() => undefined));
    const socket = connect();
    const one = 'GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n';
    socket.write(one);
    await expect.poll(() => requests.length).toBe(1);
    socket.write(one.repeat(100));
    await once(socket.resume(), 'close');
    expect(requests).toHaveLength(1);
    await expect.poll(() => requests[0]?.signal.aborted).toBe(true);
  });

  it('are limited', async () => {
    const { connect } = await openFront();
    const sockets = Array.from({ length: 97 }, connect);
    await expect.poll(() => sockets.filter(({ destroyed }) => destroyed).length).toBe(1);
    sockets[0]?.destroy();
    await pause(20, 'the host sees the end after the sandbox');
    const { text: got } = await fetchOn(connect(), { path: 'http://a.example/', headers: { Host: 'a.example' } });
    expect(got).toBe('GET http://a.example/');
  });

  it('all end with the front', async () => {
    const { connect, front, tls } = await openFront();
    const sockets = [connect(), await tls('a.example:443')];
    front.close();
    sockets.push(connect());
    for (const socket of sockets) {
      await expect.poll(() => socket.destroyed).toBe(true);
    }
  });

  it('end if the head of a request does not come, wherever they are', async () => {
    const { connect, tunnel, tls } = await openFront();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const sockets = [connect(), connect(), await tunnel('a.example:443'), await tls('a.example:443')];
      sockets[1]?.write('GET http://a.example/ HTTP/1.1\r\nHost:');
      sockets[2]?.write(Buffer.from([0x16, 3, 1]));
      await vi.advanceTimersByTimeAsync(59_000);
      expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false, false, false]);
      await vi.advanceTimersByTimeAsync(2_000);
      await expect.poll(() => sockets.map(({ destroyed }) => destroyed)).toEqual([true, true, true, true]);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('a request in progress', () => {
  it('has its connection as long as bytes move, and 15 minutes more', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const body = new PassThrough();
      const { connect, requests } = await openFront(() => Promise.resolve({ status: 200, headers: [], body }));
      const socket = connect().resume();
      socket.write('GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n');
      for (let minutes = 0; minutes < 40; minutes += 10) {
        await vi.advanceTimersByTimeAsync(10 * 60_000);
        body.write('piece');
        await once(socket, 'data');
      }
      await vi.advanceTimersByTimeAsync(14 * 60_000);
      expect(requests.map(({ signal }) => signal.aborted)).toEqual([false]);
      await vi.advanceTimersByTimeAsync(2 * 60_000);
      await expect.poll(() => requests[0]?.signal.aborted && body.destroyed).toBe(true);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe('bodies', () => {
  it.each(['http', 'https'])('of 8 MiB arrive whole over %s, both ways', async (scheme) => {
    const received = new PassThrough();
    const { connect, tls } = await openFront(async ({ body }) => {
      const sent = await buffer(body);
      received.end(sha256(sent));
      return { status: 200, headers: [['Content-Length', `${sent.length}`]], body: Readable.from([sent]) };
    });
    const content = randomBytes(8 * MIB);
    const socket = scheme === 'http' ? connect() : await tls('a.example:443');
    const path = scheme === 'http' ? 'http://a.example/' : '/';
    const { body } = await fetchOn(socket, { method: 'PUT', path, headers: { Host: 'a.example' }, content });
    expect(await text(received)).toBe(sha256(content));
    expect(sha256(body)).toBe(sha256(content));
  });

  it('are not read faster than the sandbox reads them', async () => {
    let produced = 0;
    const { tls } = await openFront(() => {
      const body = new Readable({
        read() {
          produced += 64 * 1024;
          this.push(produced > 16 * MIB ? null : Buffer.alloc(64 * 1024));
        },
      });
      return Promise.resolve({ status: 200, headers: [], body });
    });
    const response = await send(await tls('a.example:443'), { path: '/', headers: { Host: 'a.example' } });
    await pause(200, 'nothing happens that could be awaited');
    expect(produced).toBeLessThan(2 * MIB);
    expect((await buffer(response)).length).toBe(16 * MIB);
  });

  it.each([true, false])('are not read faster than the handler reads them (any of it: %s)', async (reads) => {
    const { connect } = await openFront(async ({ body }) => {
      if (reads) {
        await once(body, 'readable');
        body.read(1);
      }
      return new Promise(() => undefined);
    });
    const socket = connect();
    socket.write('PUT http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 99999999\r\n\r\n');
    for (let index = 0; index < 128; index += 1) {
      socket.write(Buffer.alloc(64 * 1024));
    }
    await pause(200, 'nothing happens that could be awaited');
    expect(socket.writableLength).toBeGreaterThan(7 * MIB);
  });

  it('arrive piece by piece', async () => {
    const body = new PassThrough();
    const { tls } = await openFront(() =>
      Promise.resolve({ status: 200, headers: [['Content-Type', 'text/event-stream']], body }),
    );
    const response = await send(await tls('a.example:443'), { path: '/', headers: { Host: 'a.example' } });
    for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
      body.write(event);
      expect(`${(await once(response, 'data'))[0]}`).toBe(event);
    }
    body.end();
    await once(response, 'end');
    expect(response.headers).toMatchObject({ 'transfer-encoding': 'chunked' });
    expect(response.headers).not.toHaveProperty('date');
  });

  it.each([
    [
      'breaks off',
      [],
      () =>
        Readable.from(
          (async function* () {
            yield Buffer.from('half');
            await Promise.resolve();
            throw new Error('gone');
          })(),
        ),
    ],
    ['is shorter than said', [['Content-Length', '9']], () => Readable.from([Buffer.from('half')])],
    ['is longer than said', [['Content-Length', '3']], () => Readable.from([Buffer.from('half')])],
  ] as const)('that %s are never taken for whole ones', async (_how, headers, body) => {
    const { connect } = await openFront(() => Promise.resolve({ status: 200, headers, body: body() }));
    const response = await send(connect(), { path: 'http://a.example/', headers: { Host: 'a.example' } });
    await expect(buffer(response)).rejects.toThrow(/aborted/);
    expect(response.complete).toBe(false);
  });

  it.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('are left out of the answer to %s with %i', async (method, status) => {
    const { connect } = await openFront(() =>
      Promise.resolve({ status, headers: [['Content-Length', '4']], body: Readable.from([Buffer.from('text')]) }),
    );
    const socket = connect();
    socket.write(`${method} http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n`);
    const answer = await rest(socket);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [^]*\r\n\r\n$`));
    expect(answer.includes('Content-Length: 4')).toBe(status !== 204);
  });

  it('end with their trailers dropped', async () => {
    const { connect, requests } = await openFront(async ({ body }) => textAnswer(await text(body)));
    const socket = connect();
    socket.write(
      'POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\nConnection: close\r\n\r\n',
    );
    socket.write('2\r\nhi\r\n0\r\nX-T: 1\r\n\r\n');
    expect(await rest(socket)).toMatch(/\r\n\r\nhi$/);
    expect(requests[0]?.headers).toEqual([['Host', 'a.example']]);
  });
});

describe('Expect: 100-continue', () => {
  const HEAD = 'PUT http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n';

  it('is answered when the body is wanted', async () => {
    const { connect, requests } = await openFront(async ({ body }) => textAnswer(await text(body)));
    const socket = connect();
    socket.write(HEAD);
    expect(`${(await once(socket, 'data'))[0]}`).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write('hi');
    expect(`${(await once(socket, 'data'))[0]}`).toMatch(/^HTTP\/1.1 200 OK/);
    expect(requests[0]?.headers.map(([name]) => name)).toEqual(['Host', 'Content-Length']);
  });

  it('is not if nobody reads the body', async () => {
    const { connect } = await openFront();
    const socket = connect();
    socket.write(HEAD);
    expect(await rest(socket)).toMatch(/^HTTP\/1.1 200 OK\r\n[^]*Connection: close/);
  });

  it('is not if the request is refused: the connection ends without the body', async () => {
    const { connect } = await openFront(() => Promise.reject(new BridgeError('POLICY_DENIED', 'no')));
    const socket = connect();
    socket.write(HEAD);
    expect(await rest(socket)).toMatch(/^HTTP\/1.1 403 no\r\n[^]*Connection: close/);
  });
});

describe('errors of the handler', () => {
  it.each<[ErrorCode, number]>([
    ['POLICY_DENIED', 403],
    ['POLICY_LIMIT', 403],
    ['APPROVAL_TIMEOUT', 403],
    ['CALL_REFUSED', 403],
    ['CALL_TIMEOUT', 504],
    ['SERVER_UNREACHABLE', 502],
    ['INTERNAL', 502],
  ])('with the code %s have the status %i', async (code, status) => {
    const { connect } = await openFront(() =>
      Promise.reject(new BridgeError(code, 'It is\r\nX: not “allowed”', { hint: 'Ask.' })),
    );
    const { response, text: json } = await fetchOn(connect(), {
      path: 'http://a.example/',
      headers: { Host: 'a.example' },
    });
    expect(response.statusCode).toBe(status);
    expect(response.statusMessage).toBe('It is X: not ?allowed?');
    expect(response.headers).toMatchObject({ 'x-bridge-error': code, 'content-type': 'application/json' });
    expect(JSON.parse(json)).toEqual({ error: { code, message: 'It is\r\nX: not “allowed”', hint: 'Ask.' } });
  });

  it('have a short reason', async () => {
    const { connect } = await openFront(() => Promise.reject(new Error('x'.repeat(500))));
    const { response } = await fetchOn(connect(), { path: 'http://a.example/', headers: { Host: 'a.example' } });
    expect(response.statusMessage).toBe(`${'x'.repeat(197)}...`);
  });

  it.each(['nothing', 'a part'])(
    'leave the connection to the next request, if %s of the body was read',
    async (read) => {
      const { tls, requests } = await openFront(async ({ url, body }) => {
        if (read === 'a part') {
          await once(body, 'readable');
          body.read(1);
        }
        if (url.pathname === '/1') {
          throw new BridgeError('POLICY_DENIED', 'no');
        }
        return textAnswer('yes');
      });
      const agent = keepingAgent(await tls('a.example:443'));
      const options = { host: 'a.example', headers: { Host: 'a.example' }, method: 'PUT' };
      const first = await fetchOn(agent, { ...options, path: '/1', content: Buffer.alloc(MIB) });
      const second = await fetchOn(agent, { ...options, path: '/2', content: 'x' });
      expect([first.response.statusCode, second.text]).toEqual([403, 'yes']);
      expect(requests).toHaveLength(2);
    },
  );

  it.each<[string, Partial<EgressAnswer>]>([
    ['a header with a line break', { headers: [['X-A', 'b\r\nX-B: c']] }],
    ['a name with a space', { headers: [['X A', 'b']] }],
    ['a status of its own', { status: 101 }],
  ])('include answers with %s', async (_what, wrong) => {
    const { connect } = await openFront(() =>
      Promise.resolve({ status: 200, headers: [], body: Buffer.from('x'), ...wrong }),
    );
    const { response } = await fetchOn(connect(), { path: 'http://a.example/', headers: { Host: 'a.example' } });
    expect(response.statusCode).toBe(502);
    expect(response.headers).not.toHaveProperty('x-b');
  });
});

describe('headers of an answer', () => {
  it('are passed on without those of the connection to the server', async () => {
    const { connect } = await openFront(() =>
      Promise.resolve({
        status: 200,
        reason: 'Fine',
        headers: [
          ['Set-Cookie', 'a=1'],
          ['set-cookie', 'b=2'],
          ['Connection', 'X-Hop'],
          ['X-Hop', '1'],
          ['Keep-Alive', 'timeout=5'],
          ['Transfer-Encoding', 'chunked'],
          ['Proxy-Authenticate', 'Basic'],
        ],
        body: Buffer.from('text'),
      }),
    );
    const { response } = await fetchOn(connect(), { path: 'http://a.example/', headers: { Host: 'a.example' } });
    expect(response.statusMessage).toBe('Fine');
    expect(response.rawHeaders).toEqual([
      'Set-Cookie',
      'a=1',
      'set-cookie',
      'b=2',
      'Content-Length',
      '4',
      'Connection',
      'close',
    ]);
  });
});

describe('a client that disappears', () => {
  it.each(['before the answer', 'in the middle of its body', 'in the middle of the answer'])('%s', async (when) => {
    const body = new PassThrough();
    const { tls, requests } = await openFront(async (request) => {
      if (when === 'in the middle of its body') {
        await buffer(request.body);
      }
      if (when === 'before the answer') {
        await new Promise((resolve) => {
          request.signal.addEventListener('abort', resolve);
        });
      }
      return { status: 200, headers: [], body };
    });
    const socket = await tls('a.example:443');
    socket.write('PUT / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 10\r\n\r\nhalf');
    await expect.poll(() => requests.length).toBe(1);
    if (when === 'in the middle of the answer') {
      body.write('half');
      await once(socket, 'data');
    }
    expect(requests[0]?.signal.aborted).toBe(false);
    socket.destroy();
    await expect.poll(() => requests[0]?.signal.aborted).toBe(true);
    expect(requests[0]?.signal.reason).toMatchObject({ code: 'CALL_CANCELLED' });
    expect(requests[0]?.body.destroyed).toBe(true);
    await expect.poll(() => body.destroyed || when === 'in the middle of its body').toBe(true);
  });
});
