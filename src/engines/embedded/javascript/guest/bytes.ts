/** Text as bytes and back, and the `Buffer` made of it. The host converts UTF-8, which QuickJS cannot; base64 is part of QuickJS. */
import type { GuestHost } from './host.ts';

/** How a string becomes bytes. */
type ByteEncoding = 'utf8' | 'utf-8' | 'base64' | 'base64url' | 'hex' | 'latin1' | 'binary' | 'ascii';

interface NativeBase64 {
  toBase64(): string;
}

/** Arguments of one `String.fromCharCode`; more would need a larger stack. */
const CHUNK = 4096;

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

export function latin1Text(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return text;
}

function latin1Bytes(text: string): Uint8Array {
  return Uint8Array.from({ length: text.length }, (_, index) => text.charCodeAt(index) & 255);
}

/** Stops at the first `=`, skips other characters, and takes both alphabets, as Node does. */
function base64Bytes(text: string): Uint8Array {
  const native = Uint8Array as unknown as { fromBase64(text: string): Uint8Array };
  const [digits = ''] = text.split('=');
  const clean = digits
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replaceAll(/[^A-Za-z0-9+/]/g, '');
  return native.fromBase64(clean.length % 4 === 1 ? clean.slice(0, -1) : clean);
}

export function bytesOf(text: string, encoding: string = 'utf8'): Uint8Array {
  switch (encoding.toLowerCase() as ByteEncoding) {
    case 'utf8':
    case 'utf-8':
      return new Uint8Array(codec.encode(text));
    case 'base64':
    case 'base64url':
      return base64Bytes(text);
    case 'hex':
      return Uint8Array.from(/^(?:[0-9a-f]{2})*/i.exec(text)?.[0].match(/../g) ?? [], (pair) =>
        Number.parseInt(pair, 16),
      );
    case 'latin1':
    case 'binary':
    case 'ascii':
      return latin1Bytes(text);
    default:
      throw new TypeError(`Unknown encoding: ${encoding}`);
  }
}

export function textOf(bytes: Uint8Array, encoding: string = 'utf8'): string {
  const base64 = () => (bytes as unknown as NativeBase64).toBase64();
  switch (encoding.toLowerCase() as ByteEncoding) {
    case 'utf8':
    case 'utf-8':
      return codec.decode(ownBuffer(bytes), false);
    case 'base64':
      return base64();
    case 'base64url':
      return base64().replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
    case 'hex':
      return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    case 'latin1':
    case 'binary':
    case 'ascii':
      return latin1Text(bytes);
    default:
      throw new TypeError(`Unknown encoding: ${encoding}`);
  }
}

/** The part of Node's `Buffer` that scripts use for text. */
export class GuestBuffer extends Uint8Array {
  static override from(value: unknown, encoding?: unknown): GuestBuffer {
    if (typeof value === 'string') {
      return viewOf(bytesOf(value, encoding as string | undefined));
    }
    return value instanceof ArrayBuffer ? new GuestBuffer(value) : viewOf(Uint8Array.from(value as Iterable<number>));
  }

  static alloc(size: number, fill = 0): GuestBuffer {
    return new GuestBuffer(size).fill(fill);
  }

  static concat(parts: readonly Uint8Array[]): GuestBuffer {
    const whole = new GuestBuffer(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }

  static isBuffer(value: unknown): boolean {
    return value instanceof GuestBuffer;
  }

  static byteLength(value: string | Uint8Array, encoding?: string): number {
    return typeof value === 'string' ? bytesOf(value, encoding).length : value.byteLength;
  }

  override toString(encoding?: string, start = 0, end = this.length): string {
    return textOf(new Uint8Array(this.buffer, this.byteOffset, this.byteLength).subarray(start, end), encoding);
  }

  equals(other: Uint8Array): boolean {
    return this.length === other.length && this.every((byte, index) => byte === other[index]);
  }

  toJSON() {
    return { type: 'Buffer', data: Array.from(this) };
  }
}

/** The same bytes as a `Buffer`. */
export function viewOf({ buffer, byteLength, byteOffset }: Uint8Array): GuestBuffer {
  return new GuestBuffer(buffer as ArrayBuffer, byteOffset, byteLength);
}

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
