// Tags: full, user-release
/** Logins with hostile servers, failing providers, jumping clocks and full disks. */

import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { LoginKey } from '../../../src/edges/upstream/oauth/login-store.ts';
import { startMini } from '../../support/http-servers.ts';
import { type Logins, useLogins } from '../../support/logins.ts';
import { startOAuth } from '../../support/oauth-provider.ts';
import { pause } from '../../support/pause.ts';
import { callText, failureOf, startPool } from '../../support/upstream.ts';

let logins: Logins;

beforeEach(() => {
  logins = useLogins();
});

const countOf = (log: readonly string[], step: string): number => log.filter((one) => one === step).length;
const keyOf = (url: string): LoginKey => ({ name: 'tracker', url });

describe('an attacker', () => {
  it('cannot send the bridge to a cloud metadata address by a challenge', async () => {
    const challenge = 'Bearer resource_metadata="http://169.254.169.254/latest/meta-data"';
    const server = await startOAuth({ challenge });
    const failure = await failureOf(logins.logIn(server.url));
    expect(failure).toMatchObject({ code: 'LOGIN_FAILED', message: expect.stringContaining('link-local address') });
  });

  it('cannot have a code from another authorization server exchanged', async () => {
    const server = await startOAuth({ returnedIssuer: 'https://attacker.example' });
    expect(await failureOf(logins.logIn(server.url))).toMatchObject({ code: 'LOGIN_FAILED' });
    expect(server.log).not.toContain('token:authorization_code');
  });

  it('cannot inject a header line through a token', async () => {
    const server = await startOAuth({ tokens: { access_token: 'good\r\nx-evil: 1' } });
    const failure = await failureOf(logins.logIn(server.url));
    expect(failure.message).toContain('a token with characters that are invalid in a header');
    expect(await logins.store().load(keyOf(server.url))).toBeUndefined();
  });
});

describe('a server that asks for a login only later', () => {
  it('gets the login with the next call, not with the first', async () => {
    const server = await startOAuth({ protectsCallsOnly: true });
    const pool = logins.poolOf(server.url);
    expect((await pool.describe('tracker')).tools).toHaveLength(1);
    expect(await failureOf(callText(pool, 'tracker', 'act'))).toMatchObject({ code: 'LOGIN_REQUIRED' });
    expect(await logins.logIn(server.url)).toBe('logged-in');
    expect(await callText(pool, 'tracker', 'act')).toBe('done');
  });

  it('gets the login over the older transport, which has no POST', async () => {
    const server = await startOAuth({ isOldTransport: true });
    expect(await logins.logIn(server.url, {}, { transport: 'sse' })).toBe('logged-in');
  });
});

describe('a client', () => {
  it('that cannot be registered: the error says what to add to the entry', async () => {
    const server = await startOAuth({ metadata: () => ({ registration_endpoint: undefined }) });
    expect(await failureOf(logins.logIn(server.url))).toMatchObject({
      code: 'LOGIN_FAILED',
      message: expect.stringContaining('does not support dynamic client registration'),
      hint: expect.stringMatching(/"oauth": \{"clientId": …\} of 'tracker' .*"clientMetadataUrl"/),
    });
    const clientMetadataUrl = 'https://example.org/client.json';
    expect(await logins.logIn(server.url, {}, { oauth: { clientMetadataUrl } })).toBe('logged-in');
  });

  it('whose registration is refused: the error says what to add instead, a key or an id', async () => {
    const server = await startOAuth({ metadata: (origin) => ({ registration_endpoint: `${origin}/none` }) });
    expect(await failureOf(logins.logIn(server.url))).toMatchObject({
      code: 'LOGIN_FAILED',
      message: expect.stringContaining('Registration rejected (HTTP 404)'),
      hint: expect.stringMatching(/"headers" of 'tracker' .*"oauth": \{"clientId": …\}/),
    });
  });

  it('that the provider forgot registers again with the next login', async () => {
    const server = await startOAuth();
    await logins.logIn(server.url);
    server.forgetClients();
    expect(await failureOf(logins.poolOf(server.url).describe('tracker'))).toMatchObject({
      code: 'LOGIN_REQUIRED',
      message: expect.stringContaining('no longer accepts the login (invalid_client)'),
    });
    await logins.logIn(server.url);
    expect(countOf(server.log, 'register')).toBe(2);
  });

  it('that the provider forgot silently: the error after the timeout says what to do', async () => {
    const server = await startOAuth();
    await logins.logIn(server.url);
    server.forgetClients();
    const failure = await failureOf(logins.logIn(server.url, { timeoutMs: 300 }));
    expect(failure.hint).toContain('run: mcp-server-code-execution-mode servers logout tracker');
  });

  it('that now has a metadata document is no longer the registered one', async () => {
    const server = await startOAuth();
    await logins.logIn(server.url);
    const clientMetadataUrl = 'https://example.org/client.json';
    await logins.logIn(server.url, {}, { oauth: { clientMetadataUrl } });
    expect((await logins.store().load(keyOf(server.url)))?.client.client_id).toBe(clientMetadataUrl);
  });
});

