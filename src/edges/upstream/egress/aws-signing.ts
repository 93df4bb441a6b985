/**
 * AWS Signature Version 4 by the host, in place of the one that the SDK in the sandbox made with placeholders ("Create a signed AWS API
 * request", AWS IAM user guide; compared with botocore). Pure. `aws4fetch` (MIT) was tried: it drops repeated parameters of S3, reads
 * `+` in a path as a space, and signs a fixed set of headers only.
 */
import { createHash, createHmac } from 'node:crypto';
import type { BridgeError } from '../../../core/base/errors.ts';
import { plainName } from '../http/entry-headers.ts';
import { refused } from './request-headers.ts';

export interface AwsSigning {
  readonly kind: 'aws';
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  /** Instead of what the SDK names. */
  readonly region?: string | undefined;
  readonly service?: string | undefined;
}

export interface UnsignedRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** What the request says about its signature. */
export interface AwsScope {
  readonly region: string;
  readonly service: string;
  /** The headers that the SDK has signed. */
  readonly signed: readonly string[];
  /** The hash of the body as a header says it; undefined if the body must be hashed. */
  readonly payloadHash: string | undefined;
}

/** Made anew, so that none of the SDK's stays. */
const REPLACED = new Set(['authorization', 'x-amz-security-token', 'x-amz-date']);
/** Set or changed on the way; no service wants them signed. */
const NEVER_SIGNED =
  /^(?:accept-encoding|connection|content-length|expect|te|transfer-encoding|user-agent|x-amzn-trace-id)$/;
const ALWAYS_SIGNED = /^(?:host|content-type|content-md5|x-amz-.*)$/;
/** Of real ones. Searching a longer text would take long. */
const MAX_AUTHORIZATION_CHARS = 2_000;
/** Services whose paths are encoded once. */
const S3 = /^s3(?:-outposts|-object-lambda|express)?$/;
const PAYLOAD_HASH = /^(?:[\da-f]{64}|UNSIGNED-PAYLOAD|STREAMING-UNSIGNED-PAYLOAD-TRAILER)$/;
/** How much the date of the SDK may differ; services refuse more than 15 minutes, some more than 5. */
const MAX_SKEW_MS = 5 * 60_000;

/** Throws `HTTP_REFUSED` for what cannot be signed anew. */
export function awsScopeOf(request: UnsignedRequest, signing: AwsSigning): AwsScope {
  if ([...request.url.searchParams.keys()].some((name) => /^x-amz-(?:signature|credential)$/i.test(name))) {
    throw refused(
      'it is signed in its address, with keys that are placeholders',
      'Let the SDK make the request itself instead of a presigned address.',
    );
  }
  const written = valueOf(request.headers, 'authorization');
  if ((written?.length ?? 0) > MAX_AUTHORIZATION_CHARS) {
    throw refused('its authorization is too long for a signature', 'Let the SDK sign the request.');
  }
  if (written?.startsWith('AWS4-ECDSA') === true) {
    throw refused('it needs Signature Version 4A', 'Use the endpoint of one region.');
  }
  const [, ofRegion, ofService] =
    /^AWS4-HMAC-SHA256 .*Credential=[^,\s]*\/\d{8}\/([\w-]+)\/([\w-]+)\/aws4_request/.exec(written ?? '') ?? [];
  const [region, service] = [signing.region ?? ofRegion, signing.service ?? ofService];
  if (region === undefined || service === undefined) {
    throw refused(
      'nothing says for which AWS region and service to sign it',
      'Send it with an AWS SDK, which signs with Signature Version 4, or set "region" and "service" in the entry.',
    );
  }
  const signed =
    /SignedHeaders=([\w;.-]+)/
      .exec(written ?? '')?.[1]
      ?.toLowerCase()
      .split(';') ?? [];
  return { region, service, signed, payloadHash: payloadHashOf(valueOf(request.headers, 'x-amz-content-sha256')) };
}

