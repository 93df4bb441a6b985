/** The two clocks of the guest. */
import { performance } from 'node:perf_hooks';
import { ERRNO, WasiError } from './errno.ts';
import { CLOCK } from './types.ts';

const NS_PER_MS = 1e6;

/** Both in nanoseconds. */
export interface Clock {
  /** Since 1970. */
  realtime(): bigint;
  /** Since some moment before the guest began; never goes back. */
  monotonic(): bigint;
}

/** The clocks of the machine, to the microsecond. */
export const SYSTEM_CLOCK: Clock = {
  realtime: () => toNanoseconds(performance.timeOrigin + performance.now()),
  // One more second than this process has lived: a snapshot is made before it, at the first second.
  monotonic: () => toNanoseconds(1000 + performance.now()),
};

function toNanoseconds(milliseconds: number): bigint {
  return BigInt(Math.round(milliseconds * 1000)) * 1000n;
}

/** Clocks that tell the same times in every run: each question takes a microsecond. */
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
