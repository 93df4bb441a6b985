import { describe, expect, it } from 'vitest';
import { ERRNO, WasiError } from '../../../../../../src/edges/engines/embedded/child/wasi/errno.ts';
import { createGuest, type Guest, RESULT, resultOf } from '../../../../../support/guest.ts';

const SUBSCRIPTIONS = 4096;
const EVENTS = 8192;
const MONOTONIC = 1;
const MS = 1_000_000n;

type Subscription =
  | { readonly clock: number; readonly time: bigint; readonly isAbsolute?: boolean }
  | { readonly fd: number; readonly write?: boolean };

interface Event {
  readonly userData: number;
  readonly errno: number;
  readonly type: number;
}

/** The events, each with the index of its subscription; an error number if the call fails. */
function poll(guest: Guest, ...subscriptions: readonly Subscription[]): Event[] | number {
  const view = new DataView(guest.memory.buffer);
  for (const [at, one] of subscriptions.entries()) {
    const base = SUBSCRIPTIONS + at * 48;
    new Uint8Array(guest.memory.buffer, base, 48).fill(0);
    view.setBigUint64(base, BigInt(at), true);
    if ('fd' in one) {
      view.setUint8(base + 8, one.write === true ? 2 : 1);
      view.setUint32(base + 16, one.fd, true);
    } else {
      view.setUint32(base + 16, one.clock, true);
      view.setBigUint64(base + 24, one.time, true);
      view.setUint16(base + 40, one.isAbsolute === true ? 1 : 0, true);
    }
  }
  const errno = guest.call['poll_oneoff']?.(SUBSCRIPTIONS, EVENTS, subscriptions.length, RESULT) ?? -1;
  if (errno !== ERRNO.SUCCESS) {
    return errno;
  }
  return Array.from({ length: resultOf(guest) }, (_, at) => {
    const base = EVENTS + at * 32;
    return {
      userData: Number(view.getBigUint64(base, true)),
      errno: view.getUint16(base + 8, true),
      type: view.getUint8(base + 10),
    };
  });
}

describe('poll_oneoff', () => {
  it('waits until the earliest time', () => {
    const waits: [number, boolean][] = [];
    const guest = createGuest({
      waiter: { wait: (timeoutMs, wantsInput) => waits.push([timeoutMs, wantsInput]) < 0 },
    });
    const events = poll(guest, { clock: MONOTONIC, time: 50n * MS }, { clock: MONOTONIC, time: 20n * MS });
    expect(events).toEqual([{ userData: 1, errno: 0, type: 0 }]);
    expect(waits).toEqual([[20, false]]);
  });

  it('accepts absolute times, including past ones', () => {
    const waits: number[] = [];
    const guest = createGuest({ waiter: { wait: (timeoutMs) => waits.push(timeoutMs) < 0 } });
    poll(guest, { clock: MONOTONIC, time: 5n * MS, isAbsolute: true });
    poll(guest, { clock: MONOTONIC, time: 0n, isAbsolute: true });
    poll(guest, { clock: MONOTONIC, time: (1n << 64n) - 1n });
    expect(waits[0]).toBeCloseTo(5, 2);
    expect(waits[1]).toBe(0);
    expect(waits[2]).toBeGreaterThan(1e12);
  });

  it('waits for input from the host, with and without a timeout', () => {
    const waits: number[] = [];
    const guest = createGuest({
      waiter: {
        wait(timeoutMs, wantsInput) {
          waits.push(timeoutMs);
          return wantsInput;
        },
      },
    });
    expect(poll(guest, { fd: 3 }, { clock: MONOTONIC, time: 7n * MS })).toEqual([{ userData: 0, errno: 0, type: 1 }]);
    expect(poll(guest, { fd: 3 })).toEqual([{ userData: 0, errno: 0, type: 1 }]);
    expect(waits).toEqual([7, Number.POSITIVE_INFINITY]);
  });

  it('does not wait if anything is ready, and reports closed descriptors', () => {
    const guest = createGuest({
      waiter: {
        wait() {
          throw new Error('it waited');
        },
      },
    });
    expect(poll(guest, { fd: 3 }, { fd: 4, write: true }, { fd: 99 })).toEqual([
      { userData: 1, errno: 0, type: 2 },
      { userData: 2, errno: ERRNO.BADF, type: 1 },
    ]);
  });

  it('is ended by an interrupt', () => {
    const guest = createGuest({
      waiter: {
        wait() {
          throw new WasiError(ERRNO.INTR);
        },
      },
    });
    expect(poll(guest, { clock: MONOTONIC, time: MS })).toBe(ERRNO.INTR);
  });

  it('refuses no subscription, too many, unknown types and unknown clocks', () => {
    const guest = createGuest();
    const many = Array.from({ length: 80 }, () => ({ fd: 4 }));
    expect(poll(guest)).toBe(ERRNO.INVAL);
    expect(guest.call['poll_oneoff']?.(0, 0, 1025, RESULT)).toBe(ERRNO.INVAL);
    expect(guest.call['poll_oneoff']?.(0, 0, -1, RESULT)).toBe(ERRNO.INVAL);
    expect(poll(guest, ...many)).toHaveLength(80);
    expect(poll(guest, { clock: 2, time: 0n })).toBe(ERRNO.INVAL);
    new Uint8Array(guest.memory.buffer)[SUBSCRIPTIONS + 8] = 9;
    expect(guest.call['poll_oneoff']?.(SUBSCRIPTIONS, EVENTS, 1, RESULT)).toBe(ERRNO.INVAL);
  });
});
