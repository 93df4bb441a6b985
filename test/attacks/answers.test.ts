// Tags: full, bubblewrap
/**
 * Attacks with answers that no one reads: a request of 100 bytes can have an answer of 64 MiB. The bridge grows by at most 300 MiB,
 * and another principal's cell and `/healthz` are answered within a second throughout.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { principalFolder } from '../../src/core/state/principals.ts';
import { amount, enginesForBridge } from '../support/attacks.ts';
import { CLI, environmentOf } from '../support/bridge-client.ts';
import { peakBytes, queuedMs, resetPeak, residentBytes } from '../support/faults/probe.ts';
import { type HttpBridge, type HttpClient, startHttpBridge } from '../support/http-bridge.ts';
import { INITIALIZE, modern } from '../support/http-front.ts';
import { PATIENCE } from '../support/patience.ts';
import { pause } from '../support/pause.ts';
import { startUi } from '../support/ui-server.ts';

const MIB = 1024 * 1024;
const MAX_GROWTH_MIB = 300;
const MAX_ANSWER_MS = 1_000 * PATIENCE;
const WITHIN = { growth: true, cell: true, health: true };
/** How long each attack goes on. */
const ATTACK_MS = amount(4_000, 40_000);
/** A long run then reads 2.5 GiB, which takes a minute and a half. */
const READING_MS = amount(120_000, 400_000) * PATIENCE;

const URIS = {
  binary: 'artifact:///mine/large.bin',
  text: 'artifact:///mine/large.txt',
  view: 'ui://mcp-server-code-execution-mode/cell.html',
};

/** Two artifacts of 32 MiB, of which each byte of one needs six in JSON, and many small ones. */
function storeFor(folder: string): void {
  const mine = join(folder, 'artifacts', 'mine');
  mkdirSync(mine, { recursive: true, mode: 0o700 });
  writeFileSync(join(mine, 'large.bin'), Buffer.alloc(32 * MIB, 7));
  writeFileSync(join(mine, 'large.txt'), Buffer.alloc(32 * MIB, 1));
  for (let number = 0; number < 998; number += 1) {
    writeFileSync(join(mine, `${number}-${'x'.repeat(100)}.txt`), 'x');
  }
}

const read = (uri: string) => ({ jsonrpc: '2.0', method: 'resources/read', params: { uri } });
let lastId = 0;
/** A client that uses an id twice at once mixes its answers up. */
const nextId = (): number => {
  lastId += 1;
  return lastId;
};
const many = (count: number, message: object): object[] =>
  Array.from({ length: count }, () => ({ ...message, id: nextId() }));

