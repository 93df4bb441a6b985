// Tags: full, bubblewrap
/** Attacks on the page of `ui`: by pages of other origins, by programs without the token, and by floods. No engine is needed. */
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { pause } from '../support/pause.ts';
import { type StartedUi, startFakeBridge, startUi } from '../support/ui-server.ts';

/** Sends bytes as they are; resolves with what comes back until the server closes, or nothing more comes. */
function sendBytes(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('utf8').setTimeout(3_000, () => socket.destroy());
    socket.on('data', (more: string) => {
      text += more;
    });
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(text));
  });
}

function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.once('connect', () => resolve(socket));
    socket.once('close', () => resolve(socket));
    onTestFinished(() => void socket.destroy());
  });
}

const statusIn = (text: string): string => /^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? '';
const works = async (ui: StartedUi): Promise<boolean> => (await ui.ask('GET', '/api/overview')).status === 200;

describe('a page of another origin', () => {
  it.each([
    ['GET', '/api/overview'],
    ['GET', '/api/events'],
    ['POST', '/api/bridges/x/sessions/default/run'],
    ['DELETE', '/api/stored/artifacts?id=x'],
    ['OPTIONS', '/api/overview'],
    ['GET', '/'],
  ])('gets nothing from %s %s, with the token or without it', async (method, path) => {
    const ui = await startUi();
    const own = { Host: `127.0.0.1:${ui.port}` };
    for (const [headers, wanted] of [
      [{ ...own, Origin: 'https://evil.example' }, 403],
      [{ ...own, Origin: 'null' }, 403],
      // A name that resolves to 127.0.0.1: the browser takes it for the same origin.
      [{ Host: `evil.example:${ui.port}`, Origin: `http://evil.example:${ui.port}` }, 421],
      [{ Host: `127.0.0.1.evil.example:${ui.port}` }, 421],
      [{ Host: `evil.example#127.0.0.1:${ui.port}` }, 421],
    ] as const) {
      const answer = await ui.ask(method, path, { headers });
      expect([headers, answer.status]).toEqual([headers, wanted]);
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  it('cannot send a form, because it cannot send the token', async () => {
    const ui = await startUi();
    const headers = { Host: `127.0.0.1:${ui.port}`, 'Content-Type': 'application/x-www-form-urlencoded' };
    expect((await ui.raw('POST', `/api/cells/save-as-tool?token=${ui.token}`, { headers, text: 'id=1' })).status).toBe(
      401,
    );
  });
});

describe('requests that are not as they should be', () => {
  it.each<[string, (ui: StartedUi) => string, RegExp]>([
    ['no Host', () => 'GET / HTTP/1.1\r\n\r\n', /^400$/],
    ['HTTP/1.0 without Host', () => 'GET / HTTP/1.0\r\n\r\n', /^421$/],
    [
      'two Hosts',
      ({ port }) => `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nHost: evil.example\r\n\r\n`,
      /^(?:400|421)$/,
    ],
    [
      'two tokens',
      ({ port, token }) =>
        `GET /api/overview HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\nAuthorization: Bearer x\r\n\r\n`,
      /^(?:400|401)$/,
    ],
    [
      'the target of a proxy',
      ({ port }) => `GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`,
      /^400$/,
    ],
    ['CONNECT', ({ port }) => `CONNECT evil.example:443 HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`, /^$/],
    ['no HTTP', () => '\u0016\u0003\u0001 nothing\r\n\r\n', /^400$/],
    ['a header without end', () => `GET / HTTP/1.1\r\nX: ${'x'.repeat(100_000)}`, /^431$/],
  ])('%s', async (_, bytes, wanted) => {
    const ui = await startUi();
    expect(statusIn(await sendBytes(ui.port, bytes(ui)))).toMatch(wanted);
    expect(await works(ui)).toBe(true);
  });

  it('a body without end is cut off', async () => {
    const ui = await startUi();
    const before = process.memoryUsage().rss;
    const socket = await openSocket(ui.port);
    let text = '';
    socket.setEncoding('utf8').on('data', (more: string) => {
      text += more;
    });
    socket.write(
      `POST /api/cells/save-as-tool HTTP/1.1\r\nHost: 127.0.0.1:${ui.port}\r\nAuthorization: Bearer ${ui.token}\r\n` +
        'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    for (let sent = 0; sent < 1_000 && !socket.destroyed && statusIn(text) === ''; sent += 1) {
      socket.write(chunk);
      await pause(1, 'the server reads by itself');
    }
    await expect.poll(() => statusIn(text), { timeout: 5_000 }).toBe('413');
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 ** 2);
    expect(await works(ui)).toBe(true);
  });

  it('a body is not read before the token is', async () => {
    const ui = await startUi();
    const head = `POST /api/cells/save-as-tool HTTP/1.1\r\nHost: 127.0.0.1:${ui.port}\r\nContent-Length: 2000000\r\n\r\n`;
    expect(statusIn(await sendBytes(ui.port, `${head}${'x'.repeat(100_000)}`))).toBe('401');
  });
});

describe('floods', () => {
  // Other accounts of the machine could keep the user out.
  it('of idle connections keep no one out who has the token', async () => {
    const ui = await startUi();
    for (let round = 0; round < 3; round += 1) {
      const idle = await Promise.all(Array.from({ length: 100 }, () => openSocket(ui.port)));
      idle.forEach((socket, index) => void (index % 2 === 0 && socket.write('GET / HTTP/1.1\r\n')));
      expect(await works(ui)).toBe(true);
    }
  });

  it('of connections leave a server that works again when they end', async () => {
    const ui = await startUi();
    const sockets = await Promise.all(Array.from({ length: 2_000 }, () => openSocket(ui.port)));
    sockets.forEach((socket) => socket.destroy());
    await expect.poll(() => works(ui).catch(() => false), { timeout: 20_000 }).toBe(true);
  });

  it('of requests without the token cost the bridges nothing', async () => {
    const ui = await startUi();
    const { events } = await startFakeBridge(ui.stateDir);
    const statuses = await Promise.all(
      Array.from(
        { length: 100 },
        async () => (await ui.raw('GET', '/api/events', { headers: { Host: `127.0.0.1:${ui.port}` } })).status,
      ),
    );
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect(events.isWatched).toBe(false);
  });

  it('of readers of events are refused, and what they leave is let go', async () => {
    const ui = await startUi();
    const { events } = await startFakeBridge(ui.stateDir);
    const head = `GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:${ui.port}\r\nAuthorization: Bearer ${ui.token}\r\n\r\n`;
    const readers = await Promise.all(
      Array.from({ length: 16 }, async () => {
        const socket = await openSocket(ui.port);
        socket.write(head);
        await new Promise((resolve) => {
          socket.once('data', resolve);
        });
        return socket;
      }),
    );
    expect(await ui.ask('GET', '/api/events')).toMatchObject({ status: 429 });
    expect(events.isWatched).toBe(true);
    readers.forEach((socket) => socket.destroy());
    await expect.poll(() => events.isWatched, { timeout: 5_000 }).toBe(false);
  });

  it('of events end a page that does not read, and not the server', async () => {
    const ui = await startUi();
    const { events } = await startFakeBridge(ui.stateDir);
    const socket = await openSocket(ui.port);
    socket.write(`GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:${ui.port}\r\nAuthorization: Bearer ${ui.token}\r\n\r\n`);
    await new Promise((resolve) => {
      socket.once('data', resolve);
    });
    socket.pause();
    let isClosed = false;
    socket.once('close', () => {
      isClosed = true;
    });
    const before = process.memoryUsage().rss;
    const text = 'x'.repeat(60_000);
    for (let round = 0; round < 1_500 && events.isWatched; round += 1) {
      const at = new Date().toISOString();
      const output = { stream: 'stdout', from_char: 0, text } as const;
      events.addOutput({ type: 'cell_output', at, session: 's', cell: `b/s/1/${round}`, ...output });
      await pause(round % 20 === 0 ? 60 : 0, 'streams flush by the clock');
    }
    socket.resume();
    await expect.poll(() => isClosed, { timeout: 10_000 }).toBe(true);
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 ** 2);
    expect(await works(ui)).toBe(true);
  });
});
