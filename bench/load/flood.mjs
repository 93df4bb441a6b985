// @ts-check
/**
 * Floods a bridge with bad requests: `node flood.mjs URL PER_SECOND`, started by `stranger.ts`. It does not wait for answers, but keeps
 * at most MAX_OPEN requests unanswered on each connection. When it is sent a message, it answers with its counts and ends.
 */
import { once } from 'node:events';
import { connect } from 'node:net';

const CONNECTIONS = 16;
const MAX_OPEN = 200;
const TICK_MS = 10;
/** A head that is too large ends its connection, so it needs connections of its own. Of each hundred requests, one is such. */
const HUGE_CONNECTIONS = 2;
const HUGE_PART = 0.01;
const HUGE_HEADER_BYTES = 32 * 1024;
const STATUS = /HTTP\/1\.1 (\d{3})/g;

const { host, hostname, pathname, port } = new URL(process.argv[2] ?? '');
const perTick = (Number(process.argv[3]) * TICK_MS) / 1000;
const TOKEN = 'Authorization: Bearer mcpb_0123456789abcdef0123456789abcdef0123456789a';
const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';

/** @param {{ hostHeader?: string, more?: string[], body?: string }} parts */
function post({ hostHeader = host, more = [], body = LIST }) {
  return [
    `POST ${pathname} HTTP/1.1`,
    `Host: ${hostHeader}`,
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `Content-Length: ${body.length}`,
    ...more,
    '',
    body,
  ].join('\r\n');
}

/** A token that does not exist, a host that is not ours, JSON that is none, and no token at all. */
const BAD = [
  post({ more: [TOKEN] }),
  post({ hostHeader: 'evil.example', more: [TOKEN] }),
  post({ more: [TOKEN], body: '{"jsonrpc":'.repeat(20) }),
  post({}),
];
const HUGE = post({ more: [TOKEN, `X-Long: ${'x'.repeat(HUGE_HEADER_BYTES)}`] });

/** @type {Record<string, number>} */
const answered = {};
let sent = 0;
let isEnding = false;

class Connection {
  open = 0;
  due = 0;
  #next = 0;
  /** @type {readonly string[]} */
  #requests;
  /** @type {number} */
  #perTick;
  /** @type {import('node:net').Socket} */
  socket;

  /**
   * @param {readonly string[]} requests
   * @param {number} share of all requests
   */
  constructor(requests, share) {
    this.#requests = requests;
    this.#perTick = perTick * share;
    this.socket = this.dial();
  }

  dial() {
    this.open = 0;
    const socket = connect(Number(port), hostname);
    socket.setEncoding('latin1').on('data', (text) => {
      for (const [, status = ''] of String(text).matchAll(STATUS)) {
        answered[status] = (answered[status] ?? 0) + 1;
        this.open -= 1;
      }
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (!isEnding) {
        setTimeout(() => {
          this.socket = this.dial();
        }, TICK_MS);
      }
    });
    return socket;
  }

  tick() {
    this.due = Math.min(this.due + this.#perTick, MAX_OPEN);
    const count = Math.min(Math.floor(this.due), MAX_OPEN - this.open);
    if (count > 0 && this.socket.writable && !this.socket.connecting) {
      this.due -= count;
      this.open += count;
      sent += count;
      let text = '';
      for (let index = 0; index < count; index += 1) {
        text += this.#requests[this.#next % this.#requests.length] ?? '';
        this.#next += 1;
      }
      this.socket.write(text);
    }
  }
}

const connections = [
  ...Array.from({ length: CONNECTIONS }, () => new Connection(BAD, (1 - HUGE_PART) / CONNECTIONS)),
  ...Array.from({ length: HUGE_CONNECTIONS }, () => new Connection([HUGE], HUGE_PART / HUGE_CONNECTIONS)),
];
await Promise.all(connections.map(({ socket }) => once(socket, 'connect')));
const startMs = performance.now();
setInterval(() => connections.forEach((connection) => connection.tick()), TICK_MS);
process.send?.('connected');
process.on('disconnect', () => process.exit(0));
process.on('message', () => {
  isEnding = true;
  const seconds = (performance.now() - startMs) / 1000;
  const perSecond = Object.fromEntries(Object.entries(answered).map(([status, count]) => [status, count / seconds]));
  process.send?.({ sentPerS: sent / seconds, answeredPerS: perSecond }, () => process.exit(0));
});
