/** What the functions of the interface work on. */
import type { Clock } from './clock.ts';
import type { DescriptorTable } from './descriptors.ts';
import type { GuestMemory } from './guest-memory.ts';

/** How the guest waits: for the host's bytes, for time, for an interrupt. */
export interface Waiter {
  /** Whether a read of the host's channel would not wait. */
  hasInput(): boolean;
  /**
   * Waits at most `timeoutMs` (may be Infinity) for input, if `wantsInput`. True when input is there, false when the
   * time is over; INTR when an interrupt is pending.
   */
  wait(timeoutMs: number, wantsInput: boolean): boolean;
}

export interface WasiMachine {
  readonly memory: GuestMemory;
  readonly descriptors: DescriptorTable;
  readonly clock: Clock;
  readonly waiter: Waiter;
  /** Number of the descriptor that `waiter` speaks of. */
  readonly inputFd: number;
  fillRandom(target: Uint8Array): void;
}

/** Arguments are the WebAssembly values: i32 as number (sign without meaning), i64 as bigint. */
// biome-ignore format: a signature
export type ImportFunction = (...args: never[]) => void;
export type ImportTable = Readonly<Record<string, ImportFunction>>;
