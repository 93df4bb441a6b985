/** Notes which servers answered a call. */
import { errorCodeOf, type Watcher } from '../../core/calls/events.ts';

/** @param note gets the name of the server; called for each successful call that it really answered. */
export function createUseWatch(note: (server: string) => void): Watcher {
  return (event) => {
    if (event.type === 'call_ended') {
      const { made, outcome } = event;
      if (outcome.isDryRun !== true && outcome.isResumed !== true && errorCodeOf(outcome) === undefined) {
        note(made.call.server.name);
      }
    }
  };
}
