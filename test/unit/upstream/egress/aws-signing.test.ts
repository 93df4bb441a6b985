import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type AwsSigning, awsScopeOf, sha256, signAws } from '../../../../src/edges/upstream/egress/aws-signing.ts';

interface Fixture {
  readonly now: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly cases: readonly {
    readonly name: string;
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly token: string | null;
    readonly authorization: string;
  }[];
}

/** Made with botocore by the script beside it. */
const FIXTURE = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../fixtures/aws-signatures/aws-signatures.json'), 'utf8'),
) as Fixture;
const NOW_MS = Date.parse(FIXTURE.now);
const KEYS: AwsSigning = { kind: 'aws', accessKeyId: FIXTURE.accessKeyId, secretAccessKey: FIXTURE.secretAccessKey };
const SDK =
  'AWS4-HMAC-SHA256 Credential=bridge-key/20260304/eu-west-1/sqs/aws4_request, SignedHeaders=host, Signature=0';

function signed(
  { method = 'GET', url = 'https://sqs.eu-west-1.amazonaws.com/', headers = {} as Record<string, string>, body = '' },
  keys = KEYS,
  nowMs = NOW_MS,
): Record<string, string> {
  const request = { method, url: new URL(url), headers };
  const scope = awsScopeOf(request, keys);
  return signAws(request, keys, { ...scope, payloadHash: scope.payloadHash ?? sha256(Buffer.from(body)) }, nowMs);
}

function authorizationOf(headers: Record<string, string>): Record<string, string> {
  return signed({ headers: { Authorization: SDK, ...headers } });
}

describe('signatures of botocore are made anew with the keys of the entry', () => {
  it('has enough of them', () => {
    expect(FIXTURE.cases.length).toBeGreaterThanOrEqual(40);
  });

  it.each(FIXTURE.cases.map((one) => [one.name, one] as const))('%s', (_name, one) => {
    const keys = one.token === null ? KEYS : { ...KEYS, sessionToken: one.token };
    const { headers } = one;
    const result = signed({ ...one, headers, body: Buffer.from(one.body, 'base64').toString() }, keys);
    expect(result['authorization']).toBe(one.authorization);
    expect(result['x-amz-security-token']).toBe(one.token ?? undefined);
    expect(Object.keys(result).map((name) => name.toLowerCase())).toHaveLength(
      new Set(Object.keys(result).map((name) => name.toLowerCase())).size,
    );
    expect(JSON.stringify(result)).not.toContain('bridge-');
  });
});

describe('what is signed', () => {
  const signature = (headers: Record<string, string>): string | undefined => headers['authorization'];

  it('a + in the query is a space, and parameters are sorted by their encoded form', () => {
    const headers = { authorization: SDK };
    const url = 'https://sqs.eu-west-1.amazonaws.com/?b=1&a=x+y&a=B&%7Ez';
    const other = 'https://sqs.eu-west-1.amazonaws.com/?a=B&a=x%20y&b=1&~z=';
    expect(signature(signed({ url, headers }))).toBe(signature(signed({ url: other, headers })));
  });

  it('a path that is not encoded as S3 does it', () => {
    const headers = { authorization: SDK.replace('sqs', 's3') };
    const url = "https://b.s3.amazonaws.com/a(1)'+$%c3%a9";
    const other = 'https://b.s3.amazonaws.com/a%281%29%27%2B%24%C3%A9';
    expect(signature(signed({ url, headers }))).toBe(signature(signed({ url: other, headers })));
  });

  it('repeated parameters of S3 count', () => {
    const headers = { authorization: SDK.replace('sqs', 's3') };
    const one = signature(signed({ url: 'https://b.s3.amazonaws.com/?a=1', headers }));
    expect(signature(signed({ url: 'https://b.s3.amazonaws.com/?a=1&a=2', headers }))).not.toBe(one);
  });

  it('a date that is close is kept; any other is that of the host', () => {
    expect(authorizationOf({ 'X-Amz-Date': '20260304T050500Z' })['x-amz-date']).toBe('20260304T050500Z');
    for (const date of ['20260304T060500Z', '20260304T040500Z', 'yesterday', '20261304T050500Z']) {
      expect(authorizationOf({ 'X-Amz-Date': date })['x-amz-date']).toBe('20260304T050607Z');
    }
  });

  it('spellings of the headers of a signature that a server could mistake for one are removed', () => {
    const headers = authorizationOf({ x_amz_security_token: 'a', 'X-AMZ-Security-Token': 'b', X_Amz_Date: 'c' });
    expect(Object.keys(headers).toSorted()).toEqual(['authorization', 'x-amz-date']);
  });

  it('S3 gets the hash of the body even if the program sent none', () => {
    const keys = { ...KEYS, region: 'eu-west-1', service: 's3' };
    const headers = signed({ url: 'https://b.s3.amazonaws.com/x', method: 'PUT', body: 'hello' }, keys);
    expect(headers['x-amz-content-sha256']).toBe(sha256(Buffer.from('hello')));
    expect(headers['authorization']).toContain('SignedHeaders=host;x-amz-content-sha256;x-amz-date');
  });

  it('region and service of the entry win over those of the SDK', () => {
    const keys = { ...KEYS, region: 'us-east-1', service: 'dynamodb' };
    expect(signature(signed({ headers: { authorization: SDK } }, keys))).toContain('/us-east-1/dynamodb/aws4_request');
  });

  it.each(['UNSIGNED-PAYLOAD', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER', 'ab'.repeat(32)])('%s is kept', (hash) => {
    const request = {
      method: 'PUT',
      url: new URL('https://x.test/'),
      headers: { authorization: SDK, 'X-Amz-Content-SHA256': hash },
    };
    expect(awsScopeOf(request, KEYS).payloadHash).toBe(hash);
  });
});

describe('what cannot be signed anew is refused', () => {
  it.each<[string, Record<string, string>, string]>([
    [
      'https://x.test/',
      { 'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD', authorization: SDK },
      'body cannot be signed',
    ],
    [
      'https://x.test/',
      { 'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER', authorization: SDK },
      'body cannot be signed',
    ],
    ['https://x.test/?X-Amz-Signature=1', { authorization: SDK }, 'signed in its address'],
    ['https://x.test/?x-amz-credential=1', {}, 'signed in its address'],
    ['https://x.test/', {}, 'region and service'],
    ['https://x.test/', { authorization: 'AWS4-HMAC-SHA256 Credential=x/20260304/aws4_request' }, 'region and service'],
    ['https://x.test/', { authorization: 'AWS4-ECDSA-P256-SHA256 Credential=x/20260304/s3/aws4_request' }, '4A'],
  ])('%s %j', (url, headers, text) => {
    expect(() => awsScopeOf({ method: 'GET', url: new URL(url), headers }, KEYS)).toThrow(
      expect.objectContaining({
        code: 'HTTP_REFUSED',
        message: expect.stringContaining(text),
        hint: expect.any(String),
      }),
    );
  });
});
