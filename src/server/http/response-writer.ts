/**
 * Writes a response of the SDK to the connection. A client that does not read must not cost memory: nothing is taken from the SDK
 * while the connection is full, and a client that reads too slowly is cut off.
 */
import type { ServerResponse } from 'node:http';
import type { HttpLimits } from './limits.ts';

/** Resolves when all of it was written, or the client is gone. Never rejects. */
export async function writeResponse(
  response: ServerResponse,
  { status, headers, body }: Response,
  limits: Pick<HttpLimits, 'stallMs' | 'minReadBytes'>,
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
      if (!response.write(value)) {
        await untilRead(response, limits);
      }
    }
    if (!response.destroyed) {
      response.end();
      await untilRead(response, limits);
    }
  } catch {
    // The SDK has given the request up.
    response.destroy();
  } finally {
    response.off('close', onClose);
  }
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
