// Tags: anywhere, full
/** Tokens of an OAuth issuer that must not pass, with a real issuer on loopback. No engine is needed. */
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { createDeferred } from '../../src/core/base/deferred.ts';
import { principalFolder, TOKEN_NAME } from '../../src/core/state/principals.ts';
import { runPython, startFront } from '../support/http-front.ts';
import { AUDIENCE, startTokenIssuer } from '../support/token-issuer.ts';

async function setUp({
  scopes = ['mcp'],
  ...of
}: { readonly scopes?: readonly string[] } & Parameters<typeof startTokenIssuer>[0] = {}) {
  const issuer = await startTokenIssuer(of);
  const ran: string[] = [];
  let nowMs = 0;
  const front = await startFront({
    oauth: { issuer: issuer.issuer, audience: ['api://other', AUDIENCE], scopes, nowMs: () => nowMs },
    runCell: async (_request, principal) => {
      ran.push(principal ?? 'anyone');
      return {};
    },
  });
  const statusOf = async (token: string): Promise<number> => (await front.send({ ...runPython('1'), token })).status;
  return {
    issuer,
    front,
    ran,
    statusOf,
    /** Time for the keys. */
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const now = (): number => Math.floor(Date.now() / 1000);
const MINUTE = 60_000;

it('a good token is that of issuer and subject, whose folder no name of a token has', async () => {
  const { front, issuer, ran, statusOf } = await setUp();
  expect(await statusOf(await issuer.token())).toBe(200);
  expect(await statusOf(await issuer.token({ aud: ['other', AUDIENCE], scope: undefined, scp: ['x', 'mcp'] }))).toBe(
    200,
  );
  const name = `${issuer.issuer}#alice`;
  expect(ran).toEqual([name, name]);
  expect(TOKEN_NAME.test(name)).toBe(false);
  expect(principalFolder('/state', name)).not.toBe(principalFolder('/state', 'alice'));
  expect(principalFolder('/state', name)).toMatch(new RegExp(`^${join('/state', 'http/principals/by-')}[0-9a-f]{40}$`));
  // The token of an operator by the same name is someone else.
  expect(await statusOf(await front.add('alice'))).toBe(200);
  expect(ran[2]).toBe('alice');
});

describe('refused with 401', () => {
  async function refused(_name: string, claims: JWTPayload): Promise<string> {
    const { front, issuer, ran } = await setUp();
    const token = await issuer.token(claims);
    const { status, headers, text } = await front.send({ ...runPython('1'), token });
    expect(status).toBe(401);
    expect(headers['www-authenticate']).toMatch(
      /^Bearer error="invalid_token", .*resource_metadata="http:.*", scope="mcp"$/,
    );
    expect(ran).toEqual([]);
    expect(front.log.join('\n') + text).not.toContain(token.split('.')[1]);
    return text;
  }

  it.each<[string, JWTPayload]>([
    ['another audience', { aud: 'https://other.example.com/mcp' }],
    ['an audience that only begins alike', { aud: `${AUDIENCE}/p/x` }],
    ['no audience', { aud: undefined } as never],
    ['another issuer', { iss: 'https://evil.example' }],
    ['an issuer that only ends differently', { iss: 'http://127.0.0.1/tenant/' }],
    ['expired', { exp: now() - 60 }],
    ['without an expiry', { exp: undefined } as never],
    ['not valid yet', { nbf: now() + 3600 }],
    ['no subject', { sub: undefined } as never],
  ])('%s', async (name, claims) => {
    expect(await refused(name, claims)).toContain('The token');
  });

  // A list of one text was accepted, and named the same principal as the text.
  it.each<[string, JWTPayload]>([
    ['an empty subject', { sub: '' }],
    ['a subject that forges lines of the log', { sub: 'alice\n2026 INFO: all is well' }],
    ['a subject that is shown backwards', { sub: 'alice\u202e' }],
    ['a long subject', { sub: 'a'.repeat(256) }],
    ['a subject that is no text', { sub: 7 } as never],
    ['a subject that is a list', { sub: ['alice'] } as never],
    ['a subject that is an object', { sub: { length: 1 } } as never],
  ])('%s', async (name, claims) => {
    const text = await refused(name, claims);
    expect(text).toContain('The claim sub of the token must be a text of 1 to 255 characters');
    expect(text).not.toContain('Log in');
  });

  it('not signed, or signed with the public key as a secret', async () => {
    const { issuer, ran, statusOf } = await setUp();
    const [header = '', payload = '', signature = ''] = (await issuer.token()).split('.');
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string };
    const pem = await issuer.publicKey();
    const forged = ['none', 'None', 'HS256', 'HS512'].flatMap((alg) => {
      const head = part({ alg, kid, typ: 'at+jwt' });
      const hmac = createHmac(alg === 'HS512' ? 'sha512' : 'sha256', pem)
        .update(`${head}.${payload}`)
        .digest('base64url');
      return [`${head}.${payload}.`, `${head}.${payload}.${signature}`, `${head}.${payload}.${hmac}`];
    });
    const changed = part({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), sub: 'root' });
    for (const token of [
      ...forged,
      `${header}.${changed}.${signature}`,
      `${header}.${payload}.`,
      payload,
      '..',
      'a.b.c',
    ]) {
      expect([token.slice(0, 20), await statusOf(token)]).toEqual([token.slice(0, 20), 401]);
    }
    expect(ran).toEqual([]);
  });

  it('signed with a key that the token itself brings', async () => {
    const { issuer, ran, statusOf } = await setUp();
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
    const jwk = await exportJWK(publicKey);
    const claims = { iss: issuer.issuer, aud: AUDIENCE, sub: 'alice', exp: now() + 300, scope: 'mcp' };
    for (const header of [{ jwk }, { jku: 'https://evil.example/keys' }, { x5u: 'https://evil.example/x' }]) {
      const token = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', ...header }).sign(privateKey);
      expect(await statusOf(token)).toBe(401);
    }
    expect(ran).toEqual([]);
    expect(issuer.requested.filter((path) => path.includes('evil'))).toEqual([]);
  });

  it('a huge token, before anything is done with it', async () => {
    const { issuer, statusOf } = await setUp();
    expect(await statusOf(await issuer.token({ groups: 'x'.repeat(7_000) }))).toBe(401);
    expect(issuer.requested).toEqual([]);
  });

  it('a key that was removed from the keys of the issuer, after five minutes at the latest', async () => {
    const { issuer, statusOf, pass } = await setUp();
    const stolen = await issuer.token();
    expect(await statusOf(stolen)).toBe(200);
    await issuer.rotate();
    pass(5 * MINUTE);
    expect(await statusOf(stolen)).toBe(401);
    expect(await statusOf(await issuer.token())).toBe(200);
  });
});

