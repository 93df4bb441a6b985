/** Links and attempts of logins over HTTP: how long they live, how often they work, and for which browser. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLogger } from '../../../src/core/base/log.ts';
import type { RemoteDefinition } from '../../../src/core/base/server-definition.ts';
import type { login } from '../../../src/edges/upstream/oauth/login.ts';
import type { LoginStore } from '../../../src/edges/upstream/pool.ts';
import { LoginPages } from '../../../src/front/login-pages/index.ts';
import { type FakeRequest, fakeExchange } from './fake-exchange.ts';

/** How the authorization server answers; a message instead of an address if the login cannot begin. */
let server: { readonly refusal?: string; readonly outcome?: string } = {};
/** What came back to each login, by `state`. */
const came = new Map<string, string>();
let logins = 0;
let scopes: (string | undefined)[] = [];

vi.mock('../../../src/edges/upstream/oauth/login.ts', () => ({
  login: vi.fn<typeof login>(async (_definition, { listen, onAddress, scope }) => {
    logins += 1;
    scopes.push(scope);
    // As the real one does before it listens.
    await Promise.resolve();
    const state = `state-${logins}`;
    const callback = await listen?.(state);
    if (server.refusal !== undefined) {
      throw new Error(server.refusal);
    }
    await onAddress(new URL(`https://auth.example/authorize?state=${state}`));
    came.set(state, String(await callback?.answered));
    if (server.outcome !== undefined) {
      throw new Error(server.outcome);
    }
    return 'logged-in';
  }),
}));

const ORIGIN = 'https://mcp.example.com';
const LINK_MS = 900_000;
const allowed = async (): Promise<boolean> => true;
const STORE = {} as LoginStore;

beforeEach(() => {
  vi.useFakeTimers();
  server = {};
  came.clear();
  logins = 0;
  scopes = [];
});
afterEach(() => void vi.useRealTimers());

function definition(owner: string, name = 'tracker', url = 'https://tracker.example/mcp'): RemoteDefinition {
  return { name, url, owner: { name: owner } } as unknown as RemoteDefinition;
}

function open({ origin = ORIGIN } = {}) {
  const pages = new LoginPages({ origin: () => origin, logger: silentLogger, env: {} });
  const invite = (owner = 'alice', scope?: string): string => pages.invite(definition(owner), STORE, scope, allowed);
  const ask = async (address: string, request: FakeRequest = {}) => {
    const { pathname, search } = new URL(address);
    const exchange = fakeExchange({ ...request, url: pathname + search });
    expect(await pages.answer(exchange.request, exchange.response, pathname)).toBe(true);
    return exchange.page();
  };
  const press = (link: string, headers: Readonly<Record<string, string>> = { origin }) =>
    ask(link, { method: 'POST', headers });
  /** Presses the button; returns what the browser has then. */
  const begin = async (link: string) => {
    const { headers, status } = await press(link);
    expect(status).toBe(303);
    const [cookie = ''] = (headers['Set-Cookie'] ?? '').split(';');
    return { cookie, state: new URL(headers['Location'] ?? '').searchParams.get('state') ?? '' };
  };
  const callBack = (query: string, cookie?: string) =>
    ask(`${origin}/login/callback?${query}`, { headers: cookie === undefined ? {} : { cookie } });
  return { pages, invite, ask, press, begin, callBack };
}

