/** Logs why no cell can run, in the words of `doctor`: most clients show the log to their user. */
import { BridgeError, type ErrorCode } from '../../core/base/errors.ts';
import type { Logger } from '../../core/base/log.ts';
import { type Finding, noCellRuns, renderLine } from '../../edges/terminal/finding.ts';
import type { CellObserver } from '../../front/server/run-python.ts';

/** Errors of starting sessions that a user can fix. */
const START_CODES: ReadonlySet<ErrorCode> = new Set([
  'ENGINE_UNAVAILABLE',
  'ENGINE_FAILED',
  'IMAGE_MISSING',
  'IMAGE_UNSUITABLE',
  'SESSION_START_TIMEOUT',
]);

/** Logs each reason once until a cell has run, and reports problems of the state directory. */
export function logStartFailures(stateDir: string, logger: Logger): CellObserver {
  const logged = new Set<string>();
  let hasLooked = false;

  function log(finding: Finding): void {
    const line = renderLine(finding);
    if (!logged.has(line)) {
      logged.add(line);
      logger.error(line);
    }
  }

  return {
    // Not earlier, because the check writes to the directory. Cells run without it, so nothing waits for the check.
    cellBegins() {
      if (!hasLooked) {
        hasLooked = true;
        void problemsOf(stateDir).then((problems) => problems.forEach(log));
      }
    },
    cellEnded: () => logged.clear(),
    cellFailed(error) {
      if (error instanceof BridgeError && START_CODES.has(error.code)) {
        log(noCellRuns(error));
      }
    },
  };
}

/** Loads `doctor` with the first cell: the start does not need it. */
async function problemsOf(stateDir: string): Promise<Finding[]> {
  const { examineStateDirectory } = await import('../doctor/index.ts');
  return (await examineStateDirectory(stateDir, false)).filter(({ level }) => level === 'problem');
}
