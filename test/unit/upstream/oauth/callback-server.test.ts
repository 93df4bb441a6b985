import { request } from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { expect, it, onTestFinished } from 'vitest';
import { startCallbackServer } from '../../../../src/edges/upstream/oauth/callback-server.ts';

const STATE = 'a-state-of-some-length';

async function start() {
  const server = await startCallbackServer(STATE, 0);
  onTestFinished(() => server.close());
  const { port } = new URL(server.redirectUrl);
  let answers = 0;
  void server.answered.then(() => (answers += 1));
  /** The status of a request as a browser sends it. */
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode ?? 0));
      });
      sent.once('error', reject).end();
    });
  return { server, port, ask, answers: () => answers };
}

const GOOD = `/callback?state=${STATE}&code=c`;
const NAVIGATION = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

it.each([
  ['another path', '/callback/?state=STATE&code=c', {}, 'GET'],
  ['no state', '/callback?code=c', {}, 'GET'],
  ['a part of the state', '/callback?state=a-state&code=c', {}, 'GET'],
  ['a longer state', '/callback?state=STATEx&code=c', {}, 'GET'],
  ['two states', '/callback?state=STATE&state=x&code=c', {}, 'GET'],
  ['two codes', '/callback?state=STATE&code=c&code=d', {}, 'GET'],
  ['two issuers', '/callback?state=STATE&code=c&iss=a&iss=b', {}, 'GET'],
  ['no code', '/callback?state=STATE', {}, 'GET'],
  ['POST', '/callback?state=STATE&code=c', {}, 'POST'],
  ['HEAD', '/callback?state=STATE&code=c', {}, 'HEAD'],
  ['another host', '/callback?state=STATE&code=c', { host: 'evil.test' }, 'GET'],
  ['this machine at another port', '/callback?state=STATE&code=c', { host: '127.0.0.1:1' }, 'GET'],
  ['another origin', '/callback?state=STATE&code=c', { origin: 'https://evil.test' }, 'GET'],
  ['a script', '/callback?state=STATE&code=c', { ...NAVIGATION, 'sec-fetch-mode': 'cors' }, 'GET'],
  ['an image', '/callback?state=STATE&code=c', { ...NAVIGATION, 'sec-fetch-dest': 'image' }, 'GET'],
  ['a frame', '/callback?state=STATE&code=c', { ...NAVIGATION, 'sec-fetch-dest': 'iframe' }, 'GET'],
])('refuses a request with %s, and goes on waiting', async (_what, path, headers, method) => {
  const { ask, answers } = await start();
  expect(await ask(path.replace('STATE', STATE), headers, method)).toBe(400);
  expect(answers()).toBe(0);
  expect(await ask(GOOD, NAVIGATION)).toBe(200);
});

// A second request with the state, which is in the history of the browser, was told that it had logged in.
it('accepts one answer', async () => {
  const { server, ask } = await start();
  expect(await Promise.all([ask(GOOD), ask(GOOD), ask(GOOD)])).toEqual([200, 400, 400]);
  expect((await server.answered).get('code')).toBe('c');
});

/** An address of this machine that others can reach, if it is in a network. */
function addressInNetwork(): string {
  const all = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.2';
}

it('listens on 127.0.0.1 only', async () => {
  const { port, server } = await start();
  expect(server.redirectUrl).toBe(`http://127.0.0.1:${port}/callback`);
  const reached = await new Promise((resolve) => {
    const socket = connect(Number(port), addressInNetwork());
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    onTestFinished(() => void socket.destroy());
  });
  expect(reached).toBe(false);
});