it('a new key of the issuer is found by the first token that names it', async () => {
  const { issuer, statusOf, pass } = await setUp();
  expect(await statusOf(await issuer.token())).toBe(200);
  await issuer.rotate();
  pass(MINUTE);
  expect(await statusOf(await issuer.token())).toBe(200);
});

it('unknown keys cause no flood of requests to the issuer', async () => {
  const { issuer, statusOf, pass } = await setUp();
  expect(await statusOf(await issuer.token())).toBe(200);
  pass(MINUTE);
  const before = issuer.requested.length;
  const tokens = await Promise.all(Array.from({ length: 200 }, (_, n) => issuer.token({}, { kid: `guess-${n}` })));
  const statuses = await Promise.all(tokens.map((token) => statusOf(token)));
  expect(new Set(statuses)).toEqual(new Set([401]));
  expect(issuer.requested.length - before).toBe(1);
});

it('if the issuer is down, the answer is 503 and not 401, and what is known goes on', async () => {
  const { front, issuer, statusOf, pass } = await setUp();
  issuer.breakDown();
  const token = await issuer.token();
  const { status, headers, text } = await front.send({ ...runPython('1'), token });
  expect([status, headers['retry-after'], headers['www-authenticate']]).toEqual([503, '15', undefined]);
  expect(text).toContain('Try again later. The log of this server says why.');
  expect(front.log.join('\n')).toMatch(/keys of the OAuth issuer .* could not be read.*MCP_BRIDGE_HTTP_OAUTH_ISSUER/);
  const before = issuer.requested.length;
  await Promise.all(Array.from({ length: 50 }, () => statusOf(token)));
  expect(issuer.requested.length).toBe(before);
  issuer.repair();
  pass(MINUTE);
  expect(await statusOf(token)).toBe(200);
  issuer.breakDown();
  pass(MINUTE);
  expect(await statusOf(token)).toBe(200);
  pass(5 * MINUTE);
  expect(await statusOf(token)).toBe(503);
});

