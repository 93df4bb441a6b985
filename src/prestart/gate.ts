/** Notes which servers answered a call. */
import type { CallGate } from '../calls/contract.ts';

/** @param note gets the name of the server; called for each successful call that it really answered. */
export function createUseGate(note: (server: string) => void): CallGate {
  return async (call, next) => {
    const outcome = await next(call);
    if (outcome.ok && outcome.isDryRun !== true && outcome.isResumed !== true && !isFailure(outcome.result)) {
      note(call.server.name);
    }
    return outcome;
  };
}

/** Whether a `CallToolResult` reports that the tool failed. */
function isFailure(result: unknown): boolean {
  return Object(result).isError === true;
}
