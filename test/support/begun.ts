/** A cell that reports when its code runs, so that a test can act in the middle of it. */

const MARK = 'the code runs';

interface ProgressReport {
  readonly message?: string | undefined;
}

export interface BeginningCell {
  /** Resolves when the code runs. */
  readonly begun: Promise<void>;
  /** Pass the progress reports of the cell to it. */
  readonly onProgress: (report: ProgressReport) => void;
}

/** `code` with a first line that reports the start; its own lines are numbered from 2. */
export function reportingStart(code: string): string {
  return `runtime.progress(0, message="${MARK}")\n${code}`;
}

/** Whether a progress report is the one that `reportingStart` sends. */
export function isStart({ message }: ProgressReport): boolean {
  return message?.includes(MARK) === true;
}

/** Waits for the report that `reportingStart` sends. */
export function awaitStart(): BeginningCell {
  let resolveBegun: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    resolveBegun = resolve;
  });
  return {
    begun,
    onProgress(report) {
      if (isStart(report)) {
        resolveBegun();
      }
    },
  };
}
