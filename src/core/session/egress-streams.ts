/**
 * Streams of bytes that programs in one sandbox open to the host, over the pipe of its frames. Each is a `Duplex` for whoever
 * answers it. In both directions, a limited number of bytes is on its way, and a sandbox that sends more loses the stream.
 */
import { Duplex } from 'node:stream';
import {
  MAX_EGRESS_BYTES,
  MAX_EGRESS_PIECE_BYTES,
  MAX_EGRESS_STREAM_BYTES,
  MAX_EGRESS_STREAMS,
  MIN_EGRESS_STREAM_BYTES,
} from '../base/egress-limits.ts';
import type { HostFrame, SandboxFrame } from '../protocol/frames.ts';
import { createPieces, type Pieces } from '../protocol/line-splitter.ts';
import type { FrameWithBytes, Outbox } from './outbox.ts';

/** What has been passed on is reported from here on: each report costs a frame. Half of what every stream may have on its way. */
const TOLD_BYTES = MIN_EGRESS_STREAM_BYTES / 2;

const NOTHING: Buffer = Buffer.alloc(0);

type StreamFrame = Extract<SandboxFrame, { readonly stream: number }>;

/** What a stream needs of the others. */
interface Owner {
  send(frame: HostFrame): void;
  /** The stream has something to send. */
  noteReady(stream: EgressStream): void;
  noteRead(bytes: number): void;
  noteDestroyed(stream: EgressStream): void;
}

class EgressStream extends Duplex {
  readonly number: number;
  /** Bytes of the sandbox that no one has read here. */
  unread = 0;
  /** Bytes that are sent and that the sandbox has not passed on. */
  untaken = 0;
  /** Whether the sandbox sends no more. */
  hasEnded = false;
  hasSentEnd = false;
  readonly #owner: Owner;
  /** What has arrived and was not asked for. A sandbox can send single bytes. */
  readonly #arrived: Pieces = createPieces();
  #isAsked = false;
  /** Bytes given to the reader since it asked last. */
  #given = 0;
  #untold = 0;
  #unsent: Buffer = NOTHING;
  #onSent: (() => void) | undefined;
  #onEndSent: (() => void) | undefined;

  constructor(number: number, owner: Owner) {
    super({ writableHighWaterMark: MIN_EGRESS_STREAM_BYTES });
    this.number = number;
    this.#owner = owner;
    this.once('end', () => this.#noteRead());
  }

  /** Whether both directions have ended, so that nothing is cut off. */
  get isComplete(): boolean {
    return this.hasEnded && this.hasSentEnd && this.readableEnded;
  }

  receive(bytes: Buffer): void {
    this.unread += bytes.length;
    this.#arrived.add(bytes);
    this.#give();
  }

  receiveEnd(): void {
    this.hasEnded = true;
    this.#give();
  }

  /** The next bytes, at most `room`, or the end; undefined if there is nothing to send, or no room. */
  next(room: number): FrameWithBytes | undefined {
    const { number: stream } = this;
    if (this.#unsent.length > 0) {
      const bytes = this.#unsent.subarray(0, room);
      this.#unsent = this.#unsent.subarray(bytes.length);
      this.untaken += bytes.length;
      this.#endWrite();
      return bytes.length === 0 ? undefined : { frame: { type: 'egress_data', stream, bytes: bytes.length }, bytes };
    }
    if (this.#onEndSent === undefined) {
      return undefined;
    }
    process.nextTick(this.#onEndSent);
    this.#onEndSent = undefined;
    this.hasSentEnd = true;
    return { frame: { type: 'egress_end', stream } };
  }

  override _read(): void {
    this.#noteRead();
    this.#isAsked = true;
    this.#give();
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], done: () => void): void {
    // One buffer: a server may write single bytes.
    this.#unsent =
      chunks.length === 1 ? (chunks[0] as { chunk: Buffer }).chunk : Buffer.concat(chunks.map(({ chunk }) => chunk));
    this.#onSent = done;
    this.#endWrite();
    if (this.#onSent !== undefined) {
      this.#owner.noteReady(this);
    }
  }

  override _final(done: () => void): void {
    this.#onEndSent = done;
    this.#owner.noteReady(this);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#unsent = NOTHING;
    this.#onEndSent = undefined;
    this.#arrived.takeList();
    this.#owner.noteDestroyed(this);
    done(error);
  }

  /** Gives what has arrived to whoever reads, if they have asked. Together: a chunk for each byte would cost a hundred. */
  #give(): void {
    if (this.#isAsked && this.#arrived.bytes > 0) {
      this.#isAsked = false;
      for (const piece of this.#arrived.takeList()) {
        this.#given += piece.length;
        this.push(piece);
      }
    }
    if (this.hasEnded && this.#arrived.bytes === 0) {
      this.push(null);
    }
  }

  /** What was given is read. */
  #noteRead(): void {
    this.unread -= this.#given;
    this.#owner.noteRead(this.#given);
    this.#untold += this.#given;
    this.#given = 0;
    if (this.#untold >= TOLD_BYTES || (this.hasEnded && this.unread === 0 && this.#untold > 0)) {
      this.#owner.send({ type: 'egress_taken', stream: this.number, bytes: this.#untold });
      this.#untold = 0;
    }
  }

  /** Not at once: what is written next must not be sent before this. */
  #endWrite(): void {
    if (this.#unsent.length === 0 && this.#onSent !== undefined) {
      process.nextTick(this.#onSent);
      this.#onSent = undefined;
    }
  }
}

