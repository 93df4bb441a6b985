/**
 * Reads the host's pipe in the main thread, because the guest's thread computes or sleeps. Passes on every byte in order, and
 * signals two things that cannot wait until the guest reads: an interrupt, and the end of the host.
 */
import { Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';

/** The integers that both threads share, by their index in the Int32Array. */
export const WORD = {
  /** Incremented by every event; the guest's thread sleeps on it. */
  BELL: 0,
  /** 1 while an interrupt is pending. */
  INTERRUPT: 1,
  /** 1 after the host closed the pipe. */
  ENDED: 2,
  /** Bytes passed on that the guest has not taken yet. */
  QUEUED_BYTES: 3,
  /** 1 while reading is paused because too much is queued. */
  PAUSED: 4,
} as const;

/** What both threads have; each has one end of the channel. */
export interface SharedInput {
  readonly words: Int32Array;
  readonly port: MessagePort;
}

/** How an interrupt begins on the wire; the codec writes `type` first. */
export const INTERRUPT_LINE = Buffer.from('{"type":"interrupt"');
/** Unread bytes at which reading pauses and the pipe fills up. Chosen: room for the answers of many calls. */
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;
/** How long the guest has to notice the end of the host before the process is killed. */
const END_GRACE_MS = 100;
const NEWLINE = 0x0a;

export function createWords(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(Object.keys(WORD).length * Int32Array.BYTES_PER_ELEMENT));
}

/** Throws if stdin is not a pipe. */
export function readInput({ words, port }: SharedInput): void {
  const hasInterrupt = createLineWatch(INTERRUPT_LINE);
  const input = new Socket({ fd: 0, readable: true, writable: false });
  input.on('data', (chunk) => {
    const copy = new Uint8Array(chunk);
    const isInterrupt = hasInterrupt(copy);
    if (Atomics.add(words, WORD.QUEUED_BYTES, copy.length) + copy.length > MAX_QUEUED_BYTES) {
      Atomics.store(words, WORD.PAUSED, 1);
      input.pause();
    }
    port.postMessage(copy, [copy.buffer]);
    // Only after the bytes, so a guest woken by the interrupt finds its frame.
    if (isInterrupt) {
      Atomics.store(words, WORD.INTERRUPT, 1);
    }
    ringBell(words);
  });
  port.on('message', () => input.resume());
  const end = (): void => {
    Atomics.store(words, WORD.ENDED, 1);
    ringBell(words);
    // The guest may be blocked in a write. There is nothing left to save.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), END_GRACE_MS);
  };
  input.on('end', end);
  input.on('error', end);
}

function ringBell(words: Int32Array): void {
  Atomics.add(words, WORD.BELL, 1);
  Atomics.notify(words, WORD.BELL);
}

/** A frame that bytes follow, whatever they contain. No other frame has a member `bytes` at its end. */
const BYTES_FOLLOW = /^\{"type":"(?:answer_bytes|checkpoint_data)",(?:"call":\d+,"total":\d+,)?"bytes":(\d+)\}$/;
/** Longer than any such frame. */
const HEAD_BYTES = 128;

/**
 * Returns a function that takes the chunks of a stream in order. It returns true for the chunk that completes `start` at the
 * beginning of a line; the line may begin in an earlier chunk. Bytes that follow a frame are not lines.
 */
export function createLineWatch(start: Uint8Array): (chunk: Uint8Array) => boolean {
  const wanted = Buffer.from(start).toString('latin1');
  let head = ''; // The beginning of the current line.
  let bytesToSkip = 0;
  return (chunk) => {
    let isSeen = false;
    for (let at = 0; at < chunk.length; ) {
      if (bytesToSkip > 0) {
        const skipped = Math.min(bytesToSkip, chunk.length - at);
        bytesToSkip -= skipped;
        at += skipped;
        continue;
      }
      const newline = chunk.indexOf(NEWLINE, at);
      const end = newline < 0 ? chunk.length : newline;
      const known = head.length;
      head += Buffer.from(chunk.subarray(at, Math.min(end, at + HEAD_BYTES - known))).toString('latin1');
      isSeen ||= known < wanted.length && head.startsWith(wanted);
      at = end + 1;
      if (newline >= 0) {
        const bytes = BYTES_FOLLOW.exec(head)?.[1];
        // With the line feed after them.
        bytesToSkip = bytes === undefined ? 0 : Number(bytes) + 1;
        head = '';
      }
    }
    return isSeen;
  };
}
