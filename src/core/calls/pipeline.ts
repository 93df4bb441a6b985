/** The way of every call to its server: through the gates, watched from its start to its end. */
import type { BridgeError } from '../base/errors.ts';
import { type CallGate, type CallOutcome, failed, succeeded, type ToolCall, type UnmadeCall } from './contract.ts';
import { type BegunCall, BridgeEvents, errorCodeOf, type SentCall } from './events.ts';

/** Sends a call to its server. Rejects with a `BridgeError`. */
export type SendCall = (call: ToolCall) => Promise<unknown>;

/** Surrounds a call, which `make` makes. Calls it once, and returns what it does. */
export type TraceCall = (made: BegunCall, make: () => Promise<CallOutcome>) => Promise<CallOutcome>;

export interface CallPipelineOptions {
  /** The first gate gets the call first and the outcome last. None by default. */
  readonly gates?: readonly CallGate[];
  readonly events?: BridgeEvents;
  readonly traceCall?: TraceCall | undefined;
}

export interface CallPipeline {
  /** Resolves with the server's answer. Rejects with the reason of the gate that refused the call, or of the server. */
  make(call: ToolCall, send: SendCall): Promise<unknown>;
  /** Tells those who watch of a call that reached no gate. */
  noteUnmade(call: UnmadeCall, error: BridgeError): void;
}

export function createCallPipeline({
  gates = [],
  events = new BridgeEvents(),
  traceCall,
}: CallPipelineOptions = {}): CallPipeline {
  // Promises and closures of each call are counted here, because one gather makes 1,000 calls at once.

  /** Takes a call through the gates from the given one on, then to its server. */
  function passGates(
    first: number,
    call: ToolCall,
    send: (call: ToolCall) => Promise<CallOutcome>,
  ): Promise<CallOutcome> {
    const gate = gates[first];
    try {
      if (gate === undefined) {
        return send(call);
      }
      let passedOn: Promise<CallOutcome> | undefined;
      const outcome = gate(call, (one) => {
        passedOn = passGates(first + 1, one, send);
        return passedOn;
      });
      return outcome === passedOn ? outcome : outcome.catch(failed);
    } catch (error) {
      return Promise.resolve(failed(error));
    }
  }

  return {
    make(call, send) {
      const made = events.callStarted(call);
      let sent: SentCall | undefined;
      const sendTimed = (one: ToolCall): Promise<CallOutcome> => {
        const start = performance.now();
        const note = (outcome: CallOutcome): CallOutcome => {
          sent = { durationMs: performance.now() - start, hasFailed: errorCodeOf(outcome) !== undefined };
          return outcome;
        };
        return send(one).then(
          (result) => note(succeeded(result)),
          (error: unknown) => note(failed(error)),
        );
      };
      const passed =
        traceCall === undefined ? passGates(0, call, sendTimed) : traceCall(made, () => passGates(0, call, sendTimed));
      return passed.then((outcome) => {
        const wait = events.callEnded(made, outcome, sent);
        return wait === undefined ? resultOf(outcome) : wait.then(() => resultOf(outcome));
      });
    },
    noteUnmade: (call, error) => void events.emit({ type: 'call_unmade', call, error }),
  };
}

function resultOf(outcome: CallOutcome): unknown {
  if (!outcome.ok) {
    throw outcome.error;
  }
  return outcome.result;
}
