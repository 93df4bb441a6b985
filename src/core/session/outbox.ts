/**
 * The only writer of frames to a sandbox. It keeps their order, waits while the pipe is full, and lets an interrupt overtake.
 * An answer too long for one line is sent in parts, which are cut while sending so that the answer is in memory once. What the
 * sandbox does not read is bounded in bytes. Bytes of streams are taken only when nothing else waits.
 */
import type { Writable } from 'node:stream';
import { collectSoonAfter } from '../base/garbage.ts';
import {
  MAX_HOST_LINE_BYTES,
  MAX_UNREAD_ANSWER_BYTES,
  MAX_UNSENT_BYTES,
  MAX_UNSENT_FRAME_BYTES,
} from '../base/limits.ts';
import { encodeFrame } from '../protocol/codec.ts';
import type { HostFrame, InterruptFrame } from '../protocol/frames.ts';

/** Characters in one part, so that it is within the line limit even if escaping makes six bytes of each. */
const PART_CHARS = Math.floor(MAX_HOST_LINE_BYTES / 6) - 64;

/** What an item costs beyond its text: the item, its iterator and their places in lists (measured with Node 20). */
const ITEM_BYTES = 400;

/**
 * Frames of one turn of the event loop are written together, as one text of about this length, because the engine's processes
 * forward each write separately, and because Node encodes each text of a `writev` by itself. The same as the buffer of a pipe.
 */
const BATCH_CHARS = 16 * 1024;

/** Places of sent items that are kept before they are removed together. Chosen. */
const MAX_SENT_ITEMS = 4_096;

const LINE_FEED = Buffer.from('\n');

/** A frame; bytes; or a frame with the bytes that follow it, which nothing may come between. */
type Chunk = string | Buffer | readonly Buffer[];

interface Item {
  readonly chunks: Iterator<Chunk>;
  /** Counted as unsent until it is sent. */
  readonly bytes: number;
  readonly isValue: boolean;
}

/** A frame and the bytes that it announces, if it does. */
export interface FrameWithBytes {
  readonly frame: HostFrame;
  readonly bytes?: Buffer;
}

export interface OutboxEvents {
  /** The sandbox has read so much that calls may start again. */
  readonly onRoom?: (() => void) | undefined;
  /** The sandbox has not read frames that must not be dropped. */
  readonly onOverflow?: ((bytes: number) => void) | undefined;
  /** Nothing waits, and the pipe has room: returns what can wait longest, if there is any. `wake` says that there is. */
  readonly onIdle?: (() => FrameWithBytes | undefined) | undefined;
}

export class Outbox {
  readonly #pipe: Writable;
  readonly #events: OutboxEvents;
  /** Interrupts, before everything else. */
  readonly #urgent: Item[] = [];
  #waiting: (Item | undefined)[] = [];
  /** Index of the first item of `#waiting` that is not sent: `shift` copies an array of 100,000 items each time. */
  #first = 0;
  #unsentValueBytes = 0;
  #unsentFrameBytes = 0;
  #sentFrames = 0;
  #isBlocked = false;
  /** Frames to be written at the end of this turn. Empty while the pipe is full. */
  #batch = '';

  /** Does not handle errors of `pipe`. */
  constructor(pipe: Writable, events: OutboxEvents = {}) {
    this.#pipe = pipe;
    this.#events = events;
  }

  /** Whether the sandbox has so much to read that no further call should start. */
  get isBehind(): boolean {
    return this.#unsentValueBytes > MAX_UNREAD_ANSWER_BYTES;
  }

  /** Queues one frame. */
  send(frame: HostFrame): void {
    if (!this.#isOverfull()) {
      this.#sendLine(encodeFrame(frame));
    }
  }

  /** Queues one frame and the bytes that it announces, which nothing comes between. */
  sendWithBytes(frame: HostFrame, bytes: Buffer): void {
    if (!this.#isOverfull()) {
      const line = encodeFrame(frame);
      this.#queue(this.#withBytes(line, bytes), bytesOf(line) + bytes.length, false);
    }
  }

  /** There may be something for `onIdle` to return. */
  wake(): void {
    this.#pump();
  }

