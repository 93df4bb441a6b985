/**
 * APIs that attack whoever calls them, for `startFakeInternet`. Each path of `hostile.example.com` is one attack. The other hosts and
 * addresses are where attacks lead: no request may reach them with a key.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

export const HOSTILE_HOST = 'hostile.example.com';
export const OTHER_HOST = 'other.example.com';
/** Allowed for code, without a key. */
export const OPEN_HOST = 'open.example.com';
export const PRIVATE_HOSTS = ['169.254.169.254', '127.0.0.1', '10.0.0.7', '::1', 'localhost', 'localtest.me'];

type Attack = (request: IncomingMessage, response: ServerResponse) => void;

const REDIRECTS: Readonly<Record<string, string>> = {
  host: `https://${OTHER_HOST}/v1/items`,
  http: `http://${HOSTILE_HOST}/v1/items`,
  port: `https://${HOSTILE_HOST}:8443/v1/items`,
  metadata: 'http://169.254.169.254/latest/meta-data/',
  loopback: 'https://127.0.0.1/',
  decimal: 'http://2130706433/',
  userinfo: `https://${HOSTILE_HOST}@${OTHER_HOST}/`,
  file: 'file:///etc/passwd',
};

/** Forms in which a key comes back. */
const ECHOES: Readonly<Record<string, (key: string) => string>> = {
  plain: (key) => key,
  base64: (key) => Buffer.from(key).toString('base64'),
  'base64-moved': (key) => Buffer.from(`x${key}`).toString('base64url'),
  hex: (key) => Buffer.from(key).toString('hex'),
  percent: (key) => encodeURIComponent(key),
  'percent-all': (key) => Buffer.from(key).toString('hex').replaceAll(/../g, '%$&'),
  json: (key) => JSON.stringify({ key: `"${key}"` }),
  'json-escaped': (key) => `"${escapeAll(key)}"`,
};

/** Each character as `\uXXXX`. */
export function escapeAll(text: string): string {
  return text.replaceAll(/./g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Everything in a request that may hold a key. */
function keysOf({ url = '', headers }: IncomingMessage): string {
  const basic = Buffer.from(headers.authorization?.replace(/^Basic /, '') ?? '', 'base64').toString('latin1');
  const query = decodeURIComponent(url.replace(/^[^?]*/, ''));
  return [headers.authorization, headers['x-api-key'], query, basic.includes('canary') ? basic : '']
    .filter(Boolean)
    .join(' ');
}

const ECHO_ATTACKS: Readonly<Record<string, Attack>> = {
  ...Object.fromEntries(
    Object.entries(ECHOES).map(([name, encode]): [string, Attack] => [
      `/echo/${name}`,
      (request, response) => response.end(`before ${encode(keysOf(request))} after`),
    ]),
  ),
  '/echo/header': (request, response) => response.writeHead(200, { 'x-echo': keysOf(request) }).end(),
  '/echo/cookie': (request, response) => response.writeHead(200, { 'set-cookie': `key=${keysOf(request)}` }).end(),
  '/echo/reason': (request, response) => response.writeHead(200, `OK ${keysOf(request)}`).end(),
  '/echo/location': (request, response) =>
    response.writeHead(201, { location: `/?key=${encodeURIComponent(keysOf(request))}` }).end(),
  '/echo/gzip': (request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(keysOf(request))),
  '/echo/trailer': (request, response) => {
    response.writeHead(200, { trailer: 'x-echo' }).write('body');
    response.addTrailers({ 'x-echo': keysOf(request) });
    response.end();
  },
  // Each character in a chunk of its own, and in a packet of its own as far as the network lets it.
  '/echo/split': (request, response) => {
    const rest = keysOf(request).split('');
    const writeNext = (): void => {
      const next = rest.shift();
      if (next === undefined) {
        response.end();
      } else {
        response.write(next, () => setImmediate(writeNext));
      }
    };
    writeNext();
  },
};

/** These bytes, instead of what Node would send. */
function raw(...lines: readonly string[]): Attack {
  return ({ socket }) => socket.end(lines.join('\r\n'));
}

/** 16 MiB of zeros, packed: a gzip file may be any number of such members, one after the other. */
const MEMBER = gzipSync(Buffer.alloc(16 * 1024 * 1024));
const BOMB_MEMBERS = 640;

/** Writes until nobody reads any more, or `count` times. */
function keepWriting(response: ServerResponse, chunk: Buffer, count = Number.POSITIVE_INFINITY): void {
  let left = count;
  const writeSome = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= 1;
      if (!response.write(chunk)) {
        response.once('drain', writeSome);
        return;
      }
    }
    response.end();
  };
  writeSome();
}

