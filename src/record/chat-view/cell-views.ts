/** Collects what the view of a cell shows and the answer does not have: how long it took, and its calls. Only for clients that want a view. */
import type { CellAnswer, CellRequest } from '../../core/base/cell.ts';
import { type BegunCall, errorCodeOf, type Watcher } from '../../core/calls/events.ts';
import { buildView, MAX_TRACED_CALLS, type TracedCall } from './view-data.ts';

/** What is known so far. */
interface ViewedCell {
  readonly code: string;
  readonly begun: number;
  /** In the order in which they began. */
  readonly calls: Map<BegunCall, TracedCall>;
  moreCalls: number;
  /** Undefined while it runs. */
  durationMs: number | undefined;
}

export class CellViews {
  readonly #mask: (text: string) => string;
  readonly #cells = new WeakMap<CellRequest, ViewedCell>();

  /** @param mask replaces known secrets. */
  constructor(mask: (text: string) => string) {
    this.#mask = mask;
  }

  /** Sees refused calls, and how long a person took to allow one. Calls of jobs have no cell. */
  readonly watch: Watcher = (event) => {
    if (event.type === 'cell_started') {
      const { request } = event.cell;
      if (request.wantsView === true) {
        const begun = performance.now();
        this.#cells.set(request, { code: request.code, begun, calls: new Map(), moreCalls: 0, durationMs: undefined });
      }
    } else if (event.type === 'cell_ended') {
      const cell = this.#cells.get(event.cell.request);
      if (cell !== undefined) {
        cell.durationMs = event.durationMs;
      }
    } else if (event.type === 'call_started') {
      this.#addCall(event.made);
    } else if (event.type === 'call_ended') {
      this.#endCall(event.made, errorCodeOf(event.outcome));
    }
  };

  /** The answer to a request, with its view if the client wants one and the cell has run. */
  withView(request: CellRequest, answer: CellAnswer): CellAnswer {
    const cell = this.#cells.get(request);
    if (cell?.durationMs === undefined) {
      return answer;
    }
    const { calls, code, durationMs, moreCalls } = cell;
    return { ...answer, view: buildView({ calls: [...calls.values()], code, durationMs, moreCalls }, this.#mask) };
  }

  #addCall(made: BegunCall): void {
    const cell = this.#cellOf(made);
    if (cell === undefined) {
      return;
    }
    if (cell.calls.size >= MAX_TRACED_CALLS) {
      cell.moreCalls += 1;
      return;
    }
    const { server, tool } = made.call;
    cell.calls.set(made, {
      server: server.name,
      tool: tool.name,
      startMs: made.begun - cell.begun,
      end: undefined,
    });
  }

  /** A call that outlasts its cell was cancelled with it. */
  #endCall(made: BegunCall, errorCode: string | undefined): void {
    const cell = this.#cellOf(made);
    const call = cell?.calls.get(made);
    if (cell !== undefined && call !== undefined && cell.durationMs === undefined) {
      cell.calls.set(made, { ...call, end: { atMs: performance.now() - cell.begun, errorCode } });
    }
  }

  #cellOf({ cell }: BegunCall): ViewedCell | undefined {
    return cell && this.#cells.get(cell.request);
  }
}
