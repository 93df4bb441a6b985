import { describe, expect, it } from 'vitest';
import { bitString, integer, objectIdentifier, octetString, time } from '../../../src/edges/egress-proxy/der.ts';

function hex(bytes: Buffer): string {
  return bytes.toString('hex');
}

describe('DER', () => {
  // The examples of X.690, section 8, and of RFC 5280.
  it.each([
    ['1.2.840.10045.4.3.2', '06082a8648ce3d040302'],
    ['2.5.29.15', '0603551d0f'],
    ['2.999.3', '0603883703'],
  ])('has the object identifier %s', (text, expected) => {
    expect(hex(objectIdentifier(text))).toBe(expected);
  });

  it('has positive numbers only', () => {
    expect(hex(integer(Uint8Array.of(0x7f)))).toBe('02017f');
    expect(hex(integer(Uint8Array.of(0x80)))).toBe('02020080');
  });

  it.each([
    [127, '047f'],
    [128, '048180'],
    [256, '04820100'],
    [65_535, '0482ffff'],
  ])('has a length of %i bytes', (length, start) => {
    expect(hex(octetString(Buffer.alloc(length))).slice(0, start.length)).toBe(start);
  });

  it('refuses what it cannot say', () => {
    expect(() => octetString(Buffer.alloc(65_536))).toThrow('too long');
  });

  it('has bits and times', () => {
    expect(hex(bitString(Uint8Array.of(0x80), 7))).toBe('03020780');
    expect(time(new Date('2049-12-31T23:59:59Z')).subarray(2).toString()).toBe('491231235959Z');
    expect(time(new Date('2050-01-01T00:00:00Z')).subarray(2).toString()).toBe('20500101000000Z');
  });
});