const SHAPE_ATTACKS: Readonly<Record<string, Attack>> = {
  /** 10 GiB. */
  '/bomb': (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    keepWriting(response, MEMBER, BOMB_MEMBERS);
  },
  '/bomb/twice': (_request, response) => {
    const packed = gzipSync(Buffer.concat(Array.from({ length: BOMB_MEMBERS }, () => MEMBER)));
    response.writeHead(200, { 'content-encoding': 'gzip, gzip' }).end(packed);
  },
  '/endless': (_request, response) => keepWriting(response, Buffer.alloc(65_536, 'e')),
  '/short': raw('HTTP/1.1 200 OK', 'content-length: 1000', '', 'too short'),
  '/two-lengths': raw('HTTP/1.1 200 OK', 'content-length: 5', 'content-length: 40', '', 'hello'),
  '/length-and-chunks': raw(
    'HTTP/1.1 200 OK',
    'content-length: 3',
    'transfer-encoding: chunked',
    '',
    '5',
    'hello',
    '0',
    '',
    '',
  ),
  '/bad-chunks': raw('HTTP/1.1 200 OK', 'transfer-encoding: chunked', '', '5', 'hello', 'zz', 'garbage', '', ''),
  '/no-http': raw('this is not HTTP', ''),
  '/bad-status': raw('HTTP/1.1 9999 Over', 'content-length: 0', '', ''),
  '/folded': raw('HTTP/1.1 200 OK', 'x-first: one', ' x-second: two', 'content-length: 0', '', ''),
  '/bare-returns': raw('HTTP/1.1 200 OK', 'x-first: one\rset-cookie: a=b', 'content-length: 0', '', ''),
  '/switching': raw('HTTP/1.1 101 Switching Protocols', 'upgrade: raw', 'connection: upgrade', '', 'anything'),
  '/two-answers': ({ socket }) => {
    const answer = (text: string): string => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
    // On a connection that is used again, the second one would answer the next request, maybe of another session.
    socket.write(answer('first') + answer('of another request'));
  },
  /** Answers without reading the request. */
  '/early': (_request, response) => response.writeHead(200, { 'content-length': 5 }).end('early'),
  '/early-close': ({ socket }) =>
    socket.end('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n'),
  '/big-header': raw('HTTP/1.1 200 OK', `x-big: ${'h'.repeat(1_000_000)}`, 'content-length: 0', '', ''),
  '/many-headers': raw('HTTP/1.1 200 OK', ...Array.from({ length: 20_000 }, (_, at) => `x-${at}: 1`), '', ''),
  '/informational': ({ socket }) => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(100_000);
    socket.end(`${hints}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`);
  },
  '/silent': () => undefined,
  '/drip': (_request, response) => {
    response.writeHead(200).write('d');
    const timer = setInterval(() => response.write('d'), 200);
    response.once('close', () => clearInterval(timer));
  },
};

const ATTACKS: Readonly<Record<string, Attack>> = { ...ECHO_ATTACKS, ...SHAPE_ATTACKS };

/** Paths of answers that give the key back. */
export const ECHO_PATHS = Object.keys(ECHO_ATTACKS);
/** Paths of answers that break HTTP or never end. */
export const SHAPE_PATHS = Object.keys(SHAPE_ATTACKS);
/** `/redirect/STATUS/KIND` of each kind. */
export const REDIRECT_PATHS = [302, 307, 308].flatMap((status) =>
  Object.keys(REDIRECTS).map((kind) => `/redirect/${status}/${kind}`),
);

function serveHostile(request: IncomingMessage, response: ServerResponse): void {
  const path = (request.url ?? '').replace(/\?.*$/, '');
  const [, status, kind = ''] = /^\/redirect\/(\d+)\/(.*)$/.exec(path) ?? [];
  if (status !== undefined) {
    response.writeHead(Number(status), { location: REDIRECTS[kind] ?? '/' }).end();
    return;
  }
  (ATTACKS[path] ?? (() => response.writeHead(404).end()))(request, response);
}

/** As `startFakeInternet` takes them. */
export function hostileApis(): Record<string, RequestListener> {
  const reached: RequestListener = (_request, response) => response.end('{"reached": true}');
  const hosts = [OTHER_HOST, OPEN_HOST, ...PRIVATE_HOSTS].map((host) => [host, reached]);
  return { ...Object.fromEntries(hosts), [HOSTILE_HOST]: serveHostile };
}
