/**
 * Collects garbage after large data. A line of 8 MiB from a sandbox is there as chunks, as one buffer, as text and as values.
 * V8 frees none of it before its heap has grown by half, and counts buffers late, so a flood grew the bridge by 200 MiB although
 * it held nothing (measured).
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { MAX_GARBAGE_BYTES, MIN_GARBAGE_BYTES } from './limits.ts';

/** Long enough for a checkpoint after the last cell. Chosen. */
const IDLE_MS = 3_000;

let garbageBytes = 0;
let busy = 0;
let idleTimer: NodeJS.Timeout | undefined;
let collect: (() => void) | undefined;

/** Counts data that will not be needed much longer. */
export function noteGarbage(bytes: number): void {
  garbageBytes += bytes >= MIN_GARBAGE_BYTES ? bytes : 0;
}

/** Counts data that came in pieces of any size and was not kept, and collects if that is due. */
export function collectAfterPiece(bytes: number): void {
  garbageBytes += bytes;
  collectIfDue();
}

/** Counts data as `noteGarbage` does, and collects in a later turn of the event loop if that is due. */
export function collectSoonAfter(bytes: number): void {
  if (bytes >= MIN_GARBAGE_BYTES) {
    noteGarbage(bytes);
    setImmediate(collectIfDue);
  }
}

/** Collects if enough has been counted, which takes 10 to 40 ms. Call it where the data is no longer on the stack. */
export function collectIfDue(): void {
  if (garbageBytes >= MAX_GARBAGE_BYTES) {
    collectNow();
  }
}

/**
 * Something runs, until the returned function is called. Collects once nothing has run for a while: V8 never does, because an idle
 * process allocates nothing. After its first cell, a bridge kept 112 MB instead of 97 (measured).
 */
export function collectWhenIdle(): () => void {
  busy += 1;
  clearTimeout(idleTimer);
  return () => {
    busy -= 1;
    if (busy === 0) {
      idleTimer = setTimeout(collectNow, IDLE_MS).unref();
    }
  };
}

function collectNow(): void {
  garbageBytes = 0;
  collect ??= findCollector();
  collect();
}

/** The function that `node --expose-gc` makes global. Without it, V8 collects by itself. */
export function findCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('typeof gc === "function" ? gc : undefined');
  setFlagsFromString('--no-expose-gc');
  return typeof found === 'function' ? () => void found() : () => undefined;
}
