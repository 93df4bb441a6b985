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

/** What a start of a sandbox gives. */
export interface StartedSandbox {
  readonly engine: EngineReport;
  /** Whether it was started before its session needed it. */
  readonly isAhead?: boolean | undefined;
}

export interface SessionRecorder {
  /**
   * Watches the start of a sandbox, which `start` does; `run` is undefined for one that is started ahead of any session. Calls it
   * once, and resolves or rejects as it does.
   */
  sandboxStarts?<Started extends StartedSandbox>(
    run: SessionRun | undefined,
    start: () => Promise<Started>,
  ): Promise<Started>;
  sessionStarted(run: SessionRun, engine: EngineReport): void;
  /** `reason` is one clause that follows "because". */
  sessionEnded(run: SessionRun, reason: string): void;
  /**
   * A cell is about to run and may call `servers`. It waits for the promise, if there is one. If the promise rejects, the
   * cell does not run and the client gets the error.
   */
  cellStarted(run: RecordedCell, request: CellRequest, servers: readonly string[]): Promise<void> | undefined;
  /** A part of what a running cell has written, in order. */
  cellOutput?(run: RecordedCell, stream: 'stdout' | 'stderr', text: string): void;
  cellEnded(run: RecordedCell, outcome: CellOutcome, durationMs: number): void;
}
