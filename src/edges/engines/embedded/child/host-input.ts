/**
 * The host's input as the guest's thread sees it. Takes the bytes that the main thread passes on, and sleeps until some arrive.
 * If the host is gone, the program ends at its next read or wait.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { type SharedInput, WORD } from './input-reader.ts';
import type { Device } from './wasi/descriptors.ts';
import { ERRNO, ProgramExit, WasiError } from './wasi/errno.ts';
import type { Waiter } from './wasi/machine.ts';

/** The number of SIGINT in CPython for WASI. */
const SIGINT = 2;

export class HostInput implements Device, Waiter {
  readonly #words: Int32Array;
  readonly #port: MessagePort;
  #chunk = new Uint8Array(0);

  constructor({ words, port }: SharedInput) {
    this.#words = words;
    this.#port = port;
  }

  /** The import `bridge.interrupt`: returns the pending signal and clears it; 0 if there is none. */
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

  /** Throws `ProgramExit` if the host is gone. */
  checkEnd(): void {
    if (Atomics.load(this.#words, WORD.ENDED) === 1) {
      throw new ProgramExit(0);
    }
  }
}
