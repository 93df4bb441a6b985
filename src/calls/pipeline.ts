/** Takes a call through the gates to its server. The one way for calls of cells and for calls from the command line. */
import {
  type CallGate,
  failed,
  type NoteUnmade,
  type PassOn,
  type SendCall,
  succeeded,
  type ToolCall,
} from './contract.ts';

export interface CallPipelineOptions {
  /** The first is asked first and sees the outcome last. None if left out. */
  readonly gates?: readonly CallGate[];
  /** Called for each call that reaches no gate. */
  readonly noteUnmade?: NoteUnmade | undefined;
}

export interface CallPipeline {
  /** The server's answer. Rejects with the reason of the gate that refused the call, or of the server. */
  make(call: ToolCall, send: SendCall): Promise<unknown>;
  readonly noteUnmade: NoteUnmade;
}

export function createCallPipeline({ gates = [], noteUnmade }: CallPipelineOptions = {}): CallPipeline {
  return {
    async make(call, send) {
      const last: PassOn = (one) => send(one).then(succeeded, failed);
      const outcome = await gates.reduceRight<PassOn>(
        (next, gate) => (one) => gate(one, next).catch(failed),
        last,
      )(call);
      if (!outcome.ok) {
        throw outcome.error;
      }
      return outcome.result;
    },
    noteUnmade: noteUnmade ?? (() => undefined),
  };
}