  #isOverfull(): boolean {
    const isOverfull = this.#unsentFrameBytes > MAX_UNSENT_FRAME_BYTES;
    if (isOverfull) {
      this.#events.onOverflow?.(this.#unsentFrameBytes);
    }
    return isOverfull;
  }

  *#withBytes(line: string, bytes: Buffer): Generator<Buffer> {
    this.#sentFrames += 1;
    yield Buffer.concat([Buffer.from(line), bytes, LINE_FEED]);
  }

  /** Queues an interrupt before all other frames, with the number of frames sent before it. */
  sendInterrupt(frame: Omit<InterruptFrame, 'type' | 'sent_before'>): void {
    this.#urgent.push({ chunks: this.#numbered(frame), bytes: 0, isValue: false });
    this.#pump();
  }

  *#numbered(frame: Omit<InterruptFrame, 'type' | 'sent_before'>): Generator<string> {
    yield encodeFrame({ type: 'interrupt', ...frame, sent_before: this.#sentFrames });
  }

  /** Queues the answer to a call, given as JSON, or as its bytes in pieces. Returns false if too much is unsent. One value is taken whatever its size. */
  sendValue(call: number, json: string | readonly Buffer[]): boolean {
    if (typeof json !== 'string') {
      return this.#queueValue(this.#inBytes(call, json), ITEM_BYTES + sizeOf(json));
    }
    const line = json.length <= PART_CHARS ? `{"type":"answer","call":${call},"ok":true,"value":${json}}\n` : undefined;
    if (line !== undefined && this.#addToBatch(line)) {
      return true;
    }
    return this.#queueValue(line === undefined ? inParts(call, json) : once(line), bytesOf(json));
  }

  #queueValue(chunks: Iterator<Chunk>, bytes: number): boolean {
    const isTooMuch = this.#unsentValueBytes > 0 && this.#unsentValueBytes + bytes > MAX_UNSENT_BYTES;
    if (!isTooMuch) {
      this.#queue(chunks, bytes, true);
    }
    return !isTooMuch;
  }

  /** The pieces of a value, not copied, in frames of limited size; then the answer that ends them. */
  *#inBytes(call: number, pieces: readonly Buffer[]): Generator<Chunk> {
    const total = sizeOf(pieces);
    let parts = 0;
    for (const part of groupPieces(pieces, MAX_HOST_LINE_BYTES - LINE_FEED.length)) {
      parts += 1;
      this.#sentFrames += 1;
      const line = encodeFrame({ type: 'answer_bytes', call, total, bytes: sizeOf(part) });
      yield [Buffer.from(line), ...part, LINE_FEED];
    }
    yield encodeFrame({ type: 'answer', call, ok: true, parts });
    // Not before: the sandbox would wait for it, and nothing of the value can be freed until it is sent.
    collectSoonAfter(total);
  }

  #sendLine(line: string): void {
    if (!this.#addToBatch(line)) {
      this.#queue(once(line), bytesOf(line), false);
    }
  }

  /** Adds a frame to those of this turn. Returns false if others wait before it, or if it is too long. */
  #addToBatch(line: string): boolean {
    const isNext = !this.#isBlocked && this.#urgent.length === 0 && this.#first === this.#waiting.length;
    const fits = isNext && this.#batch.length + line.length <= BATCH_CHARS && this.#isOpen;
    if (fits) {
      this.#write(line);
    }
    return fits;
  }

  get #isOpen(): boolean {
    return !this.#pipe.destroyed && !this.#pipe.writableEnded;
  }

  #queue(chunks: Iterator<Chunk>, bytes: number, isValue: boolean): void {
    const item = { chunks, bytes, isValue };
    this.#count(item, 1);
    this.#waiting.push(item);
    this.#pump();
  }

  #count({ bytes, isValue }: Item, sign: 1 | -1): void {
    if (isValue) {
      this.#unsentValueBytes += sign * bytes;
    } else {
      this.#unsentFrameBytes += sign * bytes;
    }
  }

  /** Writes a chunk, now or at the end of this turn. A string is one frame. The boot blob is none, and `#withBytes` and `#inBytes` count their own. */
  #write(chunk: Chunk): void {
    if (typeof chunk !== 'string') {
      this.#writeBatch();
      this.#writeNow(chunk);
      return;
    }
    this.#sentFrames += 1;
    if (this.#batch === '') {
      process.nextTick(() => this.#writeBatch());
    }
    this.#batch += chunk;
    if (this.#batch.length >= BATCH_CHARS) {
      this.#writeBatch();
    }
  }

  #writeBatch(): void {
    const batch = this.#batch;
    this.#batch = '';
    if (batch !== '' && this.#isOpen) {
      this.#writeNow(batch);
    }
  }

  #writeNow(data: Chunk): void {
    if (!this.#writeAll(data) && !this.#isBlocked) {
      this.#isBlocked = true;
      this.#pipe.once('drain', () => {
        this.#isBlocked = false;
        this.#pump();
      });
    }
  }

  /** Writes pieces in one system call. Returns false if the pipe is full. */
  #writeAll(data: Chunk): boolean {
    if (!Array.isArray(data)) {
      return this.#pipe.write(data);
    }
    this.#pipe.cork();
    const hasRoom = data.reduce((_, piece: Buffer) => this.#pipe.write(piece), true);
    this.#pipe.uncork();
    return hasRoom;
  }

  #remove(item: Item): void {
    if (item === this.#urgent[0]) {
      this.#urgent.shift();
    } else {
      this.#first += 1;
      if (this.#first > MAX_SENT_ITEMS || this.#first === this.#waiting.length) {
        this.#waiting = this.#waiting.slice(this.#first);
        this.#first = 0;
      } else {
        this.#waiting[this.#first - 1] = undefined;
      }
    }
    const wasBehind = this.isBehind;
    this.#count(item, -1);
    if (wasBehind && !this.isBehind) {
      this.#events.onRoom?.();
    }
  }

  /** Returns whether there was something. */
  #writeIdle(): boolean {
    const next = this.#events.onIdle?.();
    if (next === undefined) {
      return false;
    }
    const { frame, bytes } = next;
    if (bytes === undefined) {
      this.#write(encodeFrame(frame));
    } else {
      this.#sentFrames += 1;
      this.#write([Buffer.from(encodeFrame(frame)), bytes, LINE_FEED]);
    }
    return true;
  }

  #pump(): void {
    while (!this.#isBlocked) {
      if (!this.#isOpen) {
        this.#waiting = [];
        this.#first = 0;
        return;
      }
      const item = this.#urgent[0] ?? this.#waiting[this.#first];
      if (item === undefined) {
        if (!this.#writeIdle()) {
          return;
        }
        continue;
      }
      const next = item.chunks.next();
      if (next.done === true) {
        this.#remove(item);
      } else {
        this.#write(next.value);
      }
    }
  }
}

