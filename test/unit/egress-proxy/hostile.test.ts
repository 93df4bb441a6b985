/** What a hostile sandbox writes to the front of the egress: no request gets through that is not the one that was judged. */
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { openFront, textAnswer } from '../../support/egress.ts';
import { pause } from '../../support/pause.ts';

const END = '\r\n\r\n';
const GET = 'GET http://a.example/ HTTP/1.1\r\nHost: a.example';
const POST = 'POST http://a.example/ HTTP/1.1\r\nHost: a.example';
const CHUNKED = `${POST}\r\nTransfer-Encoding: chunked`;
/** What is smuggled: it must never be handled. */
const SMUGGLED = 'GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n';

/** Writes the text, and resolves with all that comes until the host ends the connection. */
async function say(socket: Duplex, bytes: string | Buffer): Promise<string> {
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  socket.write(bytes);
  await Promise.race([once(socket, 'end'), once(socket, 'close')]);
  return Buffer.concat(pieces).toString('latin1');
}

// biome-ignore format: a table, one row for each case.
const HEADS: readonly (readonly [what: string, text: string, status: number])[] = [
  ['both lengths', `${POST}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked${END}0${END}`, 400],
  ['both lengths, the other way round', `${CHUNKED}\r\nContent-Length: 5${END}0${END}`, 400],
  ['two lengths', `${POST}\r\nContent-Length: 5\r\nContent-Length: 60${END}hello`, 400],
  ['the same length twice', `${POST}\r\nContent-Length: 5\r\nContent-Length: 5${END}hello`, 400],
  ['a list of lengths', `${POST}\r\nContent-Length: 5, 5${END}hello`, 400],
  ['a length with a sign', `${POST}\r\nContent-Length: +5${END}hello`, 400],
  ['a length that is too large', `${POST}\r\nContent-Length: 99999999999999999999${END}`, 400],
  ['a space before the colon', `${POST}\r\nContent-Length : 5${END}hello`, 400],
  ['a folded header', `${GET}\r\nX-A: b\r\n c${END}`, 400],
  ['a folded length', `${POST}\r\nTransfer-Encoding:\r\n chunked${END}0${END}`, 400],
  ['a space before the first header', `GET http://a.example/ HTTP/1.1\r\n Host: a.example${END}`, 400],
  ['lines that end with LF only', `${GET.replace('\r\n', '\n')}\n\n`, 400],
  ['one line that ends with LF only', `${GET}\r\nX-A: b\nX-B: c${END}`, 400],
  ['a CR in a header', `${GET}\rX-A: b${END}`, 400],
  ['a NUL in a header', `${GET}\r\nX-A: b\0c${END}`, 400],
  ['a header without a name', `${GET}\r\n: b${END}`, 400],
  ['chunked twice', `${CHUNKED}\r\nTransfer-Encoding: chunked${END}0${END}`, 400],
  ['chunked and identity', `${CHUNKED}\r\nTransfer-Encoding: identity${END}0${END}`, 400],
  ['chunked in the middle', `${POST}\r\nTransfer-Encoding: chunked, gzip${END}0${END}`, 400],
  ['another encoding, too', `${POST}\r\nTransfer-Encoding: gzip, chunked${END}0${END}`, 400],
  ['chunked of HTTP/1.0', `${CHUNKED.replace('1.1', '1.0')}${END}0${END}`, 505],
  ['HTTP/1.0', `${GET.replace('HTTP/1.1', 'HTTP/1.0')}${END}`, 505],
  ['HTTP/0.9', 'GET http://a.example/\r\n\r\n', 505],
  ['HTTP/2.0', `${GET.replace('HTTP/1.1', 'HTTP/2.0')}${END}`, 505],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['another protocol', `DESCRIBE rtsp://a.example/ RTSP/1.0\r\nHost: a.example${END}`, 505],
  ['a method that is none', `FOO http://a.example/ HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['tabs in the first line', `GET\thttp://a.example/\tHTTP/1.1\r\nHost: a.example${END}`, 400],
  ['a space in the target', `GET http://a.example/ x HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['a byte in the target that is not ASCII', `GET http://a.example/\u00e9 HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['no Host', `GET http://a.example/ HTTP/1.1${END}`, 400],
  ['two Hosts', `${GET}\r\nHost: evil.example${END}`, 400],
  ['the same Host twice', `${GET}\r\nHost: a.example${END}`, 400],
  ['another Host', `GET http://a.example/ HTTP/1.1\r\nHost: evil.example${END}`, 400],
  ['another port in Host', `${GET}:8080${END}`, 400],
  ['a path in Host', `${GET}/x${END}`, 400],
  ['a user in Host', `GET http://a.example/ HTTP/1.1\r\nHost: evil.example@a.example${END}`, 400],
  ['a user in the target', `GET http://a.example@evil.example/ HTTP/1.1\r\nHost: evil.example${END}`, 400],
  ['a backslash in the host', `GET http://evil.example\\@a.example/ HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['an escape in the host', `GET http://%61.example/ HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['a dot after the host', `GET http://a.example./ HTTP/1.1\r\nHost: a.example.${END}`, 400],
  ['a fragment', `GET http://a.example/#x HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['a path at a host that is none', `GET / HTTP/1.1\r\nHost: a@b.example${END}`, 400],
  ['an asterisk', `OPTIONS * HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['another scheme', `GET ftp://a.example/ HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['a WebSocket', `${GET}\r\nConnection: Upgrade\r\nUpgrade: websocket${END}`, 501],
  ['h2c', `${GET}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__${END}`, 501],
  ['a head that is too long', `${GET}\r\nX-A: ${'x'.repeat(40_000)}${END}`, 431],
  ['a target that is too long', `GET http://a.example/${'x'.repeat(40_000)} HTTP/1.1\r\nHost: a.example${END}`, 431],
  ['too many headers', `${GET}\r\n${Array.from({ length: 300 }, (_, index) => `X-${index}: 1`).join('\r\n')}${END}`, 431],
  ['CONNECT without a port', `CONNECT a.example HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['CONNECT to port 0', `CONNECT a.example:0 HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['CONNECT to a port that is none', `CONNECT a.example:65536 HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['CONNECT to a URL', `CONNECT http://a.example:80 HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['CONNECT to a user', `CONNECT a.example@evil.example:443 HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['CONNECT with a body', `CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nContent-Length: 3${END}abc`, 400],
  ['CONNECT with two Hosts', `CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\nHost: evil.example${END}`, 400],
  ['bytes that are nothing', '\0\0\0\0\xff\xff\xff\xff', 400],
];

describe('refused, and the rest of the connection is not read:', () => {
  it.each(HEADS)('%s', async (_what, text, status) => {
    const { connect, requests } = await openFront();
    // After another version than HTTP/1.1, the parser itself ends the connection at the next byte.
    const more = status === 505 ? '' : SMUGGLED;
    const answer = await say(connect(), Buffer.from(`${text}${more}`, 'latin1'));
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} [ -~]{5,200}\r\n[^]*\r\nConnection: close\r\n`));
    expect(answer).toContain('X-Bridge-Error: HTTP_REFUSED');
    expect(answer.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
    expect(requests).toEqual([]);
  });
});

// biome-ignore format: a table, one row for each case.
const IN_TUNNEL: readonly (readonly [what: string, text: string, status: number])[] = [
  ['another Host', `GET / HTTP/1.1\r\nHost: evil.example${END}`, 421],
  ['another port', `GET / HTTP/1.1\r\nHost: a.example:81${END}`, 421],
  ['an absolute target', `GET http://a.example/ HTTP/1.1\r\nHost: a.example${END}`, 400],
  ['CONNECT', `CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443${END}`, 400],
  ['two Hosts', `GET / HTTP/1.1\r\nHost: a.example\r\nHost: a.example${END}`, 400],
  ['no Host', `GET / HTTP/1.1${END}`, 400],
  ['both lengths', `POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\nTransfer-Encoding: chunked${END}0${END}`, 400],
  ['a WebSocket', `GET / HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket${END}`, 501],
];

describe('refused in a tunnel:', () => {
  it.each(IN_TUNNEL)('%s', async (_what, text, status) => {
    const { tunnel, requests } = await openFront();
    const answer = await say(await tunnel('a.example:80'), `${text}${SMUGGLED}`);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
    expect(requests).toEqual([]);
  });

  it.each(IN_TUNNEL.filter(([what]) => what !== 'another port'))('%s, in TLS', async (_what, text, status) => {
    const { tls, requests } = await openFront();
    const answer = await say(await tls('a.example:443'), `${text}${SMUGGLED}`);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(requests).toEqual([]);
  });
});

// biome-ignore format: a table, one row for each case.
const BODIES: readonly (readonly [what: string, text: string])[] = [
  ['a size that is none', `0x5\r\nhello\r\n0${END}`],
  ['a size with a sign', `-5\r\nhello\r\n0${END}`],
  ['a size that is too large', `fffffffffffffffff\r\nhello\r\n0${END}`],
  ['more than its size', `3\r\nhello\r\n0${END}`],
  ['a size that ends with LF only', `5\nhello\r\n0${END}`],
  ['a trailer that is too long', `0\r\nX-A: ${'x'.repeat(70_000)}${END}`],
  ['an extension that is too long', `5;${'x'.repeat(70_000)}\r\nhello\r\n0${END}`],
];

describe('the connection ends in the middle of a chunked body with', () => {
  it.each(BODIES)('%s', async (_what, text) => {
    const read: unknown[] = [];
    const { connect, requests } = await openFront(async ({ body }) => {
      try {
        for await (const piece of body) {
          read.push(`${piece}`);
        }
        return textAnswer('all');
      } catch (error) {
        read.push(error);
        throw error;
      }
    });
    const socket = connect();
    socket.write(`${CHUNKED}${END}`);
    await expect.poll(() => requests.length).toBe(1);
    expect(await say(socket, `${text}${SMUGGLED}`)).toBe('');
    expect(requests).toHaveLength(1);
    await expect.poll(() => read.at(-1)).toMatchObject({ code: 'CALL_CANCELLED' });
  });
});

it('a trailer never becomes a header: what follows is refused, or with an older parser a request of its own', async () => {
  const { connect, requests } = await openFront(async ({ body, url }) => {
    for await (const _piece of body) {
      // Only read.
    }
    return textAnswer(url.href);
  });
  const socket = connect();
  socket.write(`${CHUNKED}${END}0\r\nContent-Length: 4${END}${SMUGGLED}`);
  await expect.poll(() => socket.resume().closed || requests.length === 2).toBe(true);
  const judged = requests.map(({ headers, url }) => [url.href, ...headers.map(([name]) => name)]);
  expect([
    [],
    [['http://a.example/', 'Host']],
    [
      ['http://a.example/', 'Host'],
      ['http://evil.example/', 'Host'],
    ],
  ]).toContainEqual(judged);
});

describe('allowed, because it is not dangerous:', () => {
  it.each([
    ['an empty line before a request', `\r\n${GET}\r\nConnection: close${END}`],
    ['the default port in Host', `${GET}:80\r\nConnection: close${END}`],
    ['another case', `GET http://A.Example/ HTTP/1.1\r\nHost: a.EXAMPLE\r\nConnection: close${END}`],
    ['an extension of a chunk', `${CHUNKED}\r\nConnection: close${END}5;a=b\r\nhello\r\n0${END}`],
  ])('%s', async (_what, text) => {
    const { connect, requests } = await openFront();
    expect(await say(connect(), text)).toMatch(/^HTTP\/1.1 200 OK/);
    expect(requests.map(({ url }) => url.href)).toEqual(['http://a.example/']);
  });

  it('CONNECT of HTTP/1.0, which Python before 3.12 sends', async () => {
    const { connect } = await openFront();
    const socket = connect();
    socket.write('CONNECT a.example:443 HTTP/1.0\r\n\r\n');
    expect(`${(await once(socket, 'data'))[0]}`).toMatch(/^HTTP\/1.1 200 /);
  });
});

describe('what was judged is what is sent:', () => {
  it.each([
    ['https://a.example/', 'https://a.example/'],
    ['http://a.example/v1/../admin', 'http://a.example/admin'],
    ['http://a.example/v1/%2e%2E/admin', 'http://a.example/admin'],
    ['http://a.example/v1\\..\\admin', 'http://a.example/admin'],
    ['http://a.example/v1%2f..', 'http://a.example/v1%2f..'],
    ['http://a.example?b', 'http://a.example/?b'],
    ['http://0x7f.1/', 'http://127.0.0.1/'],
  ])('%s is %s', async (target, url) => {
    const { connect, requests } = await openFront();
    const host = target.replace(/^https?:\/\/([^/?]*).*$/, '$1');
    await say(connect(), `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close${END}`);
    expect(requests.map((request) => request.url.href)).toEqual([url]);
  });
});

describe('CONNECT', () => {
  it('ends the connection while an answer is due', async () => {
    const { connect, requests } = await openFront(() => new Promise(() => undefined));
    expect(await say(connect(), `${GET}${END}CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example${END}`)).toBe('');
    await expect.poll(() => requests.every(({ signal }) => signal.aborted)).toBe(true);
  });

  it('may come with the first bytes of the tunnel', async () => {
    const { connect, requests } = await openFront();
    const socket = connect();
    const answer = await say(
      socket,
      `CONNECT a.example:80 HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: a.example\r\nConnection: close${END}`,
    );
    expect(answer).toMatch(/^HTTP\/1.1 200 Connection established\r\n\r\nHTTP\/1.1 200 OK/);
    expect(requests.map(({ url }) => url.href)).toEqual(['http://a.example/b']);
  });
});

describe('bytes at random', () => {
  /** A small generator with a seed (mulberry32), so that a failure can be repeated. */
  function randomOf(seed: number): (below: number) => number {
    let state = seed;
    return (below) => {
      state = (state + 0x6d_2b_79_f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
    };
  }

  const SEEDS = [
    `${GET}${END}`,
    `${CHUNKED}${END}5\r\nhello\r\n0${END}`,
    `CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443${END}\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00`,
    `CONNECT a.example:80 HTTP/1.1\r\nHost: a.example${END}GET / HTTP/1.1\r\nHost: a.example${END}`,
  ];

  it('never throw, and leave nothing behind', async () => {
    const { connect, front } = await openFront(async ({ body }) => {
      body.resume();
      await once(body, 'end').catch(() => undefined);
      return textAnswer('all');
    });
    const random = randomOf(20_261_130);
    const sockets: Duplex[] = [];
    for (let round = 0; round < 400; round += 1) {
      const bytes = Buffer.from(SEEDS[random(SEEDS.length)] ?? '', 'latin1');
      for (let change = random(4); change > 0; change -= 1) {
        bytes[random(bytes.length)] = random(256);
      }
      const socket = connect().resume();
      sockets.push(socket);
      const cut = random(bytes.length);
      socket.write(bytes.subarray(0, cut));
      if (random(3) === 0) {
        await pause(1, 'the host reads the first part');
      }
      if (random(4) === 0) {
        socket.destroy();
      } else {
        socket.write(bytes.subarray(cut));
        if (random(3) === 0) {
          socket.end();
        }
      }
      if (round % 60 === 59) {
        await pause(10, 'the host reads all of them');
        sockets.splice(0).forEach((one) => one.destroy());
      }
    }
    front.close();
    await expect.poll(() => sockets.every(({ destroyed }) => destroyed)).toBe(true);
  });
});
