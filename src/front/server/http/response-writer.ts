/**
 * Writes a response of the SDK to the connection. A client that does not read must not cost memory: nothing is taken from the SDK
 * while the connection is full, and a client that reads too slowly is cut off.
 */
import type { ServerResponse } from 'node:http';
import { messageOf } from '../../../core/base/errors.ts';
import { withPieces } from '../../../core/base/large-text.ts';
import type { Exchange } from '../answer-room.ts';
import type { HttpLimits } from './limits.ts';

/** Resolves when all of it was written, or the client is gone. Never rejects. */
export async function writeResponse(
  response: ServerResponse,
  { status, headers, body }: Response,
  limits: Pick<HttpLimits, 'stallMs' | 'minReadBytes'>,
  largeTexts: Exchange['largeTexts'],
): Promise<void> {
  if (response.destroyed) {
    await body?.cancel().catch(() => undefined);
    return;
  }
  // Node adds the header `Connection` itself.
  const sent = [...headers].filter(([name]) => name !== 'connection');
  response.writeHead(status, { 'Cache-Control': 'no-store', ...Object.fromEntries(sent) });
  if (body === null) {
    response.end();
    return;
  }
  response.flushHeaders();
  const reader = body.getReader();
  const onClose = (): void => void reader.cancel().catch(() => undefined);
  response.once('close', onClose);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || response.destroyed) {
        break;
      }
      for await (const piece of largeTexts.size === 0 ? [value] : completed(value, largeTexts)) {
        if (!response.write(piece)) {
          await untilRead(response, limits);
        }
        if (response.destroyed) {
          break;
        }
      }
    }
    if (!response.destroyed) {
      response.end();
      await untilRead(response, limits);
    }
  } catch {
    // The SDK has given the request up, or a large text cannot be read to its end.
    response.destroy();
  } finally {
    response.off('close', onClose);
  }
}

const INTERNAL_ERROR = -32_603;

/** What the SDK has made of a message, with the large text that belongs into it. One that is no longer there becomes an error. */
async function* completed(
  chunk: Uint8Array,
  largeTexts: Exchange['largeTexts'],
): AsyncGenerator<string | Uint8Array, void> {
  const message = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const token = [...largeTexts.keys()].find((each) => message.includes(each)) ?? '';
  const found = largeTexts.get(token);
  if (found === undefined) {
    yield chunk;
    return;
  }
  largeTexts.delete(token);
  const json = message.toString();
  const opened = await found.text.open().catch((error: unknown) => messageOf(error));
  if (typeof opened === 'string') {
    const error = { jsonrpc: '2.0', id: found.id, error: { code: INTERNAL_ERROR, message: opened } };
    yield `${json.slice(0, json.indexOf('{'))}${JSON.stringify(error)}${json.slice(json.lastIndexOf('}') + 1)}`;
    return;
  }
  yield* withPieces(json, found.text, opened);
}

/** Waits until the client has read what was written, or is gone. */
function untilRead(
  response: ServerResponse,
  { minReadBytes, stallMs }: Pick<HttpLimits, 'stallMs' | 'minReadBytes'>,
): Promise<void> {
  const { socket } = response;
  if (socket === null || response.destroyed || response.writableFinished) {
    return Promise.resolve();
  }
  return new Promise((resolve) => {
    const unread = (): number => socket.writableLength + response.writableLength;
    let before = unread();
    const timer = setInterval(() => {
      const now = unread();
      if (before - now < Math.min(minReadBytes, before)) {
        socket.destroy();
      }
      before = now;
    }, stallMs);
    timer.unref();
    const events = ['drain', 'finish', 'close'] as const;
    const done = (): void => {
      clearInterval(timer);
      events.forEach((event) => response.off(event, done));
      resolve();
    };
    events.forEach((event) => response.on(event, done));
  });
}
