// Tags: fresh
/** Logins under attack: servers that change their authorization server, mix up answers, or do without protection. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { RemoteDefinition } from '../../src/edges/upstream/pool.ts';
import { startHttp } from '../support/http-servers.ts';
import { browse, type Logins, useLogins } from '../support/logins.ts';
import { type OAuthOptions, startOAuth } from '../support/oauth-provider.ts';
import { callText, failureOf, startPool } from '../support/upstream.ts';

const SECRET = 'client-secret-12345';
const oauth = { clientId: 'by-hand', clientSecret: SECRET };

let logins: Logins;

beforeEach(() => {
  logins = useLogins();
});

/** A server whose authorization server has two names, and that names the second one after `move`. */
async function startMoving() {
  let issuer: string | undefined;
  const clients = { 'by-hand': SECRET, other: 'other-secret-12345' };
  const options: OAuthOptions & { returnedIssuer?: string } = {
    clients,
    resource: (origin) => ({ authorization_servers: [issuer ?? origin] }),
    metadata: () => (issuer === undefined ? {} : { issuer, token_endpoint: `${issuer}/token` }),
  };
  const server = await startOAuth(options);
  const moved = server.provider.origin.replace('127.0.0.1', 'localhost');
  return {
    server,
    first: server.provider.origin,
    moved,
    move() {
      issuer = moved;
      options.returnedIssuer = moved;
    },
  };
}

describe('the client secret of an entry', () => {
  // It followed the server to whatever authorization server it named.
  it('does not follow the server to another authorization server, until the person names that one', async () => {
    const { server, first, moved, move } = await startMoving();
    await logins.logIn(server.url, {}, { oauth });
    move();
    const before = server.log.length;
    const failure = await failureOf(logins.logIn(server.url, {}, { oauth }));
    expect(failure).toMatchObject({
      code: 'LOGIN_FAILED',
      message: `the login at server 'tracker' did not succeed: it now names the authorization server ${moved}; the last login with this client secret was at ${first}`,
      hint: `If the new one may have the secret, run: mcp-server-code-execution-mode servers login tracker --issuer ${moved}`,
    });
    expect(server.log).toHaveLength(before);
    expect(await callText(logins.poolOf(server.url), 'tracker', 'act')).toBe('done');
    await logins.logIn(server.url, { issuer: moved }, { oauth });
    expect((await logins.store().load({ name: 'tracker', url: server.url }))?.authorizationServer).toBe(moved);
    await logins.logIn(server.url, {}, { oauth });
  });

  it('goes only to the "issuer" of the entry, also at the first login', async () => {
    const { server, first, moved, move } = await startMoving();
    move();
    const entry: Partial<RemoteDefinition> = { oauth: { ...oauth, issuer: first } };
    for (const issuer of [undefined, moved]) {
      expect(await failureOf(logins.logIn(server.url, { issuer }, entry))).toMatchObject({
        message: expect.stringContaining(`its authorization server is ${moved}, but ${first} was expected`),
        hint: expect.stringContaining('change "issuer" in "oauth" of \'tracker\''),
      });
    }
    expect(server.log).toEqual([]);
    await logins.logIn(server.url, {}, { oauth: { ...oauth, issuer: `${moved}/` } });
    expect(server.log).toEqual(['authorize', 'token:authorization_code']);
  });

  it('stays bound after the authorization server has forgotten the client', async () => {
    const { server, moved, move } = await startMoving();
    let isForgetful = false;
    const forgetful = await startOAuth({
      clients: { 'by-hand': SECRET },
      refusal: () => (isForgetful ? [401, { error: 'invalid_client' }] : undefined),
    });
    const definition = { tracker: { url: forgetful.url, oauth } };
    await logins.logIn(forgetful.url, {}, { oauth });
    isForgetful = true;
    forgetful.expire();
    const pool = startPool(definition, { logins: logins.store() });
    expect(await failureOf(pool.describe('tracker'))).toMatchObject({ code: 'LOGIN_REQUIRED' });
    expect(await logins.store().load({ name: 'tracker', url: forgetful.url })).toBeDefined();
    // Another client is bound to the authorization server where it is used first.
    await logins.logIn(server.url, {}, { oauth });
    move();
    await logins.logIn(server.url, {}, { oauth: { clientId: 'other', clientSecret: 'other-secret-12345' } });
    expect((await logins.store().load({ name: 'tracker', url: server.url }))?.authorizationServer).toBe(moved);
  });

  it('is not part of a command if the new address could be read as more than an address', async () => {
    const { server } = await startMoving();
    await logins.logIn(server.url, {}, { oauth });
    const evil = await startHttp((_request, response) => void response.writeHead(404).end());
    const hostile = `${evil.origin}/$(id)`;
    const stored = await logins.store().load({ name: 'tracker', url: server.url });
    const again = await startOAuth({
      clients: { 'by-hand': SECRET },
      resource: () => ({ authorization_servers: [hostile] }),
    });
    if (stored !== undefined) {
      await logins.store().save({ name: 'tracker', url: again.url }, { ...stored, url: again.url });
    }
    const failure = await failureOf(logins.logIn(again.url, {}, { oauth }));
    expect(failure.hint).toMatch(/servers login tracker --issuer ADDRESS$/);
  });
});

