// Tags: anywhere, full
/**
 * The pages on which users log in at a server of their own, with a real authorization server on loopback: whose login it becomes, and
 * what a stranger, another browser or another page can do.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { coverEngines } from '../support/covered-engines.ts';
import { type HttpBridge, startHttpBridge } from '../support/http-bridge.ts';
import { startOAuth } from '../support/oauth-provider.ts';

const [engine] = await coverEngines();
const servers = ['tracker'];
const CODE = 'print(await mcp_tracker.act())';

async function setUp() {
  const provider = await startOAuth();
  const bridge = await startHttpBridge({
    engine: engine ?? expect.fail('no engine'),
    servers: { tracker: { url: provider.url, per: 'user' } },
    tokens: ['alice', 'bob'],
  });
  onTestFinished(() => bridge.remove());
  const [forAlice = '', forBob = ''] = bridge.tokens;
  const alice = await bridge.connect({ era: '2026-07-28', token: forAlice });
  const bob = await bridge.connect({ era: '2026-07-28', token: forBob });
  onTestFinished(async () => void (await Promise.all([alice.close(), bob.close()])));
  return { alice, bob, bridge, provider };
}

/** The address in an answer. */
function linkIn(text: string, bridge: HttpBridge): string {
  const { origin } = new URL(bridge.url);
  return new RegExp(`${origin}/login/[\\w-]{43}`).exec(text)?.[0] ?? expect.fail(`no link in: ${text}`);
}

const press = (link: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(link, { method: 'POST', redirect: 'manual', headers: { Origin: new URL(link).origin, ...headers } });

/** What a browser does after the button. */
async function follow(pressed: Response): Promise<{ readonly callback: string; readonly cookie: string }> {
  const cookie = (pressed.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const page = await fetch(pressed.headers.get('location') ?? '', { redirect: 'manual' });
  return { callback: page.headers.get('location') ?? '', cookie };
}

describe.skipIf(engine === undefined)('a login over HTTP', () => {
  it('becomes that of the user whose call led to the link, and of no one else', async () => {
    const { alice, bob, bridge } = await setUp();
    const link = linkIn(await alice.run(CODE, { servers }), bridge);
    expect(linkIn(await alice.run(CODE, { servers }), bridge)).toBe(link);
    const page = await fetch(link);
    expect(await page.text()).toMatch(
      /alice will then use your account at 127\.0\.0\.1:\d+ .*Continue only if you are alice/,
    );
    expect(page.headers.get('content-security-policy')).toMatch(/default-src 'none'; frame-ancestors 'none'/);
    const { callback, cookie } = await follow(await press(link));
    const done = await fetch(callback, { headers: { Cookie: cookie } });
    expect([done.status, await done.text()]).toEqual([200, expect.stringContaining('You are logged in')]);
    expect(await alice.run(CODE, { servers })).toContain('done');
    const bobs = await bob.run(CODE, { servers });
    expect(bobs).toContain('LOGIN_REQUIRED');
    expect(linkIn(bobs, bridge)).not.toBe(link);
    expect((await fetch(link)).status).toBe(404);
    expect(bridge.log()).not.toContain(link);
  });

  it('is not finished by another browser, with another state, or twice', async () => {
    const { alice, bridge } = await setUp();
    const link = linkIn(await alice.run(CODE, { servers }), bridge);
    const { callback, cookie } = await follow(await press(link));
    const other = new URL(callback);
    other.searchParams.set('state', 'guessed');
    const repeated = `${callback}&code=other`;
    const wrong = [
      fetch(callback),
      fetch(callback, { headers: { Cookie: 'mcp_bridge_login=guessed' } }),
      fetch(other, { headers: { Cookie: cookie } }),
      fetch(repeated, { headers: { Cookie: cookie } }),
    ];
    expect((await Promise.all(wrong)).map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    expect(await alice.run(CODE, { servers })).toContain('LOGIN_REQUIRED');
    expect((await fetch(callback, { headers: { Cookie: cookie } })).status).toBe(200);
    expect((await fetch(callback, { headers: { Cookie: cookie } })).status).toBe(400);
  });

  it('is not made for a user whose token was removed', async () => {
    const { alice, bridge } = await setUp();
    const link = linkIn(await alice.run(CODE, { servers }), bridge);
    const { callback, cookie } = await follow(await press(link));
    await bridge.command('tokens', 'remove', 'alice');
    expect((await fetch(callback, { headers: { Cookie: cookie } })).status).toBe(400);
    expect([(await fetch(link)).status, (await press(link)).status]).toEqual([404, 404]);
    expect(existsSync(join(bridge.folder, 'http/principals/of-alice/.logins'))).toBe(false);
  });

  it('is not begun by a page of another site, by looking at the link, or by guessing one', async () => {
    const { alice, bridge, provider } = await setUp();
    const link = linkIn(await alice.run(CODE, { servers }), bridge);
    const before = provider.log.length;
    expect((await press(link, { Origin: 'https://evil.example' })).status).toBe(403);
    expect((await press(link, { 'Sec-Fetch-Site': 'cross-site' })).status).toBe(405);
    expect((await fetch(link, { method: 'POST', redirect: 'manual' })).status).toBe(405);
    expect((await fetch(link)).status).toBe(200);
    const guess = `${link.slice(0, -5)}AAAAA`;
    expect((await press(guess)).status).toBe(404);
    for (const path of ['', 'callback', 'callback?state=', '../login/x', '%2e%2e']) {
      expect((await fetch(new URL(`/login/${path}`, link))).status).toBeGreaterThanOrEqual(400);
    }
    expect(provider.log.slice(before)).toEqual([]);
  });

  it('is asked for by a page if the client can open one, and the cell then runs', async () => {
    const { bridge } = await setUp();
    const [, token = ''] = bridge.tokens;
    const bob = await bridge.connect({
      era: '2025-11-25',
      token,
      opensPages: true,
      async person(asked) {
        const { callback, cookie } = await follow(await press(String(asked['url'])));
        await fetch(callback, { headers: { Cookie: cookie } });
        return { action: 'accept' };
      },
    });
    onTestFinished(() => bob.close());
    expect(await bob.run(CODE, { servers, session: 'asks' })).toContain('done');
  });
});
