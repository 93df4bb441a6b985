/**
 * The input of a Pod: what a session writes, in packets, and an empty packet whenever nothing was written for a while. The relay in
 * the Pod (`sandbox-runtime/pod/holder.py`) unpacks them, and ends the Pod if none arrives. Between the two are proxies that may
 * lose a connection without telling either side, or close one that is idle.
 */
import { Writable } from 'node:stream';

/** Proxies in front of a cluster close connections that are idle for a minute, some after 30 s. Chosen. */
const ALIVE_MS = 10_000;
const HEADER_BYTES = 4;

interface Piece {
  readonly chunk: Buffer;
}

/** Wraps the input of `kubectl exec`. */
export function packetsInto(target: Writable, aliveMs: number = ALIVE_MS): Writable {
  let isIdle = true;
  const timer = setInterval(() => {
    if (isIdle && !target.writableNeedDrain && !target.destroyed) {
      target.write(header(0));
    }
    isIdle = true;
  }, aliveMs).unref();
  function send(pieces: readonly Buffer[], done: (error?: Error | null) => void): void {
    isIdle = false;
    target.cork();
    target.write(header(pieces.reduce((bytes, piece) => bytes + piece.length, 0)));
    pieces.forEach((piece) => target.write(piece));
    target.uncork();
    if (target.writableNeedDrain && !target.destroyed) {
      target.once('drain', done);
    } else {
      done();
    }
  }
  const packets = new Writable({
    write: (chunk: Buffer, _encoding, done) => send([chunk], done),
    writev: (pieces: Piece[], done) =>
      send(
        pieces.map(({ chunk }) => chunk),
        done,
      ),
    final(done) {
      clearInterval(timer);
      target.end(done);
    },
    destroy(error, done) {
      clearInterval(timer);
      target.destroy();
      done(error);
    },
  });
  // What waits for room must not wait for a pipe that is gone.
  target.once('close', () => packets.destroy());
  packets.on('error', () => undefined);
  return packets;
}

function header(bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES);
  buffer.writeUInt32BE(bytes);
  return buffer;
}
