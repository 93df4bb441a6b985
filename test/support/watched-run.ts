/** What sessions and calls tell those who watch a bridge. */
import type { CellRequest } from '../../src/core/base/cell.ts';
import { NO_OUTPUT } from '../../src/core/base/cell.ts';
import { type CallOutcome, failed, type PassOn, succeeded, type ToolCall } from '../../src/core/calls/contract.ts';
import { BridgeEvents, type Watcher } from '../../src/core/calls/events.ts';
import { createCallPipeline } from '../../src/core/calls/pipeline.ts';
import type { BegunCell, CellIdentity } from '../../src/core/session/events.ts';
import type { CellOutcome } from '../../src/core/session/run-cell.ts';

export const SUCCESS: CellOutcome = { status: 'success', stdout: NO_OUTPUT, stderr: NO_OUTPUT, names: undefined };

export function begunCell(run: CellIdentity, given: Partial<CellRequest> = {}, servers: readonly string[] = []) {
  const request = { code: '', servers, timeoutMs: 30_000, session: run.session, ...given };
  return { session: run.session, generation: run.generation, cell: run.cell, request, servers };
}

/** Events of a bridge that only these watch. */
export function watchedRun(...watchers: readonly Watcher[]) {
  const events = new BridgeEvents(watchers);
  return {
    events,
    emit: events.emit,
    /** The same request in the events, if it is whole. */
    begin(run: CellIdentity, request: CellRequest, servers: readonly string[] = []): BegunCell {
      const cell = { ...begunCell(run, {}, servers), request };
      void events.emit({ type: 'cell_started', cell });
      return cell;
    },
    end(cell: BegunCell, outcome: CellOutcome = SUCCESS, durationMs = 1): void {
      void events.emit({ type: 'cell_ended', cell, outcome, durationMs });
    },
    /** Makes a call that `next` answers instead of its server. */
    async call(call: ToolCall, next: PassOn): Promise<CallOutcome> {
      const { make } = createCallPipeline({ events, gates: [next] });
      return make(call, () => Promise.reject(new Error('nothing is sent'))).then(succeeded, failed);
    },
    /** Sends a call to a server that answers with what `send` resolves to. */
    send: (call: ToolCall, send: () => Promise<unknown>) => createCallPipeline({ events }).make(call, send),
  };
}
