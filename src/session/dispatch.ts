/**
 * Calls from one sandbox: which may run, how many at once, how each ends. What a call does is given as `handleCall`.
 * Nothing is believed: numbers used twice, calls between cells and floods are refused here.
 */
import { BridgeError, toBridgeError } from '../errors.ts';
import { MAX_CALLS_IN_FLIGHT, MAX_CALLS_PER_CELL, MAX_CALLS_WAITING } from '../limits.ts';
import type { CallFrame, FrameError } from '../protocol/frames.ts';
import type { Outbox } from './outbox.ts';

export interface CallContext {
  readonly session: string;
  /** Names of the servers that code of this session may call. */
  readonly loaded: ReadonlySet<string>;
  /** Aborted when the call is cancelled, with its cell or by itself. */
  readonly signal: AbortSignal;
}

/** Does what a call asks for. Resolves with any JSON value; rejects with a `BridgeError`. */
export type HandleCall = (
  call: { readonly method: string; readonly params: Readonly<Record<string, unknown>> },
  context: CallContext,
) => Promise<unknown>;

export interface Dispatcher {
  /** A cell begins: calls are allowed until `endCell`. */
  beginCell(cell: number): void;
  /** No cell runs. With `cancel`, the calls that began in it are cancelled at the upstream. */
  endCell(cancel: boolean): void;
  receive(frame: CallFrame): void;
  cancel(call: number): void;
  /** Cancels everything; answers no more. */
  close(): void;
}

interface Running {
  readonly cell: number;
  readonly controller: AbortController;
}

export interface DispatcherOptions {
  readonly session: string;
  readonly loaded: ReadonlySet<string>;
  readonly handleCall: HandleCall;
  readonly outbox: Outbox;
}

export function createDispatcher({ session, loaded, handleCall, outbox }: DispatcherOptions): Dispatcher {
  const running = new Map<number, Running>();
  const waiting = new Map<number, CallFrame>();
  let cell = 0;
  let callsOfCell = 0;
  let closed = false;

  function refuse(call: number, error: BridgeError): void {
    if (!closed) {
      outbox.send({ type: 'answer', call, ok: false, error: toFrameError(error) });
    }
  }

  async function run(frame: CallFrame): Promise<void> {
    const controller = new AbortController();
    running.set(frame.call, { cell, controller });
    try {
      const { method, params } = frame;
      const value = await handleCall({ method, params }, { session, loaded, signal: controller.signal });
      answer(frame.call, value);
    } catch (error) {
      refuse(frame.call, toBridgeError(error));
    } finally {
      running.delete(frame.call);
      startWaiting();
    }
  }

  function answer(call: number, value: unknown): void {
    if (closed) {
      return;
    }
    const json = JSON.stringify(value ?? null);
    if (!outbox.sendValue(call, json)) {
      throw new BridgeError('LIMIT_RESULT', 'the sandbox has too many results that its code has not taken yet', {
        hint: 'Await fewer large results at once.',
      });
    }
  }

  function startWaiting(): void {
    for (const [call, frame] of waiting) {
      if (running.size >= MAX_CALLS_IN_FLIGHT) {
        return;
      }
      waiting.delete(call);
      void run(frame);
    }
  }

  function reasonToRefuse(frame: CallFrame): BridgeError | undefined {
    if (cell === 0) {
      return new BridgeError('CALL_REFUSED', 'calls are possible only while a cell runs');
    }
    callsOfCell += 1;
    if (callsOfCell > MAX_CALLS_PER_CELL) {
      return new BridgeError('LIMIT_CALLS', `one cell may make ${MAX_CALLS_PER_CELL.toLocaleString('en-US')} calls`, {
        hint: 'Split the work over several cells.',
      });
    }
    if (running.has(frame.call) || waiting.has(frame.call)) {
      return new BridgeError('CALL_REFUSED', `call number ${frame.call} is in use`);
    }
    if (waiting.size >= MAX_CALLS_WAITING) {
      return new BridgeError('LIMIT_CALLS', `${waiting.size.toLocaleString('en-US')} calls are waiting already`, {
        hint: 'Await results before starting further calls.',
      });
    }
    return undefined;
  }

  return {
    beginCell(number) {
      cell = number;
      callsOfCell = 0;
    },
    endCell(cancel) {
      const ended = cell;
      cell = 0;
      if (!cancel) {
        return;
      }
      for (const call of waiting.keys()) {
        waiting.delete(call);
        refuse(call, new BridgeError('CALL_CANCELLED', 'the cell that made this call was ended'));
      }
      for (const call of running.values()) {
        if (call.cell === ended) {
          call.controller.abort();
        }
      }
    },
    receive(frame) {
      const reason = reasonToRefuse(frame);
      if (reason !== undefined) {
        refuse(frame.call, reason);
      } else if (running.size >= MAX_CALLS_IN_FLIGHT) {
        waiting.set(frame.call, frame);
      } else {
        void run(frame);
      }
    },
    cancel(call) {
      waiting.delete(call);
      running.get(call)?.controller.abort();
    },
    close() {
      closed = true;
      waiting.clear();
      for (const call of running.values()) {
        call.controller.abort();
      }
    },
  };
}

function toFrameError(error: BridgeError): FrameError {
  const { code, message, hint, data } = error;
  return {
    code,
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(Object.keys(data).length === 0 ? {} : { data: { ...data } }),
  };
}
