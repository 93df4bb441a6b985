import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openAuthority } from '../../../src/edges/egress-proxy/authority.ts';
import { certifyAuthority, certifyHost } from '../../../src/edges/egress-proxy/certificate.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

let folder: string;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'bridge-authority-')), 'egress');
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(join(folder, '..'), { recursive: true });
});

function file(): string {
  return join(folder, 'authority.pem');
}

describe('the authority', () => {
  it('is made once, and kept where only its owner can read it', async () => {
    const [first, second] = [await openAuthority(folder), await openAuthority(folder)];
    expect(second.certificate).toBe(first.certificate);
    expect(first.certificate).not.toContain('PRIVATE');
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const found = new X509Certificate(first.certificate);
    expect(found.subject).toBe('CN=mcp-server-code-execution-mode sandbox');
    expect(found.ca).toBe(true);
    expect(found.verify(found.publicKey)).toBe(true);
    expect(Date.parse(found.validFrom)).toBeLessThan(Date.now() - DAY_MS / 2);
    expect((Date.parse(found.validTo) - Date.now()) / DAY_MS).toBeCloseTo(3652, 0);
  });

  it('is one for all that make it at the same time', async () => {
    const opened = await Promise.all(Array.from({ length: 8 }, () => openAuthority(folder)));
    expect(new Set(opened.map(({ certificate }) => certificate)).size).toBe(1);
  });

  it.each([
    ['is cut', (pem: string) => pem.slice(0, pem.length / 2)],
    ['has another key', (pem: string) => pem.replace(/-----BEGIN PRIVATE[^]*END PRIVATE KEY-----/, newKeyPem())],
    ['is too large', (pem: string) => pem.padEnd(100_000, '\n')],
    ['is empty', () => ''],
    ['is a certificate of a host', () => `${newKeyPem()}${certifyHost('a.example', createPublicKey(KEY), KEY)}`],
  ])('is made anew if its file %s', async (_how, change) => {
    const before = await openAuthority(folder);
    writeFileSync(file(), change(readFileSync(file(), 'utf8')));
    const after = await openAuthority(folder);
    expect(after.certificate).not.toBe(before.certificate);
    expect((await openAuthority(folder)).certificate).toBe(after.certificate);
  });

  it('is made anew before a certificate that it signs would outlive it', async () => {
    const { certificate } = await openAuthority(folder);
    vi.useFakeTimers({ toFake: ['Date'] });
    vi.setSystemTime(Date.now() + (3652 - 367) * DAY_MS);
    expect((await openAuthority(folder)).certificate).toBe(certificate);
    vi.setSystemTime(Date.now() + 3 * DAY_MS);
    expect((await openAuthority(folder)).certificate).not.toBe(certificate);
  });

  it('cannot be made in a folder that is a file', async () => {
    writeFileSync(folder, '');
    await expect(openAuthority(folder)).rejects.toMatchObject({ code: 'STATE_WRITE_FAILED' });
  });

  it('makes a certificate for a host once, and another after a month', async () => {
    const { contextFor } = await openAuthority(folder);
    const first = contextFor('a.example');
    expect(contextFor('a.example')).toBe(first);
    expect(contextFor('b.example')).not.toBe(first);
    vi.useFakeTimers({ toFake: ['Date'] });
    vi.setSystemTime(Date.now() + 31 * DAY_MS);
    expect(contextFor('a.example')).not.toBe(first);
  });

  it('forgets hosts beyond 64', async () => {
    const { contextFor } = await openAuthority(folder);
    const first = contextFor('a.example');
    for (let index = 0; index < 64; index += 1) {
      contextFor(`${index}.example`);
    }
    expect(contextFor('a.example')).not.toBe(first);
  });
});

const KEY = createPrivateKey(newKeyPem());

function newKeyPem(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

describe('a certificate of a host', () => {
  const authority = new X509Certificate(certifyAuthority(KEY));

  it.each([
    ['api.example', 'DNS:api.example'],
    [`${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.example`, expect.stringContaining('ccc.example')],
    ['xn--mnchen-3ya.example', 'DNS:xn--mnchen-3ya.example'],
    ['192.0.2.255', 'IP Address:192.0.2.255'],
    ['::1', 'IP Address:0:0:0:0:0:0:0:1'],
    ['2001:db8::', 'IP Address:2001:DB8:0:0:0:0:0:0'],
    ['2001:db8:1:2:3:4:5:6', 'IP Address:2001:DB8:1:2:3:4:5:6'],
    ['::ffff:192.0.2.1', 'IP Address:0:0:0:0:0:FFFF:C000:201'],
  ])('is for %s alone', (host, name) => {
    const found = new X509Certificate(certifyHost(host, createPublicKey(newKeyPem()), KEY));
    expect(found.subjectAltName).toEqual(name);
    expect(found.ca).toBe(false);
    expect(found.checkIssued(authority)).toBe(true);
    expect(found.verify(authority.publicKey)).toBe(true);
    expect((Date.parse(found.validTo) - Date.parse(found.validFrom)) / DAY_MS).toBe(366);
  });

  it('has a number of its own', () => {
    const numbers = Array.from(
      { length: 50 },
      () => new X509Certificate(certifyHost('a.example', createPublicKey(KEY), KEY)).serialNumber,
    );
    expect(new Set(numbers).size).toBe(50);
    expect(numbers.every((number) => /^[4-7][0-9A-F]{31}$/.test(number))).toBe(true);
  });

  it('is valid at any time, also after 2049', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    vi.setSystemTime(Date.UTC(2049, 11, 31, 12));
    const found = new X509Certificate(certifyHost('a.example', createPublicKey(KEY), KEY));
    expect([found.validFrom, found.validTo]).toEqual(['Dec 30 12:00:00 2049 GMT', 'Dec 31 12:00:00 2050 GMT']);
  });
});
