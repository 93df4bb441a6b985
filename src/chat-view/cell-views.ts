/**
 * Collects what the view of a cell shows and the answer does not have: how long it took, and its calls. It learns that from a watch and
 * from the recorder of sessions, and only for cells whose client wants a view.
 */
import type { CellAnswer, CellRequest } from '../base/cell.ts';
import { toBridgeError } from '../base/errors.ts';
import type { CallOutcome, ToolCall, WatchCall } from '../calls/contract.ts';
import { isFailure } from '../protocol/result-bytes.ts';
import type { RecordedCell, SessionRecorder } from '../session/recorder.ts';
import { buildView, MAX_TRACED_CALLS, type TracedCall } from './view-data.ts';

/** What is known so far. */
interface RunningCell {
  readonly run: RecordedCell;
  readonly code: string;
  readonly begunAt: number;
  readonly calls: TracedCall[];
  moreCalls: number;
  /** Undefined while it runs. */
  durationMs: number | undefined;
}

export class CellViews {
  readonly #mask: (text: string) => string;
  /** By session, which runs one cell at a time. */
  readonly #running = new Map<string, RunningCell>();
  readonly #byRequest = new WeakMap<CellRequest, RunningCell>();

  /** @param mask replaces known secrets. */
  constructor(mask: (text: string) => string) {
    this.#mask = mask;
  }

  readonly recorder: SessionRecorder = {
    sessionStarted: () => undefined,
    sessionEnded: () => undefined,
    cellStarted: (run, request) => {
      // A cell that another recorder has refused did not end.
      this.#running.delete(run.session);
      if (request.wantsView === true) {
        const { code } = request;
        const begunAt = performance.now();
        const running: RunningCell = { run, code, begunAt, calls: [], moreCalls: 0, durationMs: undefined };
        this.#running.set(run.session, running);
        this.#byRequest.set(request, running);
      }
      return undefined;
    },
    cellEnded: ({ session }, _outcome, durationMs) => {
      const running = this.#running.get(session);
      this.#running.delete(session);
      if (running !== undefined) {
        running.durationMs = durationMs;
      }
    },
  };

  /** Sees refused calls, and how long a person took to allow one. */
  readonly callWatch: WatchCall = (call) => {
    const running = this.#find(call);
    if (running === undefined) {
      return undefined;
    }
    if (running.calls.length >= MAX_TRACED_CALLS) {
      running.moreCalls += 1;
      return undefined;
    }
    const { begunAt, calls } = running;
    const startMs = performance.now() - begunAt;
    const begun = { server: call.server.name, tool: call.tool.name, startMs };
    const index = calls.push({ ...begun, end: undefined }) - 1;
    return (outcome) => {
      // One that outlasts its cell was cancelled with it.
      if (running.durationMs === undefined) {
        calls[index] = { ...begun, end: { atMs: performance.now() - begunAt, ...failureIn(outcome) } };
      }
    };
  };

  /** The answer to a request, with its view if the client wants one and the cell has run. */
  withView(request: CellRequest, answer: CellAnswer): CellAnswer {
    const running = this.#byRequest.get(request);
    if (running?.durationMs === undefined) {
      return answer;
    }
    const { calls, code, durationMs, moreCalls } = running;
    return { ...answer, view: buildView({ calls, code, durationMs, moreCalls }, this.#mask) };
  }

  /** Calls of jobs have no cell. */
  #find({ context: { cell, generation, session } }: ToolCall): RunningCell | undefined {
    const running = this.#running.get(session);
    return running?.run.cell === cell && running.run.generation === generation ? running : undefined;
  }
}

function failureIn(outcome: CallOutcome): { readonly hasFailed: boolean; readonly errorCode: string | undefined } {
  if (!outcome.ok) {
    return { hasFailed: true, errorCode: toBridgeError(outcome.error).code };
  }
  const { result } = outcome;
  const hasFailed = isFailure(result);
  return { hasFailed, errorCode: hasFailed ? 'TOOL_FAILED' : undefined };
}
