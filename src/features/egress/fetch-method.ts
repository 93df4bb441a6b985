/** `fetch`: one request of code as a call, where no library of an API can reach the host. */
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { EgressAnswer } from '../../core/base/egress-exchange.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { checked, type Method } from '../../core/calls/method.ts';
import type { CallMethod } from '../../core/protocol/frames.ts';
import type { EgressBroker } from './broker.ts';

const MAX_URL_CHARS = 16 * 1024;
const MAX_HEADERS = 100;
const MAX_HEADER_CHARS = 16 * 1024;
/** The body comes back as base64 in one answer. Chosen: half of the largest result. */
const MAX_BODY_BYTES = 32 * 1024 * 1024;

const FetchParams = z.strictObject({
  url: z
    .string()
    .max(MAX_URL_CHARS)
    .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), 'expected an address with http: or https:'),
  method: z
    .string()
    .regex(/^[A-Za-z]{1,20}$/, 'expected a method of HTTP')
    .transform((method) => method.toUpperCase())
    .default('GET'),
  headers: z
    .custom<unknown[]>((value) => Array.isArray(value) && value.length <= MAX_HEADERS, 'expected a short list')
    .pipe(
      z.array(
        z.tuple([
          z.string().regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,200}$/, 'expected the name of a header'),
          z
            .string()
            .max(MAX_HEADER_CHARS)
            .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'expected the text of a header'),
        ]),
      ),
    )
    .default([]),
  /** Base64. */
  body: z.string().optional(),
});

export function fetchMethod(broker: Pick<EgressBroker, 'handle'>): [CallMethod, Method] {
  const method = checked(FetchParams, async ({ body, headers, method: verb, url }, context) => {
    const abort = new AbortController();
    const onAbort = (): void => abort.abort();
    context.signal.addEventListener('abort', onAbort, { once: true });
    const address = new URL(url);
    [address.hash, address.username, address.password] = ['', '', ''];
    const sent = body === undefined ? [] : [Buffer.from(body, 'base64')];
    const length = body === undefined ? [] : [['content-length', String(sent[0]?.length)] as const];
    try {
      const answer = await broker.handle(
        {
          method: verb,
          url: address,
          headers: [...headers.filter(([name]) => name.toLowerCase() !== 'content-length'), ...length],
          body: Readable.from(sent, { objectMode: false }),
          signal: abort.signal,
        },
        context,
      );
      const bytes = await bytesOf(answer);
      const { headers: got, reason, status } = answer;
      return { status, reason: reason ?? '', headers: got, body: bytes.toString('base64') };
    } finally {
      context.signal.removeEventListener('abort', onAbort);
    }
  });
  return ['fetch', method];
}

async function bytesOf({ body }: EgressAnswer): Promise<Buffer> {
  if (Buffer.isBuffer(body)) {
    return body;
  }
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > MAX_BODY_BYTES) {
      throw new BridgeError(
        'LIMIT_RESULT',
        `the answer has more than ${MAX_BODY_BYTES.toLocaleString('en-US')} bytes`,
        {
          hint: 'Ask for less: a page, or a part of the file with the header range.',
        },
      );
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
