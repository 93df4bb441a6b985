/** Notes which servers answered a call. */
import type { WatchCall } from '../calls/contract.ts';

/** @param note gets the name of the server; called for each successful call that it really answered. */
export function createUseWatch(note: (server: string) => void): WatchCall {
  return ({ server }) =>
    (outcome) => {
      if (outcome.ok && outcome.isDryRun !== true && outcome.isResumed !== true && !isFailure(outcome.result)) {
        note(server.name);
      }
    };
}

/** Whether a `CallToolResult` reports that the tool failed. */
function isFailure(result: unknown): boolean {
  return Object(result).isError === true;
}
