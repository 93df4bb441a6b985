/** Why no cell can run, in the log of the client: the line that `doctor` would show. */
import { BridgeError, type ErrorCode } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Bridge } from '../server/cell-runner.ts';
import { type Finding, noCellRuns, renderLine } from '../terminal/finding.ts';

/** Codes with which a session fails to start and which a user can mend. */
const START_CODES: ReadonlySet<ErrorCode> = new Set([
  'ENGINE_UNAVAILABLE',
  'ENGINE_FAILED',
  'IMAGE_MISSING',
  'IMAGE_UNSUITABLE',
  'SESSION_START_TIMEOUT',
]);

/** `bridge`, which tells `logger` of each reason once, until a cell has run; and of a state directory that cannot be used. */
export function tellStartFailures(bridge: Bridge, stateDir: string, logger: Logger): Bridge {
  const told = new Set<string>();
  let hasLooked = false;

  function tell(finding: Finding): void {
    const line = renderLine(finding);
    if (!told.has(line)) {
      told.add(line);
      logger.error(line);
    }
  }

  function tellWhy(error: unknown): void {
    if (error instanceof BridgeError && START_CODES.has(error.code)) {
      tell(noCellRuns(error));
    }
  }

  /** With the first cell, because it writes. Nothing is kept without the directory, but cells run: so this waits for nobody. */
  function look(): void {
    if (!hasLooked) {
      hasLooked = true;
      void lookAt(stateDir).then((problems) => problems.forEach(tell));
    }
  }

  return {
    ...bridge,
    async runCell(request) {
      look();
      try {
        const answer = await bridge.runCell(request);
        told.clear();
        return answer;
      } catch (error) {
        tellWhy(error);
        throw error;
      }
    },
    async preload() {
      await bridge.preload().catch((error: unknown) => {
        tellWhy(error);
        throw error;
      });
    },
  };
}

/** Loaded with the first cell: nothing of `doctor` is needed to start. */
async function lookAt(stateDir: string): Promise<Finding[]> {
  const { examineStateDirectory } = await import('../doctor/index.ts');
  return (await examineStateDirectory(stateDir, false)).filter(({ level }) => level === 'problem');
}
