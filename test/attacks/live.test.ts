// Tags: full, bubblewrap
/** Attacks on the local API of a bridge: by other users, by pages in a browser, and by readers that do not read. No engine is needed. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadSettings } from '../../src/edges/settings/settings.ts';
import { QuestionQueue } from '../../src/features/waiting-questions/question-queue.ts';
import { serveApi } from '../../src/record/live/api-server.ts';
import { EventStreams } from '../../src/record/live/event-streams.ts';
import { createEndpoint } from '../../src/record/local-api/endpoints.ts';
import { runProgram } from '../support/attacks.ts';
import { becomeUser, isRoot, ORDINARY_USER_ID } from '../support/ordinary-user.ts';
import { pause } from '../support/pause.ts';

/** An API without bridges. */
async function start(events = new EventStreams()) {
  const stateDir = mkdtempSync(join(tmpdir(), 'live-attack-'));
  chmodSync(stateDir, 0o755);
  const endpoint = await createEndpoint({ stateDir, hasMounts: false });
  const settings = loadSettings({ HOME: stateDir, MCP_BRIDGE_STATE_DIR: stateDir });
  const api = await serveApi(
    endpoint.socket,
    { settings, startedAt: 0, transport: 'stdio', bridges: () => [], waiting: new QuestionQueue(stateDir) },
    events,
  );
  await endpoint.publish();
  onTestFinished(async () => {
    await endpoint.remove();
    await api.close();
    rmSync(stateDir, { recursive: true, force: true });
  });
  return { socket: endpoint.socket, events };
}

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

function send(socketPath: string, { method = 'GET', path = '/v1/bridge', headers = {}, body }: Sent) {
  return new Promise<{ status: number; headers: IncomingMessage['headers']; text: string }>((resolve, reject) => {
    const sent = request({ socketPath, method, path, headers: { Host: 'localhost', ...headers } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (more: string) => {
        text += more;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

describe.runIf(isRoot)('another user', () => {
  const CONNECT = `require('node:net').connect(process.argv[1])
    .on('connect', () => console.log('connected')).on('error', (error) => console.log(error.code))
    .on('connect', function () { this.destroy(); })`;

  const tryToConnect = async (socket: string): Promise<string> => {
    const argv = [...becomeUser(ORDINARY_USER_ID), process.execPath, '-e', CONNECT, socket];
    return (await runProgram(argv, { env: { PATH: process.env['PATH'] ?? '' } })).shown;
  };

  it('cannot connect, not even if the folder is open', async () => {
    const { socket } = await start();
    expect(await tryToConnect(socket)).toContain('EACCES');
    chmodSync(join(socket, '..'), 0o755);
    expect(await tryToConnect(socket)).toContain('EACCES');
    // Otherwise this would show nothing.
    chmodSync(socket, 0o666);
    expect(await tryToConnect(socket)).toContain('connected');
  });
});

describe('a page in a browser, behind a careless proxy', () => {
  it.each([
    [{ Origin: 'https://evil.example' }, 403],
    [{ Origin: 'http://localhost' }, 403],
    [{ Origin: 'null' }, 403],
    [{ 'Sec-Fetch-Site': 'same-origin' }, 403],
    [{ 'Sec-Fetch-Mode': 'no-cors' }, 403],
    [{ Host: 'evil.example' }, 421],
    [{ Host: 'localhost:80' }, 421],
    [{ Host: 'localhost.evil.example' }, 421],
  ])('gets nothing: %j', async (headers, status) => {
    const { socket } = await start();
    for (const path of ['/v1/bridge', '/v1/events', '/v1/sessions/default/end']) {
      const method = path.endsWith('end') ? 'POST' : 'GET';
      const answer = await send(socket, { method, path, headers });
      expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([status, undefined]);
      expect(answer.headers['content-type']).toBe('application/json');
    }
  });

  it('cannot send a form, nor a body of any size', async () => {
    const { socket } = await start();
    const path = '/v1/approvals/x';
    const body = 'answer=once';
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx']) {
      const headers = { 'Content-Type': type };
      expect((await send(socket, { method: 'POST', path, body, headers })).status).toBe(415);
    }
    const headers = { 'Content-Type': 'application/json' };
    expect((await send(socket, { method: 'POST', path, body: '{', headers })).status).toBe(400);
    const long = JSON.stringify({ answer: 'x'.repeat(70_000) });
    expect((await send(socket, { method: 'POST', path, body: long, headers })).status).toBe(413);
    expect((await send(socket, {})).status).toBe(200);
  });
});

describe('a reader of events', () => {
  function readNothing(path: string): Promise<Socket> {
    return new Promise((resolve) => {
      const socket = connect(path, () => {
        socket.write('GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n');
        socket.pause();
        resolve(socket);
      });
      socket.on('error', () => undefined);
      onTestFinished(() => void socket.destroy());
    });
  }

  it('that does not read is sent away before it costs much memory', async () => {
    const { events, socket } = await start();
    const reader = await readNothing(socket);
    await expect.poll(() => events.isWatched).toBe(true);
    const at = new Date().toISOString();
    const text = 'x'.repeat(60_000);
    const before = process.memoryUsage().rss;
    let rounds = 0;
    while (events.isWatched && rounds < 2_000) {
      rounds += 1;
      events.addOutput({
        type: 'cell_output',
        at,
        session: 's',
        cell: `b/s/1/${rounds}`,
        stream: 'stdout',
        from_char: 0,
        text,
      });
      await pause(rounds % 20 === 0 ? 60 : 0, 'the streams flush by the clock');
    }
    expect(events.isWatched).toBe(false);
    expect(rounds * text.length).toBeLessThan(16 * 1024 ** 2);
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 ** 2);
    let read = '';
    reader.setEncoding('utf8').on('data', (more: string) => {
      read += more;
    });
    reader.resume();
    await expect
      .poll(() => read.includes('the reader is too slow') || reader.destroyed, { timeout: 10_000 })
      .toBe(true);
  });

  it('is refused if there are too many', async () => {
    const { events, socket } = await start();
    for (let number = 0; number < 16; number += 1) {
      await readNothing(socket);
    }
    await expect.poll(() => events.isFull).toBe(true);
    expect((await send(socket, { path: '/v1/events' })).status).toBe(429);
  });
});