it.each<[string, (issuer: string) => object]>([
  ['names another issuer', () => ({ issuer: 'https://evil.example' })],
  ['has its keys without https: elsewhere', () => ({ jwks_uri: 'http://evil.example/keys' })],
  ['has its keys in a file', () => ({ jwks_uri: 'file:///etc/passwd' })],
  ['has no keys', () => ({ jwks_uri: undefined })],
])('no token passes if the metadata %s', async (_, metadata) => {
  const { issuer, statusOf } = await setUp({ metadata: metadata as never });
  expect(await statusOf(await issuer.token())).toBe(503);
});

it('finds the metadata of OpenID Connect', async () => {
  const { issuer, statusOf } = await setUp({ kind: 'openid' });
  expect(await statusOf(await issuer.token())).toBe(200);
});

describe('what a client reads', () => {
  it('says where to log in, at both paths and without a token', async () => {
    const { front, issuer } = await setUp();
    const read = async (path: string, host: string) =>
      front.send({ method: 'GET', path: `/.well-known/oauth-protected-resource${path}`, headers: { Host: host } });
    const here = `127.0.0.1:${front.port}`;
    for (const [path, host, resource] of [
      ['', here, `http://${here}/mcp`],
      ['/mcp', here, `http://${here}/mcp`],
      ['/mcp/p/research', 'mcp.example.com', 'https://mcp.example.com/mcp/p/research'],
    ] as const) {
      const { status, message } = await read(path, host);
      expect(status).toBe(200);
      expect(message).toMatchObject({ resource, authorization_servers: [issuer.issuer], scopes_supported: ['mcp'] });
    }
    expect((await read('/mcp', 'evil.example')).status).toBe(421);
    expect((await read('/metrics', here)).status).toBe(401);
    const { status, headers } = await front.send({ ...runPython('1') });
    expect([status, headers['www-authenticate']]).toEqual([
      401,
      `Bearer resource_metadata="http://${here}/.well-known/oauth-protected-resource/mcp", scope="mcp"`,
    ]);
  });

  it('says which scopes are missing, with 403', async () => {
    const { front, issuer, ran } = await setUp({ scopes: ['mcp', 'run'] });
    for (const scope of [undefined, '', 'mcp', 'mcp running', 'mcprun']) {
      const token = await issuer.token({ scope });
      const { status, headers } = await front.send({ ...runPython('1'), token });
      expect(status).toBe(403);
      expect(headers['www-authenticate']).toMatch(/^Bearer error="insufficient_scope", .*, scope="mcp run"$/);
    }
    expect(ran).toEqual([]);
  });

  it('is nothing without an issuer', async () => {
    const front = await startFront();
    await front.add('alice');
    const path = '/.well-known/oauth-protected-resource';
    const { status, headers } = await front.send({ method: 'GET', path });
    expect([status, headers['www-authenticate']]).toEqual([401, 'Bearer']);
  });
});

// Each subject that had listed the tools once left a bridge of 0.9 MB for half an hour.
it('subjects without end have few bridges at once, and those that run cells stay', async () => {
  const issuer = await startTokenIssuer();
  const held = createDeferred<Record<string, never>>();
  const front = await startFront({
    limits: { maxTenants: 3 },
    oauth: { issuer: issuer.issuer, audience: [AUDIENCE], scopes: [] },
    runCell: async ({ code }) => (code === 'hold' ? held.promise : {}),
  });
  const run = async (sub: string, code = '1') =>
    (await front.send({ ...runPython(code), token: await issuer.token({ sub }) })).status;
  const principals = async () => {
    const token = await issuer.token();
    return /^\w*principals (\d+)$/m.exec((await front.send({ method: 'GET', path: '/metrics', token })).text)?.[1];
  };
  const running = [run('runs', 'hold')];
  for (let number = 0; number < 10; number += 1) {
    // biome-ignore lint/performance/noAwaitInLoops: one after the other.
    expect(await run(`subject-${number}`)).toBe(200);
  }
  expect(await principals()).toBe('3');
  running.push(run('runs-too', 'hold'), run('runs-as-well', 'hold'));
  await expect.poll(() => run('comes-late')).toBe(429);
  held.resolve({});
  expect(await Promise.all(running)).toEqual([200, 200, 200]);
  expect(await run('comes-late')).toBe(200);
});
