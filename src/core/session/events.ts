/** What happens to sessions and cells, for whoever watches; calls are in `calls/events.ts`. */
import type { CellRequest, EngineReport } from '../base/cell.ts';
import type { CellOutcome } from './run-cell.ts';

/** One sandbox of a session. */
export interface SessionRun {
  readonly session: string;
  /** 1 for the first sandbox, one more for each after it. */
  readonly generation: number;
}

/** One cell of a sandbox. */
export interface CellIdentity extends SessionRun {
  /** Counted from 1; 0 stands for what jobs do between cells. */
  readonly cell: number;
}

/** A cell that has begun. All its events have the same object, so a watcher can keep what it knows of the cell in a `WeakMap`. */
export interface BegunCell extends CellIdentity {
  readonly request: CellRequest;
  /** What it may call. */
  readonly servers: readonly string[];
}

export type SessionEvent =
  | { readonly type: 'session_started'; readonly run: SessionRun; readonly engine: EngineReport }
  /** `reason` is one clause that follows "because". */
  | { readonly type: 'session_ended'; readonly run: SessionRun; readonly reason: string }
  /** If a watcher rejects, the cell does not run and the client gets the error. The cell still ends. */
  | { readonly type: 'cell_started'; readonly cell: BegunCell }
  /** A part of what a running cell has written, in order. */
  | {
      readonly type: 'cell_output';
      readonly cell: BegunCell;
      readonly stream: 'stdout' | 'stderr';
      readonly text: string;
    }
  | {
      readonly type: 'cell_ended';
      readonly cell: BegunCell;
      readonly outcome: CellOutcome;
      readonly durationMs: number;
    };

/** What waits for the event, if anything does. */
export type EmitSessionEvent = (event: SessionEvent) => Promise<void> | undefined;

/** What a start of a sandbox gives. */
export interface StartedSandbox {
  readonly engine: EngineReport;
  /** Whether it was started before its session needed it. */
  readonly isAhead?: boolean | undefined;
}

/**
 * Surrounds the start of a sandbox, which `start` does; `run` is undefined for one that is started ahead of any session. Calls it once,
 * and resolves or rejects as it does.
 */
export type TraceStart = <Started extends StartedSandbox>(
  run: SessionRun | undefined,
  start: () => Promise<Started>,
) => Promise<Started>;
