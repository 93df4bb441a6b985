/**
 * The one writer of frames to a sandbox: keeps the order, waits when the pipe is full, lets an interrupt overtake.
 * An answer too long for one line travels in parts that are cut as they are sent, so it is held once.
 */
import type { Writable } from 'node:stream';
import { MAX_HOST_LINE_BYTES, MAX_UNSENT_BYTES } from '../limits.ts';
import { encodeFrame } from '../protocol/codec.ts';
import type { HostFrame } from '../protocol/frames.ts';

/** Characters of one part: escaped they fit the line limit even if each becomes six bytes. */
const PART_CHARS = Math.floor(MAX_HOST_LINE_BYTES / 6) - 64;

export interface Outbox {
  /** Queues one frame. */
  send(frame: HostFrame): void;
  /** Queues a frame in front of all others. */
  sendFirst(frame: HostFrame): void;
  /** Queues the answer to a call from JSON text. False when the sandbox has too much unread already. */
  sendValue(call: number, json: string): boolean;
  /** Queues bytes that are no frame; used for the boot blob. */
  sendRaw(bytes: Buffer): void;
}

interface Item {
  readonly chunks: Iterator<string | Buffer>;
  /** What it counts against the bound until it is sent. */
  readonly chars: number;
}

/** An outbox over `pipe`; write errors are left to the pipe's `error` event. */
export function createOutbox(pipe: Writable): Outbox {
  const waiting: Item[] = [];
  let unsentChars = 0;
  let blocked = false;

  function pump(): void {
    while (!blocked) {
      const item = waiting[0];
      if (item === undefined) {
        return;
      }
      if (pipe.destroyed || pipe.writableEnded) {
        waiting.length = 0;
        return;
      }
      const next = item.chunks.next();
      if (next.done === true) {
        unsentChars -= item.chars;
        waiting.shift();
      } else if (!pipe.write(next.value)) {
        blocked = true;
        pipe.once('drain', resume);
      }
    }
  }

  function resume(): void {
    blocked = false;
    pump();
  }

  function queue(chunks: Iterator<string | Buffer>, chars: number): void {
    unsentChars += chars;
    waiting.push({ chunks, chars });
    pump();
  }

  return {
    send(frame) {
      const line = encodeFrame(frame);
      queue(once(line), line.length);
    },
    sendFirst(frame) {
      const line = encodeFrame(frame);
      unsentChars += line.length;
      waiting.unshift({ chunks: once(line), chars: line.length });
      pump();
    },
    sendValue(call, json) {
      if (unsentChars + json.length > MAX_UNSENT_BYTES) {
        return false;
      }
      if (json.length <= PART_CHARS) {
        const line = `{"type":"answer","call":${call},"ok":true,"value":${json}}\n`;
        queue(once(line), line.length);
      } else {
        queue(inParts(call, json), json.length);
      }
      return true;
    },
    sendRaw(bytes) {
      queue(once(bytes), bytes.length);
    },
  };
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
