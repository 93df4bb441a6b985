/** A request of code as the call that gates, people and records see. */
import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import type { EgressRequest } from '../../core/base/egress-exchange.ts';
import type { JsonObject } from '../../core/base/is-object.ts';
import { counted } from '../../core/base/units.ts';

/** Of a body, so much is shown whole. Chosen: what a form can show. */
const MAX_SHOWN_BYTES = 6_000;
/** Of a longer one, its start. */
const START_CHARS = 1_000;
/** Escapes that stand for themselves (RFC 3986, section 2.3): some servers decode them before they compare paths. */
const UNRESERVED = /%(?:2[de]|3\d|[46][1-9a-f]|[57][\da]|5f|7e)/gi;
/** What libraries send, and says nothing about the request, if its value looks as it does there. */
const USUAL_HEADERS: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/^(?:accept|accept-encoding|accept-language|cache-control|connection|pragma|user-agent)$/i, /^.{0,150}$/s],
  [/^content-length$/i, /^\d{1,12}$/],
  [/^host$/i, /^/],
  [/^(?:amz-sdk-.*|x-stainless-.*)$/i, /^[\w.:;=/ -]{0,60}$/],
  [/^x-amz-date$/i, /^\d{8}T\d{6}Z$/],
  [/^x-amz-content-sha256$/i, /^(?:[\da-f]{64}|UNSIGNED-PAYLOAD|STREAMING-UNSIGNED-PAYLOAD-TRAILER)$/],
  [
    /^authorization$/i,
    /^AWS4-HMAC-SHA256 Credential=[\w/.+=-]{1,200}, ?SignedHeaders=[\w;-]{1,500}, ?Signature=[\da-f]{64}$/,
  ],
];

export interface Peeked {
  /** The start of the body, as much as is shown. */
  readonly start: Buffer;
  readonly isWhole: boolean;
  /** The whole body, from its start. */
  readonly body: Readable;
}

/** Reads the start of the body. Rejects if the connection ends before. */
export async function peek({ body, signal }: Pick<EgressRequest, 'body' | 'signal'>): Promise<Peeked> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  const isWhole = await new Promise<boolean>((resolve, reject) => {
    const end = (settle: () => void): void => {
      body.off('readable', onReadable).off('end', onEnd).off('error', onError).off('close', onClose);
      signal.removeEventListener('abort', onClose);
      settle();
    };
    const onEnd = (): void => end(() => resolve(true));
    const onError = (error: Error): void => end(() => reject(error));
    const onClose = (): void => end(() => reject(new Error('the connection ended before the whole request had come')));
    const onReadable = (): void => {
      for (let piece = body.read() as Buffer | null; piece !== null; piece = body.read() as Buffer | null) {
        pieces.push(piece);
        bytes += piece.length;
        if (bytes > MAX_SHOWN_BYTES) {
          end(() => resolve(false));
          return;
        }
      }
    };
    if (body.readableEnded) {
      resolve(true);
      return;
    }
    body.on('readable', onReadable).once('end', onEnd).once('error', onError).once('close', onClose);
    signal.addEventListener('abort', onClose, { once: true });
    onReadable();
  });
  const start = Buffer.concat(pieces);
  return { start, isWhole, body: rejoined(start, isWhole ? undefined : body) };
}

/** Not `unshift`, which fails if the body has ended meanwhile. */
function rejoined(start: Buffer, rest: Readable | undefined): Readable {
  async function* pieces() {
    if (start.length > 0) {
      yield start;
    }
    if (rest !== undefined) {
      yield* rest as AsyncIterable<Buffer>;
    }
  }
  // Whoever reads it gets the error; without anyone, it must not end the bridge.
  return Readable.from(pieces(), { objectMode: false }).on('error', () => undefined);
}

/** The arguments of the call. Addresses at `origin` are shown as paths. */
export function argumentsOf(
  { headers, url }: Pick<EgressRequest, 'headers' | 'url'>,
  origin: string | undefined,
  peeked: Pick<Peeked, 'start' | 'isWhole'>,
): JsonObject {
  const plain = url.pathname.replaceAll(UNRESERVED, (escape) => decodeURIComponent(escape));
  const path = url.origin === origin ? plain : `${url.origin}${plain}`;
  const query = groupedOf([...url.searchParams]);
  // Of a host that no entry names, all are shown: they may carry something away.
  const isUsual = ([name, value]: readonly [string, string]): boolean =>
    origin !== undefined && USUAL_HEADERS.some(([known, form]) => known.test(name) && form.test(value));
  const others = groupedOf(headers.filter((header) => !isUsual(header)));
  const body = bodyOf(headers, peeked);
  return {
    path,
    ...(Object.keys(query).length > 0 && { query }),
    ...(Object.keys(others).length > 0 && { headers: others }),
    ...(body !== undefined && { body }),
  };
}

/** Pairs by name; a name that occurs more than once has a list. */
function groupedOf(pairs: readonly (readonly [name: string, value: string])[]): JsonObject {
  const grouped = new Map<string, string | string[]>();
  for (const [name, value] of pairs) {
    const before = grouped.get(name);
    grouped.set(name, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(grouped);
}

/** The body as text, or what it is; undefined if there is none. */
function bodyOf(headers: EgressRequest['headers'], { isWhole, start }: Pick<Peeked, 'start' | 'isWhole'>): unknown {
  if (isWhole && start.length === 0) {
    return undefined;
  }
  const said = headers.find(([name]) => name.toLowerCase() === 'content-length')?.[1];
  const size = isWhole ? start.length : Number(said ?? Number.NaN);
  const bytes = Number.isSafeInteger(size) ? counted(size, 'byte') : 'of unknown length';
  // The end of what was read may be in the middle of a character, which has at most four bytes.
  const cuts = isWhole ? [0] : [0, 1, 2, 3];
  const isText = cuts.some((cut) => isUtf8(start.subarray(0, start.length - cut))) && !start.includes(0);
  if (isWhole) {
    return isText ? start.toString('utf8') : { bytes, latin1: start.toString('latin1') };
  }
  // The number makes it another call than one whose body only begins alike: nobody can allow both at once.
  requests += 1;
  const shown = isText ? { start: start.toString('utf8').slice(0, START_CHARS).toWellFormed() } : { binary: true };
  return { ...shown, whole: bytes, request: requests };
}

let requests = 0;
