/**
 * The error numbers of WASI preview 1 that this implementation returns, and the exceptions it uses internally.
 * Source: https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md, type `errno`.
 */

export const ERRNO = {
  SUCCESS: 0,
  BADF: 8,
  BUSY: 10,
  EXIST: 20,
  FAULT: 21,
  ILSEQ: 25,
  INTR: 27,
  INVAL: 28,
  IO: 29,
  ISDIR: 31,
  LOOP: 32,
  MFILE: 33,
  NAMETOOLONG: 37,
  NOENT: 44,
  NOMEM: 48,
  NOSPC: 51,
  NOSYS: 52,
  NOTDIR: 54,
  NOTEMPTY: 55,
  PERM: 63,
  ROFS: 69,
  SPIPE: 70,
  XDEV: 75,
  NOTCAPABLE: 76,
} as const;
export type Errno = (typeof ERRNO)[keyof typeof ERRNO];

/** A failed call of the guest. The boundary converts it to its error number. */
export class WasiError extends Error {
  override readonly name = 'WasiError';
  readonly errno: Errno;

  constructor(errno: Errno) {
    super(`errno ${errno}`);
    this.errno = errno;
  }
}

/** Ends the program. It is thrown through the WebAssembly frames, and is the only exception that crosses the boundary. */
export class ProgramExit extends Error {
  override readonly name = 'ProgramExit';
  readonly status: number;

  constructor(status: number) {
    super(`exit status ${status}`);
    this.status = status;
  }
}
