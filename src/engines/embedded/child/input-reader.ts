/**
 * Reads the host's pipe in the main thread, because the guest's thread computes or sleeps. Hands every byte over in
 * order, and besides looks for two things that must not wait for the guest to read: an interrupt, and the end.
 */
import { Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import { ringBell, WORD } from './input-words.ts';

/** How an interrupt begins on the wire; the codec writes `type` first. */
export const INTERRUPT_LINE = Buffer.from('{"type":"interrupt"');
/** Bytes the guest has not read, above which the pipe is left to fill. Chosen: the answers of many calls fit. */
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;
/** Time the guest has to notice the end of the host before the process is killed. */
const END_GRACE_MS = 100;
const NEWLINE = 0x0a;

/** What both threads have; each has one end of the channel. */
export interface SharedInput {
  readonly words: Int32Array;
  readonly port: MessagePort;
}

/** Throws when stdin is no pipe. */
export function readInput({ words, port }: SharedInput): void {
  const findInterrupt = createLineWatch(INTERRUPT_LINE);
  const input = new Socket({ fd: 0, readable: true, writable: false });
  input.on('data', (chunk) => {
    const copy = new Uint8Array(chunk);
    const isInterrupt = findInterrupt(copy);
    if (Atomics.add(words, WORD.QUEUED_BYTES, copy.length) + copy.length > MAX_QUEUED_BYTES) {
      Atomics.store(words, WORD.PAUSED, 1);
      input.pause();
    }
    port.postMessage(copy, [copy.buffer]);
    // After the bytes: who is woken by the interrupt finds its frame.
    if (isInterrupt) {
      Atomics.store(words, WORD.INTERRUPT, 1);
    }
    ringBell(words);
  });
  port.on('message', () => input.resume());
  const end = (): void => {
    Atomics.store(words, WORD.ENDED, 1);
    ringBell(words);
    // The guest may be in a write that nobody reads. Nothing is left to be saved.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), END_GRACE_MS);
  };
  input.on('end', end);
  input.on('error', end);
}

/** Tells of each chunk whether a line that starts in it, or before it, was seen to begin with `start`. */
export function createLineWatch(start: Uint8Array): (chunk: Uint8Array) => boolean {
  let matched = 0; // Bytes of `start` seen of the current line; -1 when it begins otherwise.
  return (chunk) => {
    let isSeen = false;
    for (let at = 0; at < chunk.length; ) {
      if (matched < 0) {
        const newline = chunk.indexOf(NEWLINE, at);
        if (newline < 0) {
          return isSeen;
        }
        matched = 0;
        at = newline + 1;
      } else if (chunk[at] === start[matched]) {
        matched += 1;
        at += 1;
        if (matched === start.length) {
          isSeen = true;
          matched = -1;
        }
      } else {
        matched = -1;
      }
    }
    return isSeen;
  };
}
