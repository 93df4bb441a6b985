/** The contract for keeping a record of sessions and cells. Its methods must return quickly. */
import type { CellRequest, EngineReport } from '../base/cell.ts';
import type { CellOutcome } from './run-cell.ts';

/** One sandbox of a session. */
export interface SessionRun {
  readonly session: string;
  /** 1 for the first sandbox, one more for each after it. */
  readonly generation: number;
}

export interface RecordedCell extends SessionRun {
  readonly cell: number;
}

export interface SessionRecorder {
  sessionStarted(run: SessionRun, engine: EngineReport): void;
  /** `reason` is one clause that follows "because". */
  sessionEnded(run: SessionRun, reason: string): void;
  /**
   * A cell is about to run and may call `servers`. It waits for the promise, if there is one. If the promise rejects, the
   * cell does not run and the client gets the error.
   */
  cellStarted(run: RecordedCell, request: CellRequest, servers: readonly string[]): Promise<void> | undefined;
  cellEnded(run: RecordedCell, outcome: CellOutcome, durationMs: number): void;
}
