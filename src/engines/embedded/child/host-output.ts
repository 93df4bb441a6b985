/** Writes to the host, whole and at once: while the pipe is full the guest waits, which is the back-pressure. */
import { writeSync } from 'node:fs';
import type { Device } from './wasi/descriptors.ts';
import { ProgramExit } from './wasi/errno.ts';

/** Bytes of one call; the guest writes the rest with the next. It keeps the time bounded in which nothing is noticed. */
const MAX_WRITE_BYTES = 1024 * 1024;
/** Pauses before a full pipe that does not block is tried again. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 16;

const nap = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** `checkEnd` is asked while the pipe stays full, and throws when nobody will read it. */
export function createHostOutput(fd: number, checkEnd: () => void): Device {
  return {
    write(bytes: Uint8Array): number {
      const piece = bytes.subarray(0, MAX_WRITE_BYTES);
      writeWhole(fd, piece, checkEnd);
      return piece.length;
    },
  };
}

/** Writes all of `bytes`. Throws `ProgramExit` when the other end is closed. */
export function writeWhole(fd: number, bytes: Uint8Array, checkEnd: () => void = () => {}): void {
  let pauseMs = FIRST_PAUSE_MS;
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at);
      pauseMs = FIRST_PAUSE_MS;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') {
        throw new ProgramExit(0);
      }
      checkEnd();
      Atomics.wait(nap, 0, 0, pauseMs);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }
}
