/** `Buffer`, and text as bytes and back. The host converts UTF-8, which QuickJS cannot; base64 and hex are part of QuickJS. */
import { Buffer } from 'buffer/index.js';
import type { GuestHost } from './host.ts';

interface NativeBytes extends Uint8Array {
  toBase64(options?: { alphabet: 'base64url'; omitPadding: boolean }): string;
  toHex(): string;
}

interface NativeBytesType {
  fromBase64(text: string): Uint8Array;
  fromHex(text: string): Uint8Array;
}

const Bytes = Uint8Array as unknown as NativeBytesType;
const { from } = Buffer;
const slowToString = Buffer.prototype.toString;

const codec: Pick<GuestHost, 'encode' | 'decode'> = {
  encode: () => new ArrayBuffer(0),
  decode: () => '',
};

/** Must be called before anything else here. */
export function useCodec({ encode, decode }: Pick<GuestHost, 'encode' | 'decode'>): void {
  Object.assign(codec, { encode, decode });
}

/** The bytes of a view as a buffer of their own. */
export function ownBuffer(bytes: ArrayBufferView): ArrayBuffer {
  const { buffer, byteLength, byteOffset } = bytes;
  const isWhole = byteOffset === 0 && byteLength === buffer.byteLength;
  return (isWhole ? buffer : buffer.slice(byteOffset, byteOffset + byteLength)) as ArrayBuffer;
}

/** Stops at the first `=`, skips other characters, and takes both alphabets, as Node does. */
function base64Bytes(text: string): Uint8Array {
  const [digits = ''] = text.split('=');
  const clean = digits
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replaceAll(/[^A-Za-z0-9+/]/g, '');
  return Bytes.fromBase64(clean.length % 4 === 1 ? clean.slice(0, -1) : clean);
}

export function bytesOf(text: string, encoding: string = 'utf8'): Uint8Array {
  switch (encoding.toLowerCase()) {
    case 'utf8':
    case 'utf-8':
      return new Uint8Array(codec.encode(text));
    case 'base64':
    case 'base64url':
      return base64Bytes(text);
    case 'hex':
      return Bytes.fromHex(/^(?:[0-9a-f]{2})*/i.exec(text)?.[0] ?? '');
    default:
      return from(text, encoding);
  }
}

export function textOf(bytes: Uint8Array, encoding: string = 'utf8'): string {
  const native = bytes as NativeBytes;
  switch (encoding.toLowerCase()) {
    case 'utf8':
    case 'utf-8':
      return codec.decode(ownBuffer(bytes), false);
    case 'base64':
      return native.toBase64();
    case 'base64url':
      return native.toBase64({ alphabet: 'base64url', omitPadding: true });
    case 'hex':
      return native.toHex();
    default:
      return Reflect.apply(slowToString, viewOf(bytes), [encoding]);
  }
}

/** The same bytes as a `Buffer`. */
export function viewOf({ buffer, byteLength, byteOffset }: Uint8Array): Buffer {
  return from(buffer as ArrayBuffer, byteOffset, byteLength);
}

// The package converts text in JavaScript, which takes QuickJS a hundred times as long as the functions above.
Object.assign(Buffer, {
  from: (value: unknown, encodingOrOffset?: unknown, length?: number) =>
    typeof value === 'string'
      ? viewOf(bytesOf(value, encodingOrOffset as string | undefined))
      : from(value as ArrayBuffer, encodingOrOffset as number | undefined, length),
  byteLength: (value: string | Uint8Array, encoding?: string) =>
    typeof value === 'string' ? bytesOf(value, encoding).length : value.byteLength,
});
Buffer.prototype.toString = function toString(this: Buffer, encoding?: string, start = 0, end = this.length): string {
  return textOf(new Uint8Array(this.buffer, this.byteOffset, this.byteLength).subarray(start, end), encoding);
};

export { Buffer };

export class GuestTextEncoder {
  readonly encoding = 'utf-8';

  encode(text: unknown = ''): Uint8Array {
    return bytesOf(String(text));
  }
}

export class GuestTextDecoder {
  readonly encoding = 'utf-8';
  readonly #isFatal: boolean;

  constructor(label = 'utf-8', options: { fatal?: boolean } = {}) {
    if (!/^utf-?8$/i.test(label)) {
      throw new RangeError(`The "${label}" encoding is not supported`);
    }
    this.#isFatal = options.fatal === true;
  }

  decode(input: ArrayBuffer | ArrayBufferView = new ArrayBuffer(0)): string {
    const bytes = ArrayBuffer.isView(input) ? ownBuffer(input) : input;
    try {
      return codec.decode(bytes, this.#isFatal).replace(/^\uFEFF/, '');
    } catch {
      // The only reason why it throws.
      throw new TypeError('The encoded data was not valid for encoding utf-8');
    }
  }
}