describe('a link', () => {
  it('is one for each user and server, and cannot be guessed', () => {
    const { invite, pages } = open();
    const links = [invite(), invite('bob')];
    links.push(pages.invite(definition('alice', 'other'), STORE, undefined, allowed));
    links.push(pages.invite(definition('alice', 'tracker', 'https://evil.example/mcp'), STORE, undefined, allowed));
    expect(new Set(links).size).toBe(4);
    expect(links.every((link) => /^https:\/\/mcp\.example\.com\/login\/[\w-]{43}$/.test(link))).toBe(true);
    expect(invite()).toBe(links[0]);
  });

  // The scope was part of the key, and 12,000 calls of one server pushed out the links of everyone.
  it('is the same whatever scope the server asks for, and the login asks for the last of them', async () => {
    const { begin, invite } = open();
    const link = invite();
    const links = Array.from({ length: 12_000 }, (_, number) => invite('alice', `scope-${number}`));
    expect(new Set([...links, link, invite('alice', 'write')]).size).toBe(1);
    await begin(link);
    expect(scopes).toEqual(['write']);
  });

  it('is not pushed out by another user, however many servers that one has', async () => {
    const { ask, invite, pages } = open();
    const [bobs, first] = [invite('bob'), invite()];
    for (let number = 0; number < 12_000; number += 1) {
      pages.invite(definition('alice', `server-${number}`), STORE, undefined, allowed);
    }
    expect((await ask(bobs)).status).toBe(200);
    expect((await ask(first)).status).toBe(404);
  });

  it('says whose login it becomes and where, and what that means', async () => {
    const { ask, invite } = open();
    const { body, status } = await ask(invite());
    expect(status).toBe(200);
    expect(body).toMatch(
      /Log in at tracker.*alice will then use your account at tracker\.example.*only if you are alice/,
    );
  });

  it('shows hostile names of users and servers as text', async () => {
    const { ask, pages } = open();
    const hostile = '<script>alert(1)</script>';
    const { body } = await ask(pages.invite(definition(hostile, hostile), STORE, undefined, allowed));
    expect(body).not.toContain('<script');
    expect(body.match(/&#60;script&#62;/g)?.length).toBeGreaterThan(4);
  });

  it('is not valid any more after 15 minutes, and whoever waits for it hears that', async () => {
    const { ask, invite, pages } = open();
    const link = invite();
    const ended = pages.ended(link);
    await vi.advanceTimersByTimeAsync(LINK_MS - 1);
    expect((await ask(link)).status).toBe(200);
    await vi.advanceTimersByTimeAsync(2);
    expect(await ended).toBe(false);
    expect((await ask(link)).status).toBe(404);
    expect(invite()).not.toBe(link);
  });

  it('gives way to newer ones if there are too many', async () => {
    const { invite, pages } = open();
    const first = invite('user-0');
    const ended = pages.ended(first);
    for (let number = 1; number <= 10_000; number += 1) {
      invite(`user-${number}`);
    }
    expect(await ended).toBe(false);
  });

  it('that no one has made ends at once, and other paths are not ours', async () => {
    const { pages, ask } = open();
    expect(await pages.ended(`${ORIGIN}/login/guessed`)).toBe(false);
    for (const path of ['', 'x', '__proto__', 'callback/', '..%2fcallback', 'a'.repeat(10_000)]) {
      expect((await ask(`${ORIGIN}/login/${path}`)).status).toBe(404);
    }
    const { request, response } = fakeExchange();
    expect(await pages.answer(request, response, '/logins')).toBe(false);
  });
});

describe('the button', () => {
  it('leads to the authorization server, with a cookie for this browser alone', async () => {
    const { invite, press } = open();
    const { headers, status } = await press(invite());
    expect([status, headers['Location']]).toEqual([303, 'https://auth.example/authorize?state=state-1']);
    expect(headers['Set-Cookie']).toMatch(
      /^__Host-mcp_bridge_login=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=900$/,
    );
    expect(headers).toMatchObject({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
  });

  it('sets no Secure cookie without TLS, because browsers would drop it', async () => {
    const { invite, press } = open({ origin: 'http://127.0.0.1:7411' });
    expect((await press(invite())).headers['Set-Cookie']).not.toContain('Secure');
  });

  it('works only on our own page', async () => {
    const { ask, invite, press } = open();
    const link = invite();
    const wrong = [
      press(link, {}),
      press(link, { origin: ORIGIN, 'sec-fetch-site': 'cross-site' }),
      press(link, { origin: ORIGIN, 'sec-fetch-site': 'same-site' }),
      press(link, { origin: ORIGIN, 'sec-fetch-site': 'none' }),
      ask(link, { method: 'PUT', headers: { origin: ORIGIN } }),
      ask(`${ORIGIN}/login/callback`, { method: 'POST', headers: { origin: ORIGIN } }),
    ];
    expect((await Promise.all(wrong)).map(({ status }) => status)).toEqual([405, 405, 405, 405, 405, 404]);
    expect(logins).toBe(0);
  });

  it('works ten times', async () => {
    const { ask, invite, pages, press } = open();
    const link = invite();
    const ended = pages.ended(link);
    for (let count = 0; count < 10; count += 1) {
      expect((await press(link)).status).toBe(303);
    }
    expect((await press(link)).status).toBe(429);
    expect([await ended, (await ask(link)).status, logins]).toEqual([false, 404, 10]);
  });

  it('says why a login cannot begin, as text', async () => {
    server = { refusal: 'no <b>server</b>' };
    const { invite, press } = open();
    const { body, status } = await press(invite());
    expect([status, body]).toEqual([502, expect.stringContaining('no &#60;b&#62;server')]);
  });
});

describe('the way back', () => {
  it('ends the login, once, and the link with it', async () => {
    const { ask, begin, callBack, invite, pages } = open();
    const link = invite();
    const ended = pages.ended(link);
    const { cookie, state } = await begin(link);
    const done = await callBack(`state=${state}&code=secret`, `other=1; ${cookie}; last=2`);
    expect([done.status, done.body]).toEqual([200, expect.stringContaining('You are logged in')]);
    expect(done.body).not.toContain('secret');
    expect([await ended, came.get(state)]).toEqual([true, `state=${state}&code=secret`]);
    expect((await callBack(`state=${state}&code=secret`, cookie)).status).toBe(400);
    expect((await ask(link)).status).toBe(404);
  });

  it('is refused without the cookie of the attempt, and the right browser can still finish', async () => {
    const { begin, callBack, invite } = open();
    const link = invite();
    const [mine, other] = [await begin(link), await begin(invite('bob'))];
    const query = `state=${mine.state}&code=x`;
    const value = mine.cookie.split('=')[1] ?? '';
    const wrong = [
      undefined,
      '',
      '__Host-mcp_bridge_login=',
      other.cookie,
      `mcp_bridge_login_=${value}`,
      // One that a sibling host can set.
      `mcp_bridge_login=${value}`,
      `x=${mine.cookie}`,
      // The first of two counts, and a longer value is another one.
      `${other.cookie}; ${mine.cookie}`,
      `${mine.cookie}x`,
      mine.cookie.slice(0, -1),
    ];
    for (const cookie of wrong) {
      expect([cookie, (await callBack(query, cookie)).status]).toEqual([cookie, 400]);
    }
    expect(came.size).toBe(0);
    expect((await callBack(query, mine.cookie)).status).toBe(200);
    expect([...came.keys()]).toEqual([mine.state]);
  });

  it('is refused with a state that was not given, or a parameter twice', async () => {
    const { begin, callBack, invite } = open();
    const { cookie, state } = await begin(invite());
    for (const query of ['', 'code=x', 'state=', 'state=guessed&code=x', 'state=__proto__', `state=${state}x`]) {
      expect([query, (await callBack(query, cookie)).status]).toEqual([query, 400]);
    }
    for (const name of ['state', 'code', 'error', 'iss']) {
      const query = `state=${state}&code=a&${name}=1&${name}=2`;
      expect([query, (await callBack(query, cookie)).status]).toEqual([query, 400]);
    }
    expect(came.size).toBe(0);
  });

  it('says why a login failed, as text, and the link works once more', async () => {
    server = { outcome: 'denied: <img src=x>' };
    const { begin, callBack, invite } = open();
    const link = invite();
    const { cookie, state } = await begin(link);
    const { body, status } = await callBack(`state=${state}&error=access_denied`, cookie);
    expect([status, body]).toEqual([400, expect.stringContaining('denied: &#60;img src=x&#62;')]);
    server = {};
    const again = await begin(link);
    expect(again.state).not.toBe(state);
    expect((await callBack(`state=${again.state}&code=x`, again.cookie)).status).toBe(200);
  });
});
