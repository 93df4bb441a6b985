/** What the WASI functions work on. */
import type { Clock } from './clock.ts';
import type { DescriptorTable } from './descriptors.ts';
import type { GuestMemory } from './guest-memory.ts';

/** How the guest waits for input from the host, a time or an interrupt. */
export interface Waiter {
  /** Whether a read from the host would return at once. */
  hasInput(): boolean;
  /**
   * Waits up to `timeoutMs` (may be Infinity), and with `wantsInput` until input arrives. Returns true if there is input, false
   * after the time. Fails with INTR if an interrupt is pending.
   */
  wait(timeoutMs: number, wantsInput: boolean): boolean;
}

export interface WasiMachine {
  readonly memory: GuestMemory;
  readonly descriptors: DescriptorTable;
  readonly clock: Clock;
  readonly waiter: Waiter;
  /** The descriptor that `waiter` waits for. */
  readonly inputFd: number;
  fillRandom(target: Uint8Array): void;
}

/** Takes WebAssembly values: i32 as number (the sign has no meaning), i64 as bigint. */
// biome-ignore format: a signature
export type ImportFunction = (...args: never[]) => void;
export type ImportTable = Readonly<Record<string, ImportFunction>>;
