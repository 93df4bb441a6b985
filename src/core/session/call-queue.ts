/**
 * The calls of one sandbox, from their arrival to their end: how many run, and how many bytes of them run and wait. Calls of a
 * lane start in the order of their arrival, so a large one is not overtaken forever.
 *
 * Calls that do not fit are refused; the host goes on reading the pipe, because the result of the cell or a `cancel_call` may be
 * behind them. The kernel holds calls back before that, so honest code waits instead. Smaller budgets are not possible: the
 * largest line alone can need 32 MiB.
 */
import {
  MAX_CALLS_IN_FLIGHT,
  MAX_CALLS_WAITING,
  MAX_HOST_CALLS_IN_FLIGHT,
  MAX_RUNNING_CALL_BYTES,
  MAX_WAITING_CALL_BYTES,
} from '../base/limits.ts';
import type { CallFrame, CallMethod } from '../protocol/frames.ts';

export interface QueuedCall {
  readonly frame: CallFrame;
  /** The cell in which it arrived; 0 for a call of a job. */
  readonly cell: number;
  /** About how much memory the frame needs. */
  readonly bytes: number;
}

interface Lane {
  readonly maxRunning: number;
  running: number;
  readonly waiting: Map<number, QueuedCall>;
}

/** Calls that a server answers, or that cost the host next to nothing. All others are work of the host itself. */
const FOR_SERVERS: ReadonlySet<string> = new Set<CallMethod>([
  'call_tool',
  'list_resources',
  'list_resource_templates',
  'read_resource',
  'list_prompts',
  'get_prompt',
  'run_program',
  'start_job',
  'reset',
]);

export class CallQueue {
  readonly #forServers: Lane = { maxRunning: MAX_CALLS_IN_FLIGHT, running: 0, waiting: new Map() };
  readonly #forHost: Lane = { maxRunning: MAX_HOST_CALLS_IN_FLIGHT, running: 0, waiting: new Map() };
  #runningBytes = 0;
  #waitingBytes = 0;

  /** Calls that wait, lane by lane. */
  *waiting(): Generator<QueuedCall> {
    yield* this.#forServers.waiting.values();
    yield* this.#forHost.waiting.values();
  }

  isWaiting(call: number): boolean {
    return this.#forServers.waiting.has(call) || this.#forHost.waiting.has(call);
  }

  /** Why no further call may wait, as a clause; undefined if this one may. */
  whyFull(bytes: number): string | undefined {
    const count = this.#forServers.waiting.size + this.#forHost.waiting.size;
    if (count >= MAX_CALLS_WAITING) {
      return `${format(count)} calls are waiting already, which is the limit`;
    }
    return this.#waitingBytes + bytes > MAX_WAITING_CALL_BYTES
      ? `waiting calls would need ${format(this.#waitingBytes + bytes)} bytes; the limit is ${format(MAX_WAITING_CALL_BYTES)} bytes`
      : undefined;
  }

  add(call: QueuedCall): void {
    this.#waitingBytes += call.bytes;
    this.#laneOf(call).waiting.set(call.frame.call, call);
  }

  /** Removes a waiting call; returns whether it waited. */
  remove(call: number): boolean {
    const found = this.#forServers.waiting.get(call) ?? this.#forHost.waiting.get(call);
    if (found !== undefined) {
      this.#laneOf(found).waiting.delete(call);
      this.#waitingBytes -= found.bytes;
    }
    return found !== undefined;
  }

  /** The next call of a lane that may run, which counts as running until `end`. Calls that are not `allowed` are passed over. */
  next(lane: 'servers' | 'host', allowed: (frame: CallFrame) => boolean): QueuedCall | undefined {
    const { maxRunning, running, waiting } = lane === 'host' ? this.#forHost : this.#forServers;
    if (running >= maxRunning) {
      return undefined;
    }
    for (const call of waiting.values()) {
      if (allowed(call.frame)) {
        const hasRoom = this.#runningBytes === 0 || this.#runningBytes + call.bytes <= MAX_RUNNING_CALL_BYTES;
        return hasRoom ? this.#begin(call) : undefined;
      }
    }
    return undefined;
  }

  end(call: QueuedCall): void {
    this.#laneOf(call).running -= 1;
    this.#runningBytes -= call.bytes;
  }

  clear(): void {
    this.#forServers.waiting.clear();
    this.#forHost.waiting.clear();
    this.#waitingBytes = 0;
  }

  #begin(call: QueuedCall): QueuedCall {
    this.remove(call.frame.call);
    this.#laneOf(call).running += 1;
    this.#runningBytes += call.bytes;
    return call;
  }

  #laneOf({ frame }: QueuedCall): Lane {
    return FOR_SERVERS.has(frame.method) ? this.#forServers : this.#forHost;
  }
}

function format(count: number): string {
  return count.toLocaleString('en-US');
}
