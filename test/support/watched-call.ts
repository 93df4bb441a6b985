/** A call that passes no gate, and is watched. */
import type { CallOutcome, PassOn, ToolCall, WatchCall } from '../../src/calls/contract.ts';

/** Makes a call with `next`, as the pipeline does. */
export async function makeWatched(watch: WatchCall, call: ToolCall, next: PassOn): Promise<CallOutcome> {
  const note = watch(call);
  const outcome = await next(call);
  note?.(outcome);
  return outcome;
}
