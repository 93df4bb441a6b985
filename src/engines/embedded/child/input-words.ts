/** The words of memory that the thread of the input and the thread of the guest share. */

/** Index of each in the Int32Array. */
export const WORD = {
  /** Raised by one whenever something happened; the guest's thread sleeps on it. */
  BELL: 0,
  /** 1 while an interrupt waits to be taken. */
  INTERRUPT: 1,
  /** 1 when the host closed the pipe. */
  ENDED: 2,
  /** Bytes handed over and not yet taken. */
  QUEUED_BYTES: 3,
  /** 1 while reading has stopped because too much is queued. */
  PAUSED: 4,
} as const;

export function createWords(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(Object.keys(WORD).length * Int32Array.BYTES_PER_ELEMENT));
}

export function ringBell(words: Int32Array): void {
  Atomics.add(words, WORD.BELL, 1);
  Atomics.notify(words, WORD.BELL);
}
