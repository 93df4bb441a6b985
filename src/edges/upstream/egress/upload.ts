/** The body of a request from code, on its way to the API: counted, and never longer or shorter than its head says. */
import { type Readable, Transform } from 'node:stream';
import type { BridgeError } from '../../../core/base/errors.ts';
import { refused } from './request-headers.ts';

export interface UploadLimits {
  readonly maxBytes: number;
  /** `content-length`, if code has set it. */
  readonly length: number | undefined;
  readonly touch: () => void;
}

export class Upload {
  readonly #source: Readable;
  readonly #limits: UploadLimits;

  constructor(source: Readable, limits: UploadLimits) {
    this.#source = source;
    this.#limits = limits;
  }

  /** Whether there is a body at all: only its framing said so, which is gone. Waits for its first bytes. */
  async hasBody(): Promise<boolean> {
    const { length, maxBytes } = this.#limits;
    if ((length ?? 0) > maxBytes) {
      throw tooLong(maxBytes);
    }
    return length === undefined ? hasBytes(this.#source) : length > 0;
  }

  /** The body, to be sent once. */
  stream(): Readable {
    const source = this.#source;
    const counted = this.#counted();
    source.once('error', (error) => counted.destroy(error));
    source.once('close', () => {
      if (!source.readableEnded) {
        counted.destroy(new Error('the sandbox closed its connection'));
      }
    });
    counted.once('close', () => this.discard());
    return source.pipe(counted);
  }

  /** The whole body. Rejects with `onTooLong` beyond `maxBytes`. */
  async read(maxBytes: number, onTooLong: () => BridgeError): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of this.stream() as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        throw onTooLong();
      }
      pieces.push(chunk);
    }
    return Buffer.concat(pieces);
  }

  /** Reads what no one wants any more: destroying the source would end the connection to the sandbox before it has the answer. */
  discard(): void {
    if (!this.#source.destroyed) {
      this.#source
        .unpipe()
        .on('error', () => undefined)
        .resume();
    }
  }

  #counted(): Transform {
    const { maxBytes, length, touch } = this.#limits;
    let bytes = 0;
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        bytes += chunk.length;
        touch();
        if (bytes > (length ?? maxBytes)) {
          done(length === undefined ? tooLong(maxBytes) : otherLength());
        } else {
          done(null, chunk);
        }
      },
      flush(done) {
        done(length === undefined || bytes === length ? null : otherLength());
      },
    });
    // Whoever reads it gets the error. Before that, as while an address is looked up, it must not end the bridge.
    return counted.on('error', () => undefined);
  }
}

/** Resolves when the first bytes are there, or the end is. */
function hasBytes(source: Readable): Promise<boolean> {
  if (source.readableEnded || source.destroyed) {
    return Promise.resolve(false);
  }
  return new Promise((resolve, reject) => {
    const settle = (isBody: boolean): void => {
      source.off('readable', look).off('end', onEnd).off('close', onEnd).off('error', reject);
      resolve(isBody);
    };
    const onEnd = (): void => settle(false);
    const look = (): void => {
      const chunk: Buffer | null = source.read();
      if (chunk !== null) {
        source.unshift(chunk);
        settle(true);
      }
    };
    source.on('readable', look).on('end', onEnd).on('close', onEnd).on('error', reject);
  });
}

function tooLong(maxBytes: number): BridgeError {
  return refused(`its body is longer than ${maxBytes} bytes`, 'Send it in parts, if the API allows that.');
}

function otherLength(): BridgeError {
  return refused('its body is not as long as content-length says', 'Leave content-length to the library.');
}