/** What a text needs in memory: V8 stores two bytes for each character as soon as one is beyond Latin-1. */
function bytesOf(text: string): number {
  return ITEM_BYTES + (Buffer.byteLength(text) === text.length ? 1 : 2) * text.length;
}

function sizeOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** The pieces in groups of at most `maxBytes`; a longer piece is cut. */
function* groupPieces(pieces: readonly Buffer[], maxBytes: number): Generator<Buffer[]> {
  let group: Buffer[] = [];
  let left = maxBytes;
  for (const piece of pieces) {
    for (let start = 0; start < piece.length; ) {
      const part = piece.subarray(start, start + left);
      group.push(part);
      start += part.length;
      left -= part.length;
      if (left === 0) {
        yield group;
        group = [];
        left = maxBytes;
      }
    }
  }
  if (group.length > 0) {
    yield group;
  }
}

function* once(chunk: string | Buffer): Generator<string | Buffer> {
  yield chunk;
}

/** The parts of a JSON text, then the answer that ends them. Never cuts a surrogate pair, because Python would not join it. */
function* inParts(call: number, json: string): Generator<string> {
  let parts = 0;
  for (let start = 0; start < json.length; parts += 1) {
    let end = Math.min(start + PART_CHARS, json.length);
    const last = json.charCodeAt(end - 1);
    if (end < json.length && last >= 0xd800 && last <= 0xdbff) {
      end -= 1;
    }
    yield encodeFrame({ type: 'answer_part', call, data: json.slice(start, end) });
    start = end;
  }
  yield encodeFrame({ type: 'answer', call, ok: true, parts });
}
