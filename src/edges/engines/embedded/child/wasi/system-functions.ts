/** Arguments and environment (both empty), clocks, random bytes, waiting, and the end of the program. */
import { readClock } from './clock.ts';
import { ProgramExit } from './errno.ts';
import type { ImportTable, WasiMachine } from './machine.ts';
import { pollFunction } from './poll.ts';

/** Resolution of both clocks. */
const CLOCK_RESOLUTION_NS = 1000n;

export function systemFunctions(machine: WasiMachine): ImportTable {
  const { memory, clock } = machine;

  function noStrings(count: number, bytes: number): void {
    memory.setUint32(count, 0);
    memory.setUint32(bytes, 0);
  }

  return {
    args_sizes_get: noStrings,
    environ_sizes_get: noStrings,
    // The counts are zero, so there is nothing to write.
    args_get(): void {},
    environ_get(): void {},

    clock_res_get(id: number, result: number): void {
      readClock(clock, id);
      memory.setUint64(result, CLOCK_RESOLUTION_NS);
    },

    clock_time_get(id: number, _precision: bigint, result: number): void {
      memory.setUint64(result, readClock(clock, id));
    },

    random_get(pointer: number, length: number): void {
      machine.fillRandom(memory.bytes(pointer, length));
    },

    sched_yield(): void {
      clock.monotonic(); // There is no other thread to yield to.
    },

    proc_exit(status: number): void {
      throw new ProgramExit(status >>> 0);
    },

    poll_oneoff: pollFunction(machine),
  };
}
