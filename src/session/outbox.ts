/**
 * The one writer of frames to a sandbox: keeps the order, waits when the pipe is full, lets an interrupt overtake.
 * An answer too long for one line travels in parts that are cut as they are sent, so it is held once.
 */
import type { Writable } from 'node:stream';
import { MAX_HOST_LINE_BYTES, MAX_UNSENT_BYTES } from '../base/limits.ts';
import { encodeFrame } from '../protocol/codec.ts';
import type { HostFrame, InterruptFrame } from '../protocol/frames.ts';

/** Characters of one part: escaped they fit the line limit even if each becomes six bytes. */
const PART_CHARS = Math.floor(MAX_HOST_LINE_BYTES / 6) - 64;

interface Item {
  readonly chunks: Iterator<string | Buffer>;
  /** What it counts against the bound until it is sent. */
  readonly chars: number;
}

export class Outbox {
  readonly #pipe: Writable;
  readonly #waiting: Item[] = [];
  #unsentChars = 0;
  #sentFrames = 0;
  #isBlocked = false;

  /** Errors of `pipe` are left to its own `error` event. */
  constructor(pipe: Writable) {
    this.#pipe = pipe;
  }

  /** Queues one frame. */
  send(frame: HostFrame): void {
    const line = encodeFrame(frame);
    this.#queue(once(line), line.length);
  }

  /** Queues an interrupt in front of all others, with the number of frames that leave before it. */
  sendInterrupt(frame: Omit<InterruptFrame, 'type' | 'sent_before'>): void {
    this.#waiting.unshift({ chunks: this.#numbered(frame), chars: 0 });
    this.#pump();
  }

  *#numbered(frame: Omit<InterruptFrame, 'type' | 'sent_before'>): Generator<string> {
    yield encodeFrame({ type: 'interrupt', ...frame, sent_before: this.#sentFrames });
  }

  /** Queues the answer to a call from JSON text. False when the sandbox has too much unread already. */
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

  /** Queues bytes that are no frame: the boot blob. */
  sendRaw(bytes: Buffer): void {
    this.#queue(once(bytes), bytes.length);
  }

  #queue(chunks: Iterator<string | Buffer>, chars: number): void {
    this.#unsentChars += chars;
    this.#waiting.push({ chunks, chars });
    this.#pump();
  }

  /** What is written in one turn leaves in one system call: the engine's processes pass every write on by itself. */
  #write(chunk: string | Buffer): boolean {
    // All text is frames, one in each chunk; the boot blob is bytes.
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

/** Parts of JSON text, then the answer that closes them. A surrogate pair is never cut: Python would not join it. */
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
