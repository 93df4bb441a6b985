/** The answer of an API as code gets it: decoded, counted, and with the secrets masked. */
import { pipeline, type Readable, Transform } from 'node:stream';
import type { EgressAnswer } from '../../../core/base/egress-exchange.ts';
import { BridgeError } from '../../../core/base/errors.ts';
import { decodersOf } from '../http/content-coding.ts';
import type { ReceivedResponse } from '../http/http-client.ts';
import { endToEnd } from './request-headers.ts';
import type { Silence } from './silence.ts';
import type { StreamMask } from './stream-mask.ts';

const NO_CONTENT = 204;
const NOT_MODIFIED = 304;

export interface AnswerOptions {
  readonly method: string;
  readonly host: string;
  readonly mask: StreamMask;
  readonly silence: Silence;
  readonly maxBytes: number;
  /** An error as code may see it. */
  readonly explain: (error: unknown, hasBegun: boolean) => BridgeError;
  /** The address of a redirect, with placeholders again instead of keys. */
  readonly outOfAddress: (address: string) => string;
}

/** Throws `SERVER_PROTOCOL` if the body cannot be decoded. */
export function answerOf(response: ReceivedResponse, options: AnswerOptions): EgressAnswer {
  const { mask, method, silence } = options;
  const { body, status } = response;
  const hasBody = method !== 'HEAD' && status !== NO_CONTENT && status !== NOT_MODIFIED;
  const decoders = decodersOf(hasBody ? response.headers['content-encoding'] : undefined);
  if (decoders === undefined) {
    body.destroy();
    throw undecodable(options.host);
  }
  const isDecoded = response.headers['content-encoding'] !== undefined;
  const answer = {
    status,
    reason: mask.maskText(body.statusMessage ?? ''),
    headers: headersOf(body.rawHeaders, options, isDecoded),
  };
  if (!hasBody || response.headers['content-length'] === '0') {
    body.resume();
    silence.end();
    return { ...answer, body: Buffer.alloc(0) };
  }
  return { ...answer, body: bodyOf(body, decoders, options) };
}

function headersOf(
  raw: readonly string[],
  { mask, outOfAddress }: AnswerOptions,
  isDecoded: boolean,
): EgressAnswer['headers'] {
  const pairs = Array.from({ length: raw.length / 2 }, (_, index) => {
    const [name = '', value = ''] = raw.slice(index * 2, index * 2 + 2);
    return [name, name.toLowerCase() === 'location' ? outOfAddress(value) : value] as const;
  });
  return endToEnd(pairs)
    .filter(([name]) => !(isDecoded && /^content-(?:encoding|length)$/i.test(name)))
    .map(([name, value]) => [mask.maskText(name), mask.maskText(value)] as const);
}

function bodyOf(body: Readable, decoders: readonly Transform[], options: AnswerOptions): Readable {
  const { explain, maxBytes, silence } = options;
  const push = options.mask.begin();
  let bytes = 0;
  const out = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      silence.touch();
      bytes += chunk.length;
      if (bytes > maxBytes) {
        done(tooLong(options.host, maxBytes));
        return;
      }
      const passed = push(chunk, false);
      done(null, passed.length === 0 ? undefined : passed);
    },
    flush(done) {
      done(null, push(Buffer.alloc(0), true));
    },
    destroy(error, done) {
      silence.end();
      silence.signal.removeEventListener('abort', onAbort);
      done(error && explain(error, true));
    },
  });
  function onAbort(): void {
    out.destroy(silence.signal.reason as BridgeError);
  }
  silence.signal.addEventListener('abort', onAbort, { once: true });
  // An error comes out of `out`; if its reader leaves, the connection is closed.
  pipeline([body, ...decoders, out], () => undefined);
  return out;
}

function undecodable(host: string): BridgeError {
  const text = `${host} compressed its answer in a way that cannot be decoded, although the request does not allow that.`;
  return new BridgeError('SERVER_PROTOCOL', text, { hint: 'The bridge decodes gzip, deflate and br.' });
}

function tooLong(host: string, maxBytes: number): BridgeError {
  const text = `The answer of ${host} is longer than ${maxBytes} bytes; what follows was not read.`;
  return new BridgeError('LIMIT_RESULT', text, { hint: 'Ask for it in parts, with a Range header or pages.' });
}
