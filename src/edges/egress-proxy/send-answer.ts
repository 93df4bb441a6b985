/** Writes an answer to the sandbox as fast as it is read there, and makes sure that half of it never looks like all. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { addAbortSignal, Readable } from 'node:stream';
import type { EgressAnswer } from '../../core/base/egress-exchange.ts';
import { BridgeError } from '../../core/base/errors.ts';
import { endToEnd } from './hop-by-hop.ts';
import { reasonPhrase, usualReason } from './refusal.ts';

interface SendOptions {
  /** When the connection ends. */
  readonly signal: AbortSignal;
  /** For each piece that was written. */
  readonly onProgress: () => void;
}

/**
 * Resolves when the whole answer is written. Rejects if it cannot be: with `response.headersSent`, only the end of the connection can say so
 * then. The body is destroyed in any case.
 */
export async function sendAnswer(
  response: ServerResponse,
  { status, reason, headers, body }: EgressAnswer,
  { signal, onProgress }: SendOptions,
): Promise<void> {
  const stream = body instanceof Readable ? body : undefined;
  stream?.on('error', () => undefined);
  try {
    signal.throwIfAborted();
    const hasBody = response.req.method !== 'HEAD' && status !== 204 && status !== 304;
    const { sent, length } = headersOf(headers, status, hasBody && Buffer.isBuffer(body) ? body.length : undefined);
    if (!Number.isInteger(status) || status < 200 || status > 599) {
      throw new BridgeError('SERVER_PROTOCOL', `the host answered with the status ${status}`);
    }
    response.sendDate = false;
    response.writeHead(status, reasonPhrase(reason ?? usualReason(status)), sent.flat());
    // Now, because the first piece of a stream of events may be minutes away.
    response.flushHeaders();
    if (hasBody) {
      await writePieces(response, stream === undefined ? [body as Buffer] : addAbortSignal(signal, stream), {
        length,
        signal,
        onProgress,
      });
    }
    response.end();
    if (!response.writableFinished) {
      await once(response, 'finish', { signal });
    }
  } finally {
    stream?.destroy();
  }
}

/** The headers that are sent, with the length of the body if that is known. A length that is not clear is left out. */
function headersOf(headers: EgressAnswer['headers'], status: number, known: number | undefined) {
  const passed = endToEnd(headers);
  const others = passed.filter(([name]) => name.toLowerCase() !== 'content-length');
  const lengths = passed.filter(([name]) => name.toLowerCase() === 'content-length').map(([, value]) => value);
  const [first = ''] = lengths;
  const given = lengths.length === 1 && /^\d{1,15}$/.test(first) ? Number(first) : undefined;
  const length = given ?? known;
  // RFC 9110, section 8.6: not with 204.
  const isSent = length !== undefined && status !== 204;
  return { length, sent: isSent ? [...others, ['Content-Length', `${length}`] as const] : others };
}

interface PieceOptions {
  readonly length: number | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: () => void;
}

async function writePieces(
  response: ServerResponse,
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
  { length, signal, onProgress }: PieceOptions,
): Promise<void> {
  let written = 0;
  for await (const piece of pieces) {
    written += piece.length;
    if (length !== undefined && written > length) {
      break;
    }
    if (!response.write(piece)) {
      await once(response, 'drain', { signal });
    }
    onProgress();
  }
  if (length !== undefined && written !== length) {
    throw new BridgeError('SERVER_PROTOCOL', `the body of the answer has not the ${length} bytes that it should have`);
  }
}
