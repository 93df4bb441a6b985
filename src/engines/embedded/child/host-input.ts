/**
 * The host's bytes as the guest's thread sees them: it takes what the other thread handed over, and sleeps until there
 * is something. The end of the host ends the program from wherever it waits.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { SharedInput } from './input-reader.ts';
import { WORD } from './input-words.ts';
import type { Device } from './wasi/descriptors.ts';
import { ERRNO, ProgramExit, WasiError } from './wasi/errno.ts';
import type { Waiter } from './wasi/machine.ts';

/** What CPython calls SIGINT in WASI. */
const SIGINT = 2;

export class HostInput implements Device, Waiter {
  readonly #words: Int32Array;
  readonly #port: MessagePort;
  #chunk = new Uint8Array(0);

  constructor({ words, port }: SharedInput) {
    this.#words = words;
    this.#port = port;
  }

  /** The signal that is pending, which is none afterwards; 0 for none. The import `bridge.interrupt`. */
  takeInterrupt(): number {
    this.checkEnd();
    return Atomics.exchange(this.#words, WORD.INTERRUPT, 0) === 0 ? 0 : SIGINT;
  }

  read(target: Uint8Array): number {
    this.wait(Number.POSITIVE_INFINITY, true);
    const count = Math.min(target.length, this.#chunk.length);
    target.set(this.#chunk.subarray(0, count));
    this.#chunk = this.#chunk.subarray(count);
    return count;
  }

  hasInput(): boolean {
    while (this.#chunk.length === 0) {
      const received = receiveMessageOnPort(this.#port);
      if (received === undefined) {
        return false;
      }
      this.#chunk = received.message as Uint8Array<ArrayBuffer>;
      Atomics.sub(this.#words, WORD.QUEUED_BYTES, this.#chunk.length);
      if (Atomics.exchange(this.#words, WORD.PAUSED, 0) === 1) {
        this.#port.postMessage('resume', []);
      }
    }
    return true;
  }

  wait(timeoutMs: number, wantsInput: boolean): boolean {
    const end = performance.now() + timeoutMs;
    for (;;) {
      const bell = Atomics.load(this.#words, WORD.BELL);
      this.checkEnd();
      if (Atomics.load(this.#words, WORD.INTERRUPT) === 1) {
        throw new WasiError(ERRNO.INTR);
      }
      if (wantsInput && this.hasInput()) {
        return true;
      }
      const leftMs = end - performance.now();
      if (leftMs <= 0) {
        return false;
      }
      Atomics.wait(this.#words, WORD.BELL, bell, leftMs);
    }
  }

  /** Throws when the host has gone. */
  checkEnd(): void {
    if (Atomics.load(this.#words, WORD.ENDED) === 1) {
      throw new ProgramExit(0);
    }
  }
}
