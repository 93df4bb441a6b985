/** Progress of a cell as `notifications/progress` (MCP 2025-11-25 and 2026-07-28, basic/utilities/progress). */
import type { ServerContext } from '@modelcontextprotocol/server';
import type { CellProgress } from '../base/cell.ts';

/** Several clients give up after 60 s without a sign of life, and start anew at every notification. Chosen. */
const SILENCE_MS = 10_000;

export interface ProgressReporter {
  readonly report: (progress: CellProgress) => void;
  /** The request is about to be answered; what is reported later is dropped. */
  stop(): void;
}

/**
 * Passes progress to the client, and says how long the cell has taken when there was no news for 10 s. Undefined when the
 * client did not ask. As the specification demands, `progress` increases with each notification, whatever the cell and its
 * calls report, and nothing is sent once the request was answered or cancelled. It is a percentage where one is known.
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
    // A cell may go on after 100 %: more than all would be wrong.
    const total = percent === undefined || value > 100 ? {} : { total: 100 };
    context.mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken, progress: value, message, ...total } })
      // The connection has ended; its owner knows.
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
