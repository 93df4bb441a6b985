/**
 * The only writer of frames to a sandbox. It keeps their order, waits while the pipe is full, and lets an interrupt overtake.
 * An answer too long for one line is sent in parts, which are cut while sending so that the answer is in memory once.
 */
import type { Writable } from 'node:stream';
import { MAX_HOST_LINE_BYTES, MAX_UNSENT_BYTES } from '../base/limits.ts';
import { encodeFrame } from '../protocol/codec.ts';
import type { HostFrame, InterruptFrame } from '../protocol/frames.ts';

/** Characters in one part, so that it is within the line limit even if escaping makes six bytes of each. */
const PART_CHARS = Math.floor(MAX_HOST_LINE_BYTES / 6) - 64;

interface Item {
  readonly chunks: Iterator<string | Buffer>;
  /** Counted as unsent until it is sent. */
  readonly chars: number;
}

export class Outbox {
  readonly #pipe: Writable;
  readonly #waiting: Item[] = [];
  #unsentChars = 0;
  #sentFrames = 0;
  #isBlocked = false;

  /** Does not handle errors of `pipe`. */
  constructor(pipe: Writable) {
    this.#pipe = pipe;
  }

  /** Queues one frame. */
  send(frame: HostFrame): void {
    const line = encodeFrame(frame);
    this.#queue(once(line), line.length);
  }

  /** Queues an interrupt before all other frames, with the number of frames sent before it. */
  sendInterrupt(frame: Omit<InterruptFrame, 'type' | 'sent_before'>): void {
    this.#waiting.unshift({ chunks: this.#numbered(frame), chars: 0 });
    this.#pump();
  }

  *#numbered(frame: Omit<InterruptFrame, 'type' | 'sent_before'>): Generator<string> {
    yield encodeFrame({ type: 'interrupt', ...frame, sent_before: this.#sentFrames });
  }

  /** Queues the answer to a call, given as JSON. Returns false if too much is unsent. */
  sendValue(call: number, json: string): boolean {
    if (this.#unsentChars + json.length > MAX_UNSENT_BYTES) {
      return false;
    }
    if (json.length <= PART_CHARS) {
      const line = `{"type":"answer","call":${call},"ok":true,"value":${json}}\n`;
      this.#queue(once(line), line.length);
    } else {
      this.#queue(inParts(call, json), json.length);
    }
    return true;
  }

  /** Queues bytes that are not a frame: the boot blob. */
  sendRaw(bytes: Buffer): void {
    this.#queue(once(bytes), bytes.length);
  }

  #queue(chunks: Iterator<string | Buffer>, chars: number): void {
    this.#unsentChars += chars;
    this.#waiting.push({ chunks, chars });
    this.#pump();
  }

  /** Sends the writes of one turn in one system call, because the engine's processes forward each write separately. */
  #write(chunk: string | Buffer): boolean {
    // A string is one frame; the boot blob is a buffer.
    this.#sentFrames += typeof chunk === 'string' ? 1 : 0;
    if (this.#pipe.writableCorked === 0) {
      this.#pipe.cork();
      process.nextTick(() => this.#pipe.uncork());
    }
    return this.#pipe.write(chunk);
  }

  #pump(): void {
    while (!this.#isBlocked) {
      const item = this.#waiting[0];
      if (item === undefined) {
        return;
      }
      if (this.#pipe.destroyed || this.#pipe.writableEnded) {
        this.#waiting.length = 0;
        return;
      }
      const next = item.chunks.next();
      if (next.done === true) {
        this.#unsentChars -= item.chars;
        this.#waiting.shift();
      } else if (!this.#write(next.value)) {
        this.#isBlocked = true;
        this.#pipe.once('drain', () => {
          this.#isBlocked = false;
          this.#pump();
        });
      }
    }
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
