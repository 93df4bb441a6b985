/**
 * Checks requests to AWS: the signature (Signature Version 4), and bodies in `aws-chunked` with a checksum behind them, as boto3 sends
 * them to S3.
 */
import { createHash, createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ApiCall } from './routes.ts';

const FIELDS =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/;

/** Whether the holder of these keys signed the request as it arrived, within the last five minutes. */
export function isSigned(call: ApiCall, id: string, secret: string): boolean {
  const [, credential, day = '', region = '', service = '', signed = '', signature] =
    FIELDS.exec(call.headers.authorization ?? '') ?? [];
  const date = String(call.headers['x-amz-date']);
  if (credential !== id || !date.startsWith(day) || !isRecent(date) || !signed.split(';').includes('host')) {
    return false;
  }
  const scope = [day, region, service, 'aws4_request'];
  const request = canonicalRequest(call, service, signed);
  const text = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(request)].join('\n');
  const key = scope.reduce<Buffer>((parent, part) => hmac(parent, part), Buffer.from(`AWS4${secret}`));
  return hmac(key, text).toString('hex') === signature;
}

function canonicalRequest({ method, url, headers, body }: ApiCall, service: string, signed: string): string {
  const isS3 = service === 's3';
  const declared = headers['x-amz-content-sha256'];
  // S3 alone takes the path as it is; the others encode it once more.
  const path = isS3 ? url.pathname : encodeURI(url.pathname);
  const query = [...url.searchParams].map(([name, value]) => `${encode(name)}=${encode(value)}`).toSorted();
  const lines = signed.split(';').map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, ' ')}\n`);
  const hash = isS3 && declared !== undefined ? String(declared) : sha256(body);
  return [method, path, query.join('&'), lines.join(''), signed, hash].join('\n');
}

/** The payload of a request to S3; undefined if its checksum, declared or behind it, is wrong. */
export function payloadOf({ headers, body }: ApiCall): Buffer | undefined {
  if (headers['content-encoding']?.includes('aws-chunked') !== true) {
    const declared = String(headers['x-amz-content-sha256']);
    return declared === 'UNSIGNED-PAYLOAD' || declared === sha256(body) ? body : undefined;
  }
  const chunks: Buffer[] = [];
  let at = 0;
  for (;;) {
    const end = body.indexOf('\r\n', at);
    const length = Number.parseInt(body.toString('latin1', at, end), 16);
    at = end + 2;
    if (!(length > 0)) {
      break;
    }
    chunks.push(body.subarray(at, at + length));
    at += length + 2;
  }
  const payload = Buffer.concat(chunks);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(payload));
  const isWhole = payload.length === Number(headers['x-amz-decoded-content-length']);
  const trailer = body.toString('latin1', at);
  return isWhole && trailer.startsWith(`x-amz-checksum-crc32:${checksum.toString('base64')}`) ? payload : undefined;
}

function isRecent(date: string): boolean {
  const iso = date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  return Math.abs(Date.parse(iso) - Date.now()) < 300_000;
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