describe('the answer in the browser', () => {
  // The text of an error was shown as that of the authorization server, whoever sent it.
  it.each([
    ['a code', {}],
    ['an error', { refuses: true }],
  ])('is refused if it is from another issuer: %s', async (_what, options) => {
    const server = await startOAuth({ ...options, returnedIssuer: 'https://other.example' });
    const failure = await failureOf(logins.logIn(server.url));
    expect(failure.message).toMatch(/the answer comes from another authorization server than http:\S+$/);
    expect(server.log).toEqual(['register', 'authorize']);
  });

  it('is refused without an issuer, if the authorization server promises one', async () => {
    const server = await startOAuth();
    const failure = await failureOf(
      logins.logIn(server.url, {
        async onAddress(address) {
          const answer = await fetch(address, { redirect: 'manual' });
          const back = new URL(answer.headers.get('location') ?? '');
          back.searchParams.delete('iss');
          void browse(back);
        },
      }),
    );
    expect(failure).toMatchObject({ code: 'LOGIN_FAILED' });
    expect(server.log).toEqual(['register', 'authorize']);
  });
});

describe('PKCE', () => {
  // Only a list without S256 was refused, not a missing one.
  it.each([
    ['announces none', { metadata: () => ({ code_challenge_methods_supported: undefined }) }, 'does not say that it'],
    ['announces only plain', { metadata: () => ({ code_challenge_methods_supported: ['plain'] }) }, 'does not support'],
  ] as [string, OAuthOptions, string][])(
    'is required of an authorization server that %s',
    async (_what, options, words) => {
      const server = await startOAuth(options);
      const failure = await failureOf(logins.logIn(server.url));
      expect(failure.message).toContain(words);
      expect(failure.message).toContain('code challenge method S256 (PKCE)');
      expect(server.log).toEqual([]);
    },
  );

  it('is required of one that publishes no metadata, unless it is the server itself', async () => {
    const silent = await startHttp((_request, response) => void response.writeHead(404).end());
    const server = await startOAuth({ resource: () => ({ authorization_servers: [silent.origin] }) });
    expect((await failureOf(logins.logIn(server.url))).message).toContain('(PKCE)');
    expect(silent.requests.filter((request) => !request.includes('/.well-known/'))).toEqual([]);
  });

  it('is used anyway with an authorization server that the entry names and that does not list its methods', async () => {
    const server = await startOAuth({ metadata: () => ({ code_challenge_methods_supported: undefined }) });
    await logins.logIn(server.url, {}, { oauth: { issuer: server.provider.origin } });
    expect(server.log).toEqual(['register', 'authorize', 'token:authorization_code']);
  });
});

describe('a redirect to another server', () => {
  it.each([301, 302, 303, 307, 308])('gets neither the code nor the secret: HTTP %s', async (status) => {
    const thief = await startHttp((_request, response) => void response.end('{}'));
    const moved = await startHttp((_request, response) => {
      response.writeHead(status, { location: `${thief.origin}/token` }).end();
    });
    const server = await startOAuth({
      clients: { 'by-hand': SECRET },
      metadata: () => ({ token_endpoint: `${moved.origin}/token` }),
    });
    expect(await failureOf(logins.logIn(server.url, {}, { oauth }))).toMatchObject({ code: 'LOGIN_FAILED' });
    expect({ asked: moved.requests, stolen: thief.requests }).toEqual({ asked: ['POST /token'], stolen: [] });
  });
});