for (const engine of await enginesForBridge()) {
  describe(`answers that no one reads on ${engine.label}`, () => {
    let bridge: HttpBridge & { readonly tokens: string[] };
    let bob: HttpClient;
    let session: string;
    let before = 0;

    beforeAll(async () => {
      const env = { MCP_BRIDGE_HTTP_MAX_STREAMS: '100', MCP_BRIDGE_HTTP_MAX_RATE: '0' };
      bridge = await startHttpBridge({ engine, tokens: ['alice', 'bob'], env });
      storeFor(principalFolder(bridge.folder, 'alice'));
      bob = await bridge.connect({ era: '2025-11-25', token: bridge.tokens[1] ?? '' });
      await bob.run('1');
      session = String((await post(INITIALIZE.body)).headers['mcp-session-id']);
      before = residentBytes(bridge.child.pid ?? 0);
    });
    afterAll(async () => {
      await bob.close();
      await bridge.remove();
    });

    const headersOf = (body: object): Record<string, string> => ({
      Authorization: `Bearer ${bridge.tokens[0]}`,
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      ...(session !== undefined &&
        !('params' in body && JSON.stringify(body).includes('2026-07-28')) && { 'Mcp-Session-Id': session }),
    });

    function post(body: object, more: Readonly<Record<string, string>> = {}) {
      const { port } = new URL(bridge.url);
      return new Promise<IncomingMessage>((resolve, reject) => {
        const headers = { ...headersOf(body), ...more };
        const outgoing = httpRequest({ port, path: '/mcp', method: 'POST', agent: false, headers }, resolve);
        outgoing.on('error', reject);
        outgoing.end(JSON.stringify(body));
      });
    }

    /** Sends a request, and never reads the answer. */
    function postUnread(body: object, more: Readonly<Record<string, string>> = {}): void {
      const { port } = new URL(bridge.url);
      const text = JSON.stringify(body);
      const socket = connect(Number(port), '127.0.0.1');
      socket.pause();
      socket.on('error', () => undefined);
      onTestFinished(() => void socket.destroy());
      const headers = Object.entries({ ...headersOf(body), ...more, 'Content-Length': String(text.length) });
      socket.write(
        `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`,
      );
    }

    /** Without the time in which other processes of the machine kept the bridge and this test waiting. */
    async function timed(work: () => Promise<unknown>): Promise<number> {
      const queued = (): number => queuedMs(bridge.child.pid ?? 0) + queuedMs(process.pid);
      const [startMs, queuedBefore] = [performance.now(), queued()];
      await work();
      return performance.now() - startMs - (queued() - queuedBefore);
    }

    /** Whether the bridge stays within each limit while `attack` goes on. */
    async function measure(attack: () => Promise<unknown>) {
      const pid = bridge.child.pid ?? 0;
      resetPeak(pid);
      const attacked = attack();
      const end = performance.now() + ATTACK_MS;
      const slowest = { cell: 0, health: 0 };
      while (performance.now() < end) {
        slowest.health = Math.max(slowest.health, await timed(() => fetch(new URL('/healthz', bridge.url))));
        slowest.cell = Math.max(slowest.cell, await timed(async () => expect(await bob.run('1')).toContain('1')));
        await pause(20, 'others need a turn');
      }
      await attacked;
      const growthMib = (peakBytes(pid) - before) / MIB;
      const { cell, health } = slowest;
      console.info(`grew by ${growthMib.toFixed(0)} MiB; cell ${cell.toFixed(0)} ms, healthz ${health.toFixed(0)} ms`);
      return { growth: growthMib < MAX_GROWTH_MIB, cell: cell < MAX_ANSWER_MS, health: health < MAX_ANSWER_MS };
    }

    const ATTACKS: Readonly<Record<string, (send: typeof postUnread) => void>> = {
      'a batch of reads of a large artifact': (send) => send(many(60, read(URIS.binary))),
      'a batch of reads of a text that grows in JSON': (send) => send(many(60, read(URIS.text))),
      'a batch of reads of the page that shows cells': (send) => send(many(100, read(URIS.view))),
      'a batch of lists of 1,000 artifacts': (send) => send(many(100, { jsonrpc: '2.0', method: 'resources/list' })),
      'single reads of a large artifact': (send) => many(60, read(URIS.binary)).forEach((body) => send(body)),
      'single reads of a text, of clients of 2026-07-28': (send) => {
        const { body, headers } = modern('resources/read', { uri: URIS.text }, { 'Mcp-Name': URIS.text });
        many(60, body as object).forEach((one) => send(one, headers ?? {}));
      },
      'a batch of cells that show pictures': (send) => {
        const code = `class Picture:\n    def _repr_png_(self): return b"\\x89PNG\\r\\n\\x1a\\n" + bytes(4_000_000)\nPicture()`;
        send(many(60, { jsonrpc: '2.0', method: 'tools/call', params: { name: 'run_python', arguments: { code } } }));
      },
      'single lists': (send) => many(90, { jsonrpc: '2.0', method: 'resources/list' }).forEach((body) => send(body)),
    };

    it.each(Object.entries(ATTACKS))('%s', async (_title, attack) => {
      expect(await measure(async () => attack(postUnread))).toEqual(WITHIN);
    });

    it('reads that are read, of several at once', async () => {
      const sizes: number[] = [];
      const readAll = async (uri: string): Promise<void> => {
        const response = await post({ ...read(uri), id: nextId() });
        let bytes = 0;
        for await (const chunk of response) {
          bytes += (chunk as Buffer).length;
        }
        sizes.push(Math.floor(bytes / MIB));
      };
      expect(await measure(() => Promise.all([URIS.binary, URIS.text, URIS.binary].map(readAll)))).toEqual(WITHIN);
      expect(sizes.toSorted((a, b) => a - b)).toEqual([42, 42, 192]);
    });

    it('a batch of more requests than may be open is refused', async () => {
      const response = await post(many(101, read(URIS.binary)));
      expect(response.statusCode).toBe(429);
      response.resume();
    });

    it(
      'over stdio',
      async () => {
        const folder = mkdtempSync(join(tmpdir(), 'answers-'));
        storeFor(folder);
        const child = spawn(process.execPath, [CLI], {
          env: environmentOf(engine, folder),
          stdio: ['pipe', 'pipe', 'ignore'],
        });
        onTestFinished(async () => {
          child.kill('SIGKILL');
          await once(child, 'close');
          rmSync(folder, { recursive: true, force: true });
        });
        const send = (message: object): boolean => child.stdin.write(`${JSON.stringify(message)}\n`);
        send(INITIALIZE.body);
        await once(child.stdout, 'data');
        send({ jsonrpc: '2.0', method: 'notifications/initialized' });
        child.stdout.pause();
        const pid = child.pid ?? 0;
        const rss = residentBytes(pid);
        const uris = [URIS.text, ...Array<string>(amount(4, 60)).fill(URIS.binary)];
        uris.forEach((uri) => send({ ...read(uri), id: nextId() }));
        many(amount(100, 10_000), { jsonrpc: '2.0', method: 'resources/list' }).forEach(send);
        await pause(ATTACK_MS, 'no one reads meanwhile');
        // Now it is read after all: every line is one message.
        const lengths: number[] = [];
        let length = 0;
        for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
          length += chunk.length;
          if (chunk.at(-1) === 10) {
            lengths.push(length);
            length = 0;
            if (lengths.reduce((sum, each) => sum + each, 0) > (192 + (uris.length - 1) * 42) * MIB) {
              break;
            }
          }
        }
        const growthMib = (peakBytes(pid) - rss) / MIB;
        console.info(`stdio: grew by ${growthMib.toFixed(0)} MiB`);
        expect(growthMib).toBeLessThan(MAX_GROWTH_MIB);
      },
      READING_MS,
    );
  });
}

it('downloads from the page server that no one reads', async () => {
  const ui = await startUi();
  storeFor(ui.stateDir);
  const before = process.memoryUsage().rss;
  for (let count = 0; count < amount(30, 100); count += 1) {
    const socket = connect(ui.port, '127.0.0.1');
    socket.pause();
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.write(
      `GET /api/stored/artifacts/content?id=${encodeURIComponent(':mine/large.bin')} HTTP/1.1\r\nHost: 127.0.0.1:${ui.port}\r\nAuthorization: Bearer ${ui.token}\r\n\r\n`,
    );
  }
  await pause(ATTACK_MS, 'no one reads meanwhile');
  const growthMib = (process.memoryUsage().rss - before) / MIB;
  console.info(`page: grew by ${growthMib.toFixed(0)} MiB`);
  expect(growthMib).toBeLessThan(MAX_GROWTH_MIB);
  const got = await ui.ask('GET', `/api/stored/artifacts/content?id=${encodeURIComponent(':mine/large.bin')}`);
  expect([got.status, got.text.length]).toEqual([200, 32 * MIB]);
});