it('with a port in use: the error says what to do', async () => {
  const server = await startOAuth();
  const failure = await failureOf(logins.logIn(server.url, {}, { oauth: { callbackPort: server.mcp.port } }));
  expect(failure).toMatchObject({
    code: 'LOGIN_FAILED',
    hint: 'Another program uses this port. Choose another: mcp-server-code-execution-mode servers login tracker --port PORT',
  });
});

describe('a renewal', () => {
  it.each([
    [503, { error: 'temporarily_unavailable' }],
    [429, { error: 'too_many_requests' }],
    [500, { error: 'server_error' }],
    [502, {}],
  ] as const)('that the provider cannot do now (HTTP %i %j) keeps the login', async (status, body) => {
    let isDown = true;
    const server = await startOAuth({ refusal: () => (isDown ? [status, body] : undefined) });
    const other = await startMini();
    await logins.logIn(server.url);
    const servers = { tracker: { url: server.url }, other: { url: other.url } };
    const pool = startPool(servers, { logins: logins.store() });
    await callText(pool, 'tracker', 'act');
    server.expire();
    expect(await failureOf(callText(pool, 'tracker', 'act'))).toMatchObject({ code: 'SERVER_UNREACHABLE' });
    expect(await callText(pool, 'other', 'act')).toBe('done');
    isDown = false;
    expect(await callText(pool, 'tracker', 'act')).toBe('done');
  });

  it('happens each time that short-lived tokens expire', async () => {
    const server = await startOAuth({ tokens: { expires_in: 0 } });
    await logins.logIn(server.url);
    const pool = logins.poolOf(server.url);
    for (let count = 1; count <= 3; count += 1) {
      server.expire();
      expect(await callText(pool, 'tracker', 'act')).toBe('done');
      expect(countOf(server.log, 'token:refresh_token')).toBe(count);
    }
  });

  it('does not depend on the clock of this machine', async () => {
    const server = await startOAuth();
    await logins.logIn(server.url);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 365 * 24 * 3_600_000 });
    try {
      expect(await callText(logins.poolOf(server.url), 'tracker', 'act')).toBe('done');
      expect(countOf(server.log, 'token:refresh_token')).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it('that cannot be stored fails one call, and is used for the next ones', async () => {
    const server = await startOAuth({ tokens: { expires_in: 0 } });
    await logins.logIn(server.url);
    const kept = logins.store();
    let isFull = true;
    const full = {
      ...kept,
      save: async (...args: Parameters<typeof kept.save>) => {
        if (isFull) {
          throw Object.assign(new Error('the disk is full'), { code: 'ENOSPC' });
        }
        await kept.save(...args);
      },
    };
    const pool = startPool({ tracker: { url: server.url } }, { logins: full });
    await callText(pool, 'tracker', 'act');
    server.expire();
    expect((await failureOf(callText(pool, 'tracker', 'act'))).message).toContain('the disk is full');
    expect(await callText(pool, 'tracker', 'act')).toBe('done');
    // The next renewal uses the token that was never on disk, not the used one.
    isFull = false;
    server.expire();
    expect(await callText(pool, 'tracker', 'act')).toBe('done');
    expect(countOf(server.log, 'token:refresh_token')).toBe(2);
    expect(await callText(logins.poolOf(server.url), 'tracker', 'act')).toBe('done');
  });

  it('in progress delays a logout, and does not restore the login', async () => {
    const server = await startOAuth();
    await logins.logIn(server.url);
    const [store, key] = [logins.store(), keyOf(server.url)];
    const order: string[] = [];
    let finish = (): void => undefined;
    const isDone = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const renewal = store.exclusively(key, async () => {
      const record = await store.load(key);
      await isDone;
      order.push('renewed');
      await store.save(key, record as NonNullable<typeof record>);
    });
    const logout = logins.store().exclusively(key, async () => {
      order.push('removed');
      await store.remove(key);
    });
    finish();
    await Promise.all([renewal, logout]);
    expect(order).toEqual(['renewed', 'removed']);
    expect(await store.load(key)).toBeUndefined();
  });
});

it.each(['{}', '{"tokens": {}}', 'null', '{'])('a file without a login counts as none: %s', async (text) => {
  const server = await startOAuth();
  await logins.logIn(server.url);
  const folder = join(logins.folder, '.logins');
  const [file = ''] = readdirSync(folder);
  const { url } = server;
  writeFileSync(join(folder, file), text.replace('{"tokens"', `{"url": ${JSON.stringify(url)}, "tokens"`));
  expect(await failureOf(logins.poolOf(url).describe('tracker'))).toMatchObject({ code: 'LOGIN_REQUIRED' });
  expect(await logins.logIn(url)).toBe('logged-in');
});

describe('the lock of a renewal', () => {
  const lockIn = ({ folder }: Logins): string => {
    const file = readdirSync(join(folder, '.logins')).find((name) => name.endsWith('.json'));
    return join(folder, '.logins', `${file}.lock`);
  };

  it.each([
    ['of a process that is gone', -120_000],
    ['from the future, because the clock was set back', 3_600_000],
  ])('%s delays no one', async (_whose, ageMs) => {
    const server = await startOAuth();
    await logins.logIn(server.url);
    const lock = lockIn(logins);
    writeFileSync(lock, 'gone');
    const then = new Date(Date.now() + ageMs);
    utimesSync(lock, then, then);
    server.expire();
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now');
    onTestFinished(() => clock.mockRestore());
    if (ageMs > 0) {
      // Two minutes pass while it waits.
      const started = now();
      clock.mockImplementation(() => now() + (now() - started > 200 ? 120_000 : 0));
    }
    expect(await callText(logins.poolOf(server.url), 'tracker', 'act')).toBe('done');
    expect(readdirSync(join(logins.folder, '.logins'))).toHaveLength(1);
  });

  it('that was left behind admits one at a time, no matter how many find it', async () => {
    const server = await startOAuth();
    await logins.logIn(server.url);
    const lock = lockIn(logins);
    writeFileSync(lock, 'gone');
    utimesSync(lock, new Date(0), new Date(0));
    let [inside, most] = [0, 0];
    await Promise.all(
      Array.from({ length: 20 }, async () =>
        logins.store().exclusively(keyOf(server.url), async () => {
          inside += 1;
          most = Math.max(most, inside);
          await pause(5, 'two that overlap are seen only if each takes a while');
          inside -= 1;
        }),
      ),
    );
    expect(most).toBe(1);
    expect(readdirSync(join(logins.folder, '.logins'))).toHaveLength(1);
  });
});
