/** `poll_oneoff` waits for a time or for input from the host. All other descriptors are always ready. */
import { readClock } from './clock.ts';
import { ERRNO, WasiError } from './errno.ts';
import type { ImportFunction, WasiMachine } from './machine.ts';

/** Chosen: far more than a program needs. */
const MAX_SUBSCRIPTIONS = 1024;
const SUBSCRIPTION_BYTES = 48;
const EVENT_BYTES = 32;
const TYPE_CLOCK = 0;
const TYPE_READ = 1;
const TYPE_WRITE = 2;
const ABSOLUTE_TIME = 1;
const NS_PER_MS = 1e6;

interface Subscription {
  readonly userData: bigint;
  readonly type: number;
  /** For a clock. */
  readonly timeoutMs: number;
  /** For a descriptor. */
  readonly fd: number;
}

interface Event {
  readonly userData: bigint;
  readonly type: number;
  readonly errno: number;
}

export function pollFunction(machine: WasiMachine): ImportFunction {
  const { memory } = machine;
  return (input: number, output: number, count: number, result: number): void => {
    if (count === 0 || count >>> 0 > MAX_SUBSCRIPTIONS) {
      throw new WasiError(ERRNO.INVAL);
    }
    const table = memory.view(input, count * SUBSCRIPTION_BYTES);
    memory.bytes(output, count * EVENT_BYTES);
    memory.setUint32(result, 0);
    const subscriptions = Array.from({ length: count }, (_, at) =>
      readSubscription(
        machine,
        new DataView(table.buffer, table.byteOffset + at * SUBSCRIPTION_BYTES, SUBSCRIPTION_BYTES),
      ),
    );
    const events = waitFor(machine, subscriptions);
    const view = memory.view(output, count * EVENT_BYTES);
    for (const [at, event] of events.entries()) {
      writeEvent(view, at * EVENT_BYTES, event);
    }
    memory.setUint32(result, events.length);
  };
}

function readSubscription(machine: WasiMachine, view: DataView): Subscription {
  const type = view.getUint8(8);
  const userData = view.getBigUint64(0, true);
  if (type === TYPE_CLOCK) {
    const now = readClock(machine.clock, view.getUint32(16, true));
    const time = view.getBigUint64(24, true);
    const isAbsolute = (view.getUint16(40, true) & ABSOLUTE_TIME) !== 0;
    return { userData, type, timeoutMs: Math.max(0, Number(isAbsolute ? time - now : time) / NS_PER_MS), fd: -1 };
  }
  if (type !== TYPE_READ && type !== TYPE_WRITE) {
    throw new WasiError(ERRNO.INVAL);
  }
  return { userData, type, timeoutMs: Number.POSITIVE_INFINITY, fd: view.getUint32(16, true) };
}

/** Waits until at least one subscription is ready. Returns the events of those that are. */
function waitFor(machine: WasiMachine, subscriptions: readonly Subscription[]): Event[] {
  const ready = subscriptions.filter(({ type }) => type !== TYPE_CLOCK).flatMap((one) => descriptorEvent(machine, one));
  if (ready.length > 0) {
    return ready;
  }
  const timeoutMs = Math.min(...subscriptions.map((one) => one.timeoutMs));
  const reads = subscriptions.filter(({ type }) => type === TYPE_READ);
  const hasInput = machine.waiter.wait(timeoutMs, reads.length > 0);
  const due = hasInput ? reads : subscriptions.filter((one) => one.timeoutMs === timeoutMs);
  return due.map(({ userData, type }) => ({ userData, type, errno: ERRNO.SUCCESS }));
}

/** The event of a descriptor; none for the host's input if it is empty. Every other descriptor is ready, or closed. */
function descriptorEvent(machine: WasiMachine, { userData, type, fd }: Subscription): Event[] {
  if (fd === machine.inputFd && type === TYPE_READ && !machine.waiter.hasInput()) {
    return [];
  }
  return [{ userData, type, errno: machine.descriptors.has(fd) ? ERRNO.SUCCESS : ERRNO.BADF }];
}

function writeEvent(view: DataView, at: number, { userData, type, errno }: Event): void {
  view.setBigUint64(at, userData, true);
  view.setUint16(at + 8, errno, true);
  view.setUint8(at + 10, type);
  // wasi-libc treats a descriptor with 0 bytes and no hang-up as not readable.
  view.setBigUint64(at + 16, type === TYPE_CLOCK ? 0n : 1n, true);
  view.setBigUint64(at + 24, 0n, true);
}
