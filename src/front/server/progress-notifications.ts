/** Reports the progress of a cell as `notifications/progress` (MCP 2025-11-25 and 2026-07-28, basic/utilities/progress). */
import type { ServerContext } from '@modelcontextprotocol/server';
import type { CellProgress } from '../../core/base/cell.ts';

/** Several clients give up after 60 s of silence; every notification restarts their timer. Chosen. */
const SILENCE_MS = 10_000;

export interface ProgressReporter {
  readonly report: (progress: CellProgress) => void;
  /** Ends the reports, before the request is answered. Later ones are dropped. */
  stop(): void;
}

/**
 * Sends progress to the client, and after 10 s of silence the time that the cell has taken. Undefined if the client did not
 * ask for progress. As the specification requires, `progress` increases with each notification, whatever the cell and its
 * calls report, and nothing is sent after the request was answered or cancelled. `progress` is a percentage if one is known.
 */
export function createProgressReporter(context: ServerContext): ProgressReporter | undefined {
  const { _meta, signal } = context.mcpReq;
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) {
    return undefined;
  }
  const begun = performance.now();
  let last: CellProgress = { message: 'working' };
  let value = 0;
  let isStopped = false;

  function send({ message, percent }: CellProgress): void {
    if (isStopped || signal.aborted) {
      return;
    }
    const isKnown = percent !== undefined && percent > value;
    value = isKnown ? percent : value + 0.001;
    // A cell may continue after 100 %; a value above the total would be invalid.
    const total = percent === undefined || value > 100 ? {} : { total: 100 };
    context.mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken, progress: value, message, ...total } })
      // The connection has ended, and its owner handles that.
      .catch(() => undefined);
    silence.refresh();
  }

  const silence = setInterval(() => {
    const seconds = Math.round((performance.now() - begun) / 1000);
    send({ ...last, message: `${last.message} (${seconds} s)` });
  }, SILENCE_MS);
  silence.unref();

  return {
    report(progress) {
      last = progress;
      send(progress);
    },
    stop() {
      isStopped = true;
      clearInterval(silence);
    },
  };
}
