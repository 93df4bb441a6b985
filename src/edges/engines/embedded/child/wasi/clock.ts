/** The two clocks of the guest. */
import { performance } from 'node:perf_hooks';
import { ERRNO, WasiError } from './errno.ts';
import { CLOCK } from './types.ts';

const NS_PER_MS = 1e6;

/** Times in nanoseconds. */
export interface Clock {
  /** Since 1970. */
  realtime(): bigint;
  /** Since some moment before the guest started; never goes back. */
  monotonic(): bigint;
}

/** The clocks of the machine, with a resolution of one microsecond. */
export const SYSTEM_CLOCK: Clock = {
  realtime: () => toNanoseconds(performance.timeOrigin + performance.now()),
  // The age of this process plus one second: the clock in the snapshot stopped within its first second, and must not go back.
  monotonic: () => toNanoseconds(1000 + performance.now()),
};

function toNanoseconds(milliseconds: number): bigint {
  return BigInt(Math.round(milliseconds * 1000)) * 1000n;
}

/** Clocks that show the same times in every run: each reading advances them by one microsecond. */
export function createSteadyClock(startMs: number): Clock {
  let asked = 0n;
  const tick = (): bigint => {
    asked += 1000n;
    return asked;
  };
  return { realtime: () => BigInt(startMs) * BigInt(NS_PER_MS) + tick(), monotonic: tick };
}

export function readClock(clock: Clock, id: number): bigint {
  switch (id) {
    case CLOCK.REALTIME:
      return clock.realtime();
    case CLOCK.MONOTONIC:
      return clock.monotonic();
    default:
      throw new WasiError(ERRNO.INVAL);
  }
}