export class EgressStreams {
  readonly #outbox: Outbox;
  readonly #onStream: ((stream: Duplex) => void) | undefined;
  /** By number. */
  readonly #streams = new Map<number, EgressStream>();
  /** Those that have something to send, in the order of their turns. */
  readonly #ready = new Set<EgressStream>();
  #lastNumber = 0;
  /** Of all streams: see there. */
  #unread = 0;
  #untaken = 0;
  #isClosed = false;
  readonly #owner: Owner = {
    send: (frame) => this.#outbox.send(frame),
    noteReady: (stream) => {
      this.#ready.add(stream);
      this.#outbox.wake();
    },
    noteRead: (bytes) => {
      this.#unread -= bytes;
    },
    noteDestroyed: (stream) => this.#noteDestroyed(stream),
  };

  /** Without `onStream`, every stream is reset. */
  constructor(outbox: Outbox, onStream: ((stream: Duplex) => void) | undefined) {
    this.#outbox = outbox;
    this.#onStream = onStream;
  }

  /** Takes a frame of a stream, and the bytes that followed it. Returns whether it was expected. */
  receive(frame: StreamFrame, bytes?: Buffer): boolean {
    if (frame.type === 'egress_open') {
      return this.#open(frame.stream);
    }
    const stream = this.#streams.get(frame.stream);
    if (stream === undefined) {
      // The sandbox may not know yet that it is gone.
      return frame.stream <= this.#lastNumber;
    }
    const isExpected = this.#pass(stream, frame, bytes ?? NOTHING);
    if (!isExpected) {
      stream.destroy();
    }
    return isExpected;
  }

  /** What the outbox sends when nothing else waits: the next frame of the stream whose turn it is. */
  next(): FrameWithBytes | undefined {
    for (const stream of this.#ready) {
      const before = stream.untaken;
      const frame = stream.next(this.#roomOf(stream));
      this.#untaken += stream.untaken - before;
      if (frame !== undefined) {
        this.#ready.delete(stream);
        this.#ready.add(stream);
        return frame;
      }
      if (this.#roomOf(stream) > 0) {
        this.#ready.delete(stream);
      }
    }
    return undefined;
  }

  /** The sandbox has ended. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams.values()) {
      stream.destroy();
    }
  }

  #open(number: number): boolean {
    const isNew = number > this.#lastNumber && !this.#isClosed;
    if (!isNew) {
      return false;
    }
    this.#lastNumber = number;
    if (this.#onStream === undefined || this.#streams.size >= MAX_EGRESS_STREAMS) {
      this.#outbox.send({ type: 'egress_reset', stream: number });
      return false;
    }
    const stream = new EgressStream(number, this.#owner);
    this.#streams.set(number, stream);
    this.#onStream(stream);
    return true;
  }

  #pass(stream: EgressStream, frame: StreamFrame, bytes: Buffer): boolean {
    switch (frame.type) {
      case 'egress_data':
        return this.#passData(stream, bytes);
      case 'egress_end':
        if (stream.hasEnded) {
          return false;
        }
        stream.receiveEnd();
        return true;
      case 'egress_taken':
        return this.#passTaken(stream, frame.bytes);
      default:
        this.#forget(stream);
        stream.destroy();
        return true;
    }
  }

  #passData(stream: EgressStream, bytes: Buffer): boolean {
    const unread = stream.unread + bytes.length;
    const isTooMuch =
      unread > MAX_EGRESS_STREAM_BYTES ||
      (this.#unread + bytes.length > MAX_EGRESS_BYTES && unread > MIN_EGRESS_STREAM_BYTES);
    if (stream.hasEnded || isTooMuch) {
      return false;
    }
    this.#unread += bytes.length;
    stream.receive(bytes);
    return true;
  }

  #passTaken(stream: EgressStream, bytes: number): boolean {
    if (bytes > stream.untaken) {
      return false;
    }
    stream.untaken -= bytes;
    this.#untaken -= bytes;
    this.#forgetComplete(stream);
    this.#outbox.wake();
    return true;
  }

  #roomOf({ untaken }: EgressStream): number {
    const ofAll = Math.min(MAX_EGRESS_STREAM_BYTES - untaken, MAX_EGRESS_BYTES - this.#untaken);
    return Math.min(MAX_EGRESS_PIECE_BYTES, Math.max(ofAll, MIN_EGRESS_STREAM_BYTES - untaken, 0));
  }

  #noteDestroyed(stream: EgressStream): void {
    if (stream.isComplete) {
      this.#forgetComplete(stream);
    } else if (this.#streams.has(stream.number)) {
      this.#forget(stream);
      if (!this.#isClosed) {
        this.#outbox.send({ type: 'egress_reset', stream: stream.number });
      }
    }
  }

  /** Not before the sandbox has passed on everything, which counts until then. */
  #forgetComplete(stream: EgressStream): void {
    if (stream.destroyed && stream.isComplete && stream.untaken === 0) {
      this.#forget(stream);
    }
  }

  #forget(stream: EgressStream): void {
    if (this.#streams.delete(stream.number)) {
      this.#ready.delete(stream);
      this.#unread -= stream.unread;
      this.#untaken -= stream.untaken;
      stream.unread = 0;
      stream.untaken = 0;
      this.#outbox.wake();
    }
  }
}
