import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { decodeJwt, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { type JwtSigning, JwtSource } from '../../../../src/edges/upstream/egress/jwt-signing.ts';

const NOW_MS = Date.parse('2026-03-04T05:06:07Z');
const SECRET: JwtSigning = {
  kind: 'jwt',
  algorithm: 'HS256',
  key: 'a secret of the entry that is long enough',
  claims: { iss: 'app-1' },
  expiresSeconds: 600,
};

function pem(type: 'pkcs1' | 'pkcs8'): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return privateKey.export({ type, format: 'pem' }).toString();
}

describe('tokens', () => {
  it('carry the claims, and times of the host', async () => {
    const token = await new JwtSource({ ...SECRET, keyId: 'k1' }).token(NOW_MS);
    const { payload, protectedHeader } = await jwtVerify(token, Buffer.from(SECRET.key), {
      currentDate: new Date(NOW_MS),
    });
    expect(protectedHeader).toEqual({ alg: 'HS256', typ: 'JWT', kid: 'k1' });
    expect(payload).toEqual({ iss: 'app-1', iat: NOW_MS / 1000 - 10, exp: NOW_MS / 1000 + 590 });
  });

  it.each(['pkcs1', 'pkcs8'] as const)('are signed with a key in PEM (%s)', async (type) => {
    const key = pem(type);
    const token = await new JwtSource({ ...SECRET, algorithm: 'RS256', key }).token(NOW_MS);
    await expect(jwtVerify(token, createPublicKey(key), { currentDate: new Date(NOW_MS) })).resolves.toBeDefined();
  });

  it('are kept until shortly before they end', async () => {
    const source = new JwtSource(SECRET);
    const first = await source.token(NOW_MS);
    expect(await source.token(NOW_MS + 529_000)).toBe(first);
    const next = await source.token(NOW_MS + 530_000);
    expect(decodeJwt(next).exp).toBe(NOW_MS / 1000 + 530 + 590);
  });

  it('of a few seconds are new in time', async () => {
    const source = new JwtSource({ ...SECRET, expiresSeconds: 8 });
    const { iat, exp } = decodeJwt(await source.token(NOW_MS));
    expect([iat, exp]).toEqual([NOW_MS / 1000 - 2, NOW_MS / 1000 + 6]);
    expect(decodeJwt(await source.token(NOW_MS + 4_000)).iat).toBe(NOW_MS / 1000 + 2);
  });

  it.each([
    ['a key that is none', { algorithm: 'RS256', key: 'not a key 1234' }],
    ['a key of another kind', { algorithm: 'ES256', key: pem('pkcs8') }],
    ['an algorithm that does not exist', { algorithm: 'RS1', key: pem('pkcs8') }],
    ['no algorithm', { algorithm: 'none', key: pem('pkcs8') }],
  ])('are refused with %s, which is not repeated', async (_what, wrong) => {
    const error = await new JwtSource({ ...SECRET, ...wrong })
      .token(NOW_MS)
      .catch((thrown: unknown) => thrown as Error);
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
    expect(String((error as Error).stack)).not.toContain('not a key 1234');
  });
});
