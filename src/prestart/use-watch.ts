/** Notes which servers answered a call. */
import type { WatchCall } from '../calls/contract.ts';
import { isFailure } from '../protocol/result-bytes.ts';

/** @param note gets the name of the server; called for each successful call that it really answered. */
export function createUseWatch(note: (server: string) => void): WatchCall {
  return ({ server }) =>
    (outcome) => {
      if (outcome.ok && outcome.isDryRun !== true && outcome.isResumed !== true && !isFailure(outcome.result)) {
        note(server.name);
      }
    };
}
