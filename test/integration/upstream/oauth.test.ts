// Tags: user-release
/** Logins at remote servers, with a provider on loopback. A script plays the person and follows the printed address. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { startMini } from '../../support/http-servers.ts';
import { browse, type Logins, useLogins } from '../../support/logins.ts';
import { type OAuthOptions, startOAuth } from '../../support/oauth-provider.ts';
import { callText, failureOf } from '../../support/upstream.ts';

let logins: Logins;

beforeEach(() => {
  logins = useLogins();
});

const store = () => logins.store();
const logIn: Logins['logIn'] = (...args) => logins.logIn(...args);
const poolOf = (url: string) => logins.poolOf(url);

describe('a login', () => {
  it('registers the bridge, and its token is used and stored for the owner only', async () => {
    const server = await startOAuth();
    const pages: Promise<string>[] = [];
    const outcome = await logIn(server.url, { onAddress: async (address) => void pages.push(browse(address)) });
    expect(outcome).toBe('logged-in');
    expect(await Promise.all(pages)).toEqual([
      'The terminal shows whether the login succeeded.\nYou can close this page.\n',
    ]);
    expect(server.log).toEqual(['register', 'authorize', 'token:authorization_code']);
    expect(await callText(poolOf(server.url), 'tracker', 'act')).toBe('done');
    const [file = ''] = readdirSync(join(logins.folder, '.logins'));
    expect(statSync(join(logins.folder, '.logins', file)).mode & 0o777).toBe(0o600);
    expect(statSync(join(logins.folder, '.logins')).mode & 0o777).toBe(0o700);
  });

  it('reuses its registration, at the registered port', async () => {
    const server = await startOAuth();
    await logIn(server.url);
    await logIn(server.url);
    expect(server.log.filter((step) => step === 'register')).toHaveLength(1);
  });

  it('uses the client metadata document of the entry, and registers nothing', async () => {
    const server = await startOAuth();
    const clientMetadataUrl = 'https://example.org/client.json';
    await logIn(server.url, {}, { oauth: { clientMetadataUrl } });
    expect(server.log).not.toContain('register');
    expect((await store().load({ name: 'tracker', url: server.url }))?.client.client_id).toBe(clientMetadataUrl);
  });

  it('uses a manually registered client, with its secret', async () => {
    const server = await startOAuth({ clients: { 'by-hand': 'secret-12345' } });
    await logIn(server.url, {}, { oauth: { clientId: 'by-hand', clientSecret: 'secret-12345' } });
    expect(server.log).toEqual(['authorize', 'token:authorization_code']);
    server.expire();
    expect(await callText(poolOf(server.url), 'tracker', 'act')).toBe('done');
  });

  // A server that echoed request headers showed the token to the code.
  it('is masked if the server repeats it, even after a renewal', async () => {
    const used: string[] = [];
    const server = await startOAuth({
      onCall({ request, reply }) {
        used.push(request.headers.authorization ?? '');
        reply({ content: [{ type: 'text', text: JSON.stringify(request.headers) }] });
      },
    });
    await logIn(server.url);
    const pool = poolOf(server.url);
    const first = await callText(pool, 'tracker', 'act');
    server.expire();
    const second = await callText(pool, 'tracker', 'act');
    const tokens = used.map((header) => header.replace('Bearer ', ''));
    expect(new Set(tokens).size).toBe(2);
    expect([first, second].map((text) => (JSON.parse(text) as { authorization: string }).authorization)).toEqual([
      'Bearer ***',
      'Bearer ***',
    ]);
  });

  it('is not needed if the server answers without one', async () => {
    expect(await logIn((await startMini()).url)).toBe('not-needed');
  });

  it('accepts no other requests while it waits for the browser', async () => {
    const server = await startOAuth();
    const statuses: number[] = [];
    await logIn(server.url, {
      async onAddress(address) {
        const back = new URL(address.searchParams.get('redirect_uri') ?? '');
        const state = address.searchParams.get('state') ?? '';
        const tries = [
          `?code=stolen&state=wrong`,
          `?code=stolen`,
          `/../other?code=x&state=${state}`,
          `?state=${state}`,
        ];
        for (const path of tries) {
          statuses.push((await fetch(`${back.href}${path}`)).status);
        }
        statuses.push((await fetch(`${back.href}?code=x&state=${state}`, { method: 'POST' })).status);
        void browse(address);
      },
    });
    expect(statuses).toEqual([400, 400, 400, 400, 400]);
  });
});

describe('a login that fails', () => {
  it.each([
    ['the person refuses', { refuses: true }, 'the authorization server refused it: access_denied'],
    [
      'a browser would be sent to a script',
      { metadata: () => ({ authorization_endpoint: 'javascript:alert(1)' }) },
      'did not succeed',
    ],
    [
      'a browser would be sent to a file',
      { metadata: () => ({ authorization_endpoint: 'file:///etc/passwd' }) },
      'did not succeed',
    ],
    [
      'a browser would be sent into a cloud',
      { metadata: () => ({ authorization_endpoint: 'http://169.254.169.254/authorize' }) },
      '169.254.169.254 is not opened: it is a link-local address',
    ],
    [
      'the authorization server is said to be in a cloud',
      { resource: () => ({ authorization_servers: ['http://169.254.169.254'] }) },
      'it is a link-local address',
    ],
    [
      'there is no PKCE',
      { metadata: () => ({ code_challenge_methods_supported: ['plain'] }) },
      'does not support code challenge method S256',
    ],
    ['the issuer is another one', { metadata: () => ({ issuer: 'https://example.org' }) }, 'did not succeed'],
    ['the resource is another one', { resource: () => ({ resource: 'https://example.org/mcp' }) }, 'does not match'],
  ] satisfies [string, OAuthOptions, string][])('%s', async (_why, options, message) => {
    const server = await startOAuth(options);
    const failure = await failureOf(logIn(server.url));
    expect(failure).toMatchObject({ code: 'LOGIN_FAILED', hint: expect.stringContaining('servers login tracker') });
    expect(failure.message).toContain(message);
    expect(await store().load({ name: 'tracker', url: server.url })).toBeUndefined();
  });

  it('the browser never returns', async () => {
    const server = await startOAuth();
    const failure = await failureOf(logIn(server.url, { timeoutMs: 50, onAddress: async () => undefined }));
    expect(failure.message).toContain('the browser did not return from the login page within 0.05 s');
  });

  it('the port is in use', async () => {
    const server = await startOAuth();
    const failure = await failureOf(logIn(server.url, { port: server.mcp.port }));
    expect(failure).toMatchObject({ code: 'LOGIN_FAILED', message: expect.stringContaining('EADDRINUSE') });
  });
});

describe('a call', () => {
  it('names the command that logs in, at once, until someone does', async () => {
    const server = await startOAuth();
    const pool = poolOf(server.url);
    for (let count = 0; count < 3; count += 1) {
      expect(await failureOf(pool.describe('tracker'))).toMatchObject({
        code: 'LOGIN_REQUIRED',
        message: expect.stringContaining("server 'tracker' requires a login"),
        hint: 'Run this in a terminal: mcp-server-code-execution-mode servers login tracker',
      });
    }
    expect(server.log).toEqual([]);
    await logIn(server.url);
    expect(await callText(pool, 'tracker', 'act')).toBe('done');
  });

  it('silently renews an expired token', async () => {
    const server = await startOAuth();
    await logIn(server.url);
    const pool = poolOf(server.url);
    await callText(pool, 'tracker', 'act');
    server.expire();
    const calls = Array.from({ length: 10 }, () => callText(pool, 'tracker', 'act'));
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['done']));
    expect(server.log.filter((step) => step === 'token:refresh_token')).toHaveLength(1);
  });

  it('shares a renewed token with other bridges: each refresh token is used once', async () => {
    const server = await startOAuth();
    await logIn(server.url);
    const pools = Array.from({ length: 4 }, () => poolOf(server.url));
    await Promise.all(pools.map((pool) => callText(pool, 'tracker', 'act')));
    server.expire();
    expect(await Promise.all(pools.map((pool) => callText(pool, 'tracker', 'act')))).toEqual(Array(4).fill('done'));
    expect(server.log.filter((step) => step === 'token:refresh_token')).toHaveLength(1);
  });

  it('asks for a new login after the old one has ended, and then continues', async () => {
    const server = await startOAuth();
    await logIn(server.url);
    const pool = poolOf(server.url);
    await callText(pool, 'tracker', 'act');
    server.revoke();
    expect(await failureOf(callText(pool, 'tracker', 'act'))).toMatchObject({
      code: 'LOGIN_REQUIRED',
      message: expect.stringContaining('no longer accepts the login (invalid_grant)'),
    });
    await logIn(server.url);
    expect(await callText(pool, 'tracker', 'act')).toBe('done');
  });

  it('does not keep renewing tokens for a server that accepts none', async () => {
    const server = await startOAuth({ acceptsNothing: true });
    const failure = await failureOf(logIn(server.url).then(() => poolOf(server.url).describe('tracker')));
    expect(failure).toMatchObject({ code: 'LOGIN_REQUIRED' });
    expect(server.log.filter((step) => step === 'token:refresh_token')).toHaveLength(1);
  });

  it('reports that the authorization server is down', async () => {
    const server = await startOAuth();
    await logIn(server.url);
    server.expire();
    await server.provider.stop();
    expect(await failureOf(poolOf(server.url).describe('tracker'))).toMatchObject({
      code: 'SERVER_UNREACHABLE',
      message: expect.stringContaining('its authorization server does not respond'),
    });
  });

  // A challenge may repeat scopes of the login, which then appeared twice in the command.
  it.each(['write', 'tools write'])('names the missing scope, and each scope once: %s', async (scope) => {
    const server = await startOAuth({
      onCall({ response }) {
        const challenge = `Bearer error="insufficient_scope", scope="${scope}"`;
        response.writeHead(403, { 'www-authenticate': challenge }).end();
      },
    });
    await logIn(server.url);
    expect(await failureOf(callText(poolOf(server.url), 'tracker', 'act'))).toMatchObject({
      code: 'LOGIN_REQUIRED',
      hint: expect.stringContaining("servers login tracker --scope 'tools write'"),
    });
  });

  it('sends no login to another address, and survives a broken file', async () => {
    const [first, second] = [await startOAuth(), await startOAuth()];
    await logIn(first.url);
    expect(await failureOf(poolOf(second.url).describe('tracker'))).toMatchObject({ code: 'LOGIN_REQUIRED' });
    const [file = ''] = readdirSync(join(logins.folder, '.logins'));
    const path = join(logins.folder, '.logins', file);
    expect(readFileSync(path, 'utf8')).toContain('refresh-');
    writeFileSync(path, '{');
    expect(await failureOf(poolOf(first.url).describe('tracker'))).toMatchObject({ code: 'LOGIN_REQUIRED' });
  });
});
