/** The few types of DER (ITU-T X.690) that a certificate needs. By hand: `@peculiar/x509` takes 490 KB and 75–200 ms to load (measured). */

const CONTEXT = 0x80;
const CONSTRUCTED = 0x20;

/** Tag, length and content (X.690, section 8.1). */
function encode(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  const length = body.length < 0x80 ? [body.length] : longLength(body.length);
  return Buffer.concat([Uint8Array.of(tag, ...length), body]);
}

/** Section 8.1.3.5, for up to 65,535 bytes; throws a `RangeError` beyond. */
function longLength(bytes: number): number[] {
  if (bytes > 0xff_ff) {
    throw new RangeError('too long for this encoder');
  }
  return bytes > 0xff ? [0x82, bytes >> 8, bytes & 0xff] : [0x81, bytes];
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return encode(0x30, ...parts);
}

export function set(...parts: readonly Uint8Array[]): Buffer {
  return encode(0x31, ...parts);
}

export const TRUE: Buffer = encode(0x01, Uint8Array.of(0xff));

/** A positive number, big-endian. Its first byte must not be zero (section 8.3.2). */
export function integer(bytes: Uint8Array): Buffer {
  const isNegative = (bytes[0] ?? 0) >= 0x80;
  return encode(0x02, isNegative ? Uint8Array.of(0) : Buffer.alloc(0), bytes);
}

/** @param unusedBits at the end of the last byte; they must be zero (section 11.2). */
export function bitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return encode(0x03, Uint8Array.of(unusedBits), bytes);
}

export function octetString(bytes: Uint8Array): Buffer {
  return encode(0x04, bytes);
}

export function utf8String(text: string): Buffer {
  return encode(0x0c, Buffer.from(text));
}

/** Of the text `1.2.840.10045`: seven bits a byte, the first two numbers in one (section 8.19). */
export function objectIdentifier(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const numbers = [first * 40 + second, ...rest];
  return encode(0x06, Uint8Array.from(numbers.flatMap(inSevenBits)));
}

function inSevenBits(number: number): number[] {
  const bytes = [number & 0x7f];
  for (let left = number >>> 7; left > 0; left >>>= 7) {
    bytes.unshift((left & 0x7f) | 0x80);
  }
  return bytes;
}

/** UTCTime before 2050, then GeneralizedTime (RFC 5280, section 4.1.2.5). */
export function time(date: Date): Buffer {
  const digits = `${date.toISOString().replaceAll(/\D/g, '').slice(0, 14)}Z`;
  return date.getUTCFullYear() < 2050 ? encode(0x17, Buffer.from(digits.slice(2))) : encode(0x18, Buffer.from(digits));
}

/** `[number] EXPLICIT`, around a whole value. */
export function explicit(number: number, value: Uint8Array): Buffer {
  return encode(CONTEXT | CONSTRUCTED | number, value);
}

/** `[number] IMPLICIT`, instead of the tag of a primitive value. */
export function implicit(number: number, content: Uint8Array): Buffer {
  return encode(CONTEXT | number, content);
}
