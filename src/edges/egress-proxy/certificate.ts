/**
 * X.509 certificates as RFC 5280 wants them: the one of our authority, and those of hosts. With all extensions on which OpenSSL's
 * `-x509_strict` and Python's `VERIFY_X509_STRICT` (the default of Python 3.13) insist.
 */
import { createHash, createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import {
  bitString,
  explicit,
  implicit,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  set,
  TRUE,
  time,
  utf8String,
} from './der.ts';

export const AUTHORITY_NAME = 'mcp-server-code-execution-mode sandbox';
const DAY_MS = 24 * 60 * 60 * 1000;
/** Clocks of two machines differ: a sandbox may be in a virtual machine or a cluster. Chosen. */
const CLOCK_SKEW_MS = DAY_MS;
const AUTHORITY_LIFE_MS = 3652 * DAY_MS;
/** Apple's libraries refuse certificates of hosts that are valid for more than 398 days, with those of the last day. */
export const LEAF_LIFE_MS: number = 365 * DAY_MS;

/** RFC 5758, section 3.2: ecdsa-with-SHA256. */
const SIGNATURE = sequence(objectIdentifier('1.2.840.10045.4.3.2'));
const COMMON_NAME = '2.5.4.3';
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
/** RFC 5280, section 4.2.1. */
const EXTENSIONS = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extKeyUsage: '2.5.29.37',
} as const;
const CRITICAL = true;
/** keyCertSign and cRLSign: bits 5 and 6 of nine. */
const SIGNS_CERTIFICATES = bitString(Uint8Array.of(0b0000_0110), 1);
/** digitalSignature: bit 0. */
const SIGNS_HANDSHAKES = bitString(Uint8Array.of(0b1000_0000), 7);
/** The name of one that is made for a host. A host may be longer than a common name, so it is only in `subjectAltName`. */
const LEAF_NAME = 'host reached from a sandbox';

/** The certificate of an authority with this private key, which signs it itself. PEM. */
export function certifyAuthority(key: KeyObject): string {
  const publicKey = createPublicKey(key);
  return certify(key, {
    subject: AUTHORITY_NAME,
    publicKey,
    lifeMs: AUTHORITY_LIFE_MS,
    extensions: [
      extension('basicConstraints', sequence(TRUE, integer(Uint8Array.of(0))), CRITICAL),
      extension('keyUsage', SIGNS_CERTIFICATES, CRITICAL),
    ],
  });
}

/** A certificate for a DNS name or an IP address (without brackets), signed with the key of the authority. PEM. */
export function certifyHost(host: string, publicKey: KeyObject, authority: KeyObject): string {
  return certify(authority, {
    subject: LEAF_NAME,
    publicKey,
    lifeMs: LEAF_LIFE_MS,
    extensions: [
      extension('keyUsage', SIGNS_HANDSHAKES, CRITICAL),
      extension('extKeyUsage', sequence(objectIdentifier(SERVER_AUTH))),
      extension('subjectAltName', sequence(generalName(host))),
    ],
  });
}

interface Contents {
  readonly subject: string;
  readonly publicKey: KeyObject;
  readonly lifeMs: number;
  readonly extensions: readonly Buffer[];
}

/** Section 4.1. */
function certify(authority: KeyObject, { subject, publicKey, lifeMs, extensions }: Contents): string {
  const signed = sequence(
    explicit(0, integer(Uint8Array.of(2))),
    integer(newSerialNumber()),
    SIGNATURE,
    name(AUTHORITY_NAME),
    sequence(time(new Date(Date.now() - CLOCK_SKEW_MS)), time(new Date(Date.now() + lifeMs))),
    name(subject),
    spkiOf(publicKey),
    explicit(
      3,
      sequence(
        ...extensions,
        extension('subjectKeyIdentifier', octetString(identifierOf(publicKey))),
        extension('authorityKeyIdentifier', sequence(implicit(0, identifierOf(createPublicKey(authority))))),
      ),
    ),
  );
  const der = sequence(signed, SIGNATURE, bitString(sign('sha256', signed, authority)));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

/** Positive, at most 20 bytes, not predictable (section 4.1.2.2). */
function newSerialNumber(): Buffer {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  return serial;
}

function name(commonName: string): Buffer {
  return sequence(set(sequence(objectIdentifier(COMMON_NAME), utf8String(commonName))));
}

function extension(which: keyof typeof EXTENSIONS, value: Uint8Array, isCritical = false): Buffer {
  return sequence(objectIdentifier(EXTENSIONS[which]), ...(isCritical ? [TRUE] : []), octetString(value));
}

function spkiOf(publicKey: KeyObject): Buffer {
  return publicKey.export({ format: 'der', type: 'spki' });
}

/** RFC 7093, section 2, method 4. */
function identifierOf(publicKey: KeyObject): Buffer {
  return createHash('sha256').update(spkiOf(publicKey)).digest().subarray(0, 20);
}

/** Section 4.2.1.6: dNSName or iPAddress. */
function generalName(host: string): Buffer {
  const version = isIP(host);
  if (version === 0) {
    return implicit(2, Buffer.from(host, 'ascii'));
  }
  return implicit(7, version === 4 ? Uint8Array.from(host.split('.').map(Number)) : ipv6Bytes(host));
}

function ipv6Bytes(address: string): Buffer {
  // As a URL has it, an address has no IPv4 part and at most one `::`.
  const [before = '', after] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [left, right] = [before, after ?? ''].map((part) => part.split(':').filter((group) => group !== ''));
  const missing = 8 - (left?.length ?? 0) - (right?.length ?? 0);
  const groups = [...(left ?? []), ...Array.from({ length: missing }, () => '0'), ...(right ?? [])];
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