/** The headers with a signature of the entry's keys. */
export function signAws(
  request: UnsignedRequest,
  signing: AwsSigning,
  { region, service, signed, payloadHash }: AwsScope & { readonly payloadHash: string },
  nowMs = Date.now(),
): Record<string, string> {
  const date = dateOf(valueOf(request.headers, 'x-amz-date'), nowMs);
  const headers: Record<string, string> = {
    ...Object.fromEntries(Object.entries(request.headers).filter(([name]) => !REPLACED.has(plainName(name)))),
    'x-amz-date': date,
    ...(signing.sessionToken !== undefined && { 'x-amz-security-token': signing.sessionToken }),
  };
  if (S3.test(service) && valueOf(headers, 'x-amz-content-sha256') === undefined) {
    headers['x-amz-content-sha256'] = payloadHash;
  }
  const toSign = Object.entries({ ...headers, host: request.url.host })
    .map(([name, value]) => [name.toLowerCase(), value.trim().replace(/ +/g, ' ')] as const)
    .filter(([name]) => !NEVER_SIGNED.test(name) && (ALWAYS_SIGNED.test(name) || signed.includes(name)))
    .toSorted(([a], [b]) => compare(a, b));
  const names = toSign.map(([name]) => name).join(';');
  const lines = toSign.map(([name, value]) => `${name}:${value}\n`).join('');
  const path = S3.test(service) ? request.url.pathname : request.url.pathname.replace(/\/{2,}/g, '/');
  const canonicalPath = path
    .split('/')
    .map(S3.test(service) ? encodedOnce : encodedAgain)
    .join('/');
  const canonical = [request.method, canonicalPath, canonicalQuery(request.url.search), lines, names, payloadHash].join(
    '\n',
  );
  const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
  const text = `AWS4-HMAC-SHA256\n${date}\n${scope}\n${sha256(Buffer.from(canonical, 'latin1'))}`;
  const key = scope
    .split('/')
    .reduce<string | Buffer>((from, part) => hmac(from, part), `AWS4${signing.secretAccessKey}`);
  const signature = hmac(key, text).toString('hex');
  headers['authorization'] =
    `AWS4-HMAC-SHA256 Credential=${signing.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return headers;
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function payloadHashOf(header: string | undefined): string | undefined {
  if (header !== undefined && !PAYLOAD_HASH.test(header)) {
    throw refusedPayload(header);
  }
  return header;
}

/** Each part of such a body carries a signature that was made with the placeholder. */
function refusedPayload(header: string): BridgeError {
  return refused(
    `its body cannot be signed anew (x-amz-content-sha256: ${header.slice(0, 60)})`,
    "Use an https address, for which boto3 leaves the body unsigned, or Config(s3={'payload_signing_enabled': False}, request_checksum_calculation='when_required'); in Java, chunkedEncodingEnabled(false).",
  );
}

function valueOf(headers: Readonly<Record<string, string>>, wanted: string): string | undefined {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1];
}

/** The SDK's date, `20260102T030405Z`, if it is close to now. */
function dateOf(written: string | undefined, nowMs: number): string {
  const iso = /^\d{8}T\d{6}Z$/.test(written ?? '')
    ? (written ?? '').replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z')
    : '';
  return Math.abs(Date.parse(iso) - nowMs) <= MAX_SKEW_MS
    ? (written ?? '')
    : new Date(nowMs).toISOString().replace(/[:-]|\.\d+/g, '');
}

/** Sorted by name and value as they are encoded. A `+` is a space, as services read it. */
function canonicalQuery(search: string): string {
  return search
    .replace(/^\?/, '')
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return [name, value.join('=')].map((part) => encodedOnce(part.replaceAll('+', '%20'))) as [string, string];
    })
    .toSorted(([nameA, valueA], [nameB, valueB]) => compare(nameA, nameB) || compare(valueA, valueB))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

/** Everything but unreserved characters (RFC 3986) is an escape, in upper case; what is one already stays one. */
function encodedOnce(text: string): string {
  return text.replace(/%[\da-f]{2}|[^\w.~-]/gi, (part) => {
    const code = part.length === 1 ? part.charCodeAt(0) : Number.parseInt(part.slice(1), 16);
    const character = String.fromCharCode(code);
    return /[\w.~-]/.test(character) ? character : `%${code.toString(16).toUpperCase().padStart(2, '0')}`;
  });
}

function encodedAgain(text: string): string {
  return text.replace(/[^\w.~-]/g, (part) => `%${part.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
