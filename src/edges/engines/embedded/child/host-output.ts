/**
 * Output to the host: frames on stdout, reports on stderr. Writes are complete and synchronous. While the pipe is full, the guest
 * waits; that is the back-pressure.
 */
import { writeSync } from 'node:fs';
import type { SupervisorReport } from '../../../../core/protocol/frames.ts';
import type { Device } from './wasi/descriptors.ts';
import { ProgramExit } from './wasi/errno.ts';

const STDERR = 2;
/** Bytes taken by one call; the guest writes the rest with the next. During a write the guest notices nothing else. */
const MAX_WRITE_BYTES = 1024 * 1024;
/** Pauses between attempts to write to a full non-blocking pipe. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 16;

const nap = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** `checkEnd` is called while the pipe stays full. It throws if the host is gone. */
export function createHostOutput(fd: number, checkEnd: () => void): Device {
  return {
    write(bytes: Uint8Array): number {
      const chunk = bytes.subarray(0, MAX_WRITE_BYTES);
      writeWhole(fd, chunk, checkEnd);
      return chunk.length;
    },
  };
}

/** Writes a report to stderr, in the format of the supervisor that containers have. */
export function report(content: SupervisorReport): void {
  writeWhole(STDERR, Buffer.from(`${JSON.stringify(content)}\n`), () => undefined);
}

/** Writes all of `bytes`. Throws `ProgramExit` if the other end is closed. */
function writeWhole(fd: number, bytes: Uint8Array, checkEnd: () => void): void {
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
